/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/bpf_counters.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

static int read_sums(int stats_fd, u32 first, u32 cnt, u64 *ret_sums)
{
	int cpu_cnt = libbpf_num_possible_cpus();
	u64 *values;
	int err = 0;

	if (cpu_cnt < 0)
		return cpu_cnt;
	values = calloc(cpu_cnt, sizeof(*values));
	if (!values)
		return -ENOMEM;
	for (u32 i = 0; i < cnt && !err; i++) {
		u32 stat = first + i;
		u64 sum = 0;

		err = bpf_map_lookup_elem(stats_fd, &stat, values) ? -errno : 0;
		for (int cpu = 0; cpu < cpu_cnt; cpu++)
			sum += values[cpu];
		if (!err)
			ret_sums[i] = sum;
	}
	free(values);
	return err;
}

int bpf_counters_read(int stats_fd, u64 ret_counters[BPF_STAT_COUNT])
{
	return read_sums(stats_fd, 0, BPF_STAT_COUNT, ret_counters);
}

int bpf_counters_read_one(int stats_fd, enum bpf_stat stat, u64 *ret_counter)
{
	return read_sums(stats_fd, stat, 1, ret_counter);
}

int bpf_counters_read_times(int stats_fd, u64 ret_buckets[SAMPLE_TIME_BUCKETS])
{
	return read_sums(stats_fd, BPF_STAT_COUNT, SAMPLE_TIME_BUCKETS, ret_buckets);
}
