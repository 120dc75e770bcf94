/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Counts the ticks that never came. The kernel skips a program while another one runs on the CPU, and
 * a busy host delivers timers late, both without a word; so each CPU remembers its last tick, and a gap
 * of n periods counts n-1 as not delivered. A gap with the same thread on both sides was that thread's,
 * and weighs in its sample. One with an idle CPU on either side is told apart: a host takes its time to
 * wake those, and no thread waited for it.
 */
#ifndef PANOPY_TICK_BPF_H
#define PANOPY_TICK_BPF_H

#include <bpf/bpf_helpers.h>

#include "config.bpf.h"
#include "cpu_tick.h"
#include "maps.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set at load: possible CPUs */
	__type(key, u32);
	__type(value, struct cpu_tick);
} last_ticks SEC(".maps");

/* Notes a tick of the CPU; returns how many that were due before it belong to the thread's sample. */
static __always_inline u16 tick_account(u64 now, u32 tid)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct cpu_tick *last = bpf_map_lookup_elem(&last_ticks, &cpu);
	u64 periods = 0;
	u32 before;

	stat_add(BPF_STAT_TICKS, 1);
	if (!last)
		return 0;
	if (last->time_ns && now > last->time_ns)
		periods = (now - last->time_ns + cfg_period_ns / 2) / cfg_period_ns;
	before = last->tid;
	last->time_ns = now;
	last->tid = tid;
	if (periods < 2)
		return 0;
	if (!tid || !before) {
		stat_add(BPF_STAT_TICKS_NOT_DELIVERED_IDLE, periods - 1);
		return 0;
	}
	stat_add(BPF_STAT_TICKS_NOT_DELIVERED, periods - 1);
	if (tid != before)
		return 0;
	return periods > 0xffff ? 0xffff : periods - 1;
}

#endif
