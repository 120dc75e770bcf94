/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel side's counters, summed over the CPUs. */
#ifndef PANOPY_KERNEL_BPF_COUNTERS_H
#define PANOPY_KERNEL_BPF_COUNTERS_H

#include "bpf_stats.h"
#include "sample_time.h"

int bpf_counters_read(int stats_fd, u64 ret_counters[BPF_STAT_COUNT]);
int bpf_counters_read_one(int stats_fd, enum bpf_stat stat, u64 *ret_counter);
int bpf_counters_read_times(int stats_fd, u64 ret_buckets[SAMPLE_TIME_BUCKETS]);

#endif
