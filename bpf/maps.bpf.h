/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Every map. Sizes marked "set at load" follow the number of CPUs and the memlock limit.
 *
 * The sample path inserts into no shared hash map: it looks up, writes array values in place and
 * reserves ring space. Only user space and the process-context hooks insert.
 */
#ifndef PANOPY_MAPS_BPF_H
#define PANOPY_MAPS_BPF_H

#include <bpf/bpf_helpers.h>

#include "bpf_stats.h"
#include "process_config.h"
#include "sample_time.h"
#include "thread_slot.h"

/* tgid -> how to read it. Written by user space and process_watch, read by the sampler. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384); /* set at load */
	__type(key, u32);
	__type(value, struct process_config);
} processes SEC(".maps");

/* thread_slot_idx() -> where the thread's state is. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, THREAD_SLOT_CNT);
	__type(key, u32);
	__type(value, struct thread_slot);
} thread_slots SEC(".maps");

/* Counters of enum bpf_stat, and behind them those of the times of samples; user space sums the CPUs. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, BPF_STAT_COUNT + SAMPLE_TIME_BUCKETS);
	__type(key, u32);
	__type(value, u64);
} stats SEC(".maps");

static __always_inline void stat_add(u32 stat, u64 n)
{
	u64 *value = bpf_map_lookup_elem(&stats, &stat);

	if (!value)
		return;
		/* Where the sampler also runs outside of interrupts (resume.bpf.h), one may come in between. */
#if LOOPS == LOOPS_MAY_GOTO
	__sync_fetch_and_add(value, n);
#else
	*value += n;
#endif
}

#endif
