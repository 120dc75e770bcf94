/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/bpf_counters.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

int bpf_counters_read(int stats_fd, u64 ret_counters[BPF_STAT_COUNT])
{
	int cpu_cnt = libbpf_num_possible_cpus();
	u64 *values;
	int err = 0;

	if (cpu_cnt < 0)
		return cpu_cnt;
	values = calloc(cpu_cnt, sizeof(*values));
	if (!values)
		return -ENOMEM;
	for (u32 stat = 0; stat < BPF_STAT_COUNT && !err; stat++) {
		u64 sum = 0;

		err = bpf_map_lookup_elem(stats_fd, &stat, values) ? -errno : 0;
		for (int cpu = 0; cpu < cpu_cnt; cpu++)
			sum += values[cpu];
		if (!err)
			ret_counters[stat] = sum;
	}
	free(values);
	return err;
}
