/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Counts the ticks that never came. The kernel skips a program while another one runs on the CPU, and
 * a busy host delivers timers late, both without a word; so each CPU remembers its last tick, and a gap
 * of n periods counts n-1 as not delivered.
 *
 * Whose they were: all the thread's, if it was there before and after and its switch counts say that it
 * never left the CPU in between; else as many as its CPU time grew by, for it may have slept through the
 * rest (the timers of an idle CPU of a virtual machine come when its host likes). What the thread ran
 * weighs in its sample. A gap with an idle CPU on either side is told apart: no thread waited for it. So
 * is what the host of a virtual machine took from the CPU: no thread ran then. Whole periods of it: a tick that fell
 * due meanwhile and comes late still counts.
 */
#ifndef PANOPY_TICK_BPF_H
#define PANOPY_TICK_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "config.bpf.h"
#include "cpu_tick.h"
#include "kernel_compat.bpf.h"
#include "maps.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set at load: possible CPUs */
	__type(key, u32);
	__type(value, struct cpu_tick);
} last_ticks SEC(".maps");

static __always_inline void tick_of(struct cpu_tick *tick, const struct cpu_tick *last, u64 now, u32 tid)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	tick->time_ns = now;
	tick->tid = tid;
	tick->stolen_addr = last->stolen_addr;
	if (!tick->stolen_addr && cfg.stolen_time_off)
		tick->stolen_addr = task_stolen_time_addr(task, cfg.stolen_time_off);
	tick->stolen_ns = stolen_time_read(tick->stolen_addr);
	if (!tid)
		return;
	tick->switch_cnt = BPF_CORE_READ(task, nvcsw) + BPF_CORE_READ(task, nivcsw);
	tick->move_cnt = BPF_CORE_READ(task, se.nr_migrations);
	tick->cpu_time_ns = BPF_CORE_READ(task, se.sum_exec_runtime);
}

/* How many of the ticks that were missed since `last` the thread of `tick` ran through. */
static __always_inline u64 tick_own(const struct cpu_tick *last, const struct cpu_tick *tick, u64 missed)
{
	u64 ran;

	/* What it ran elsewhere had ticks there. */
	if (tick->tid != last->tid || tick->move_cnt != last->move_cnt)
		return 0;
	if (tick->switch_cnt == last->switch_cnt)
		return missed;
	ran = (tick->cpu_time_ns - last->cpu_time_ns) / cfg.period_ns;
	return ran < missed ? ran : missed;
}

/* Nanoseconds of the gap in which the host ran something else on the CPU. */
static __always_inline u64 tick_stolen(const struct cpu_tick *last, const struct cpu_tick *tick)
{
	u64 gap = tick->time_ns - last->time_ns, stolen = tick->stolen_ns - last->stolen_ns;

	if (!last->stolen_addr || tick->stolen_ns < last->stolen_ns)
		return 0;
	return stolen < gap ? stolen : gap;
}

static __always_inline u64 whole_periods(u64 ns)
{
	return (ns + cfg.period_ns / 2) / cfg.period_ns;
}

/* Notes a tick of the CPU; returns how many that were due before it belong to the thread's sample. */
static __always_inline u16 tick_account(u64 now, u32 tid)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct cpu_tick *last = bpf_map_lookup_elem(&last_ticks, &cpu);
	struct cpu_tick tick = {};
	u64 due, periods = 0, own = 0, idle = 0;

	stat_add(BPF_STAT_TICKS, 1);
	if (!last)
		return 0;
	tick_of(&tick, last, now, tid);
	if (last->time_ns && now > last->time_ns) {
		due = whole_periods(now - last->time_ns);
		periods = whole_periods(now - last->time_ns - tick_stolen(last, &tick));
		/* The tick that ends the gap came. */
		if (due > 1 && tid && last->tid)
			stat_add(BPF_STAT_TICKS_STOLEN, due - (periods ? periods : 1));
	}
	if (periods > 1) {
		own = tick_own(last, &tick, periods - 1);
		if (tid == last->tid || !tid || !last->tid)
			idle = periods - 1 - own;
		stat_add(BPF_STAT_TICKS_NOT_DELIVERED_IDLE, idle);
		stat_add(BPF_STAT_TICKS_NOT_DELIVERED, periods - 1 - idle);
	}
	*last = tick;
	return own > 0xffff ? 0xffff : own;
}

#endif
