/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* What a tick stands for: the periods since the CPU's last one. The kernel skips a program while another one runs on
 * the CPU, and a busy host delivers timers late, both without a word; so each CPU remembers its last tick, and
 * those that were due in between count as not delivered.
 *
 * Whose they were: all the thread's, if it was there before and after and its switch counts say that it
 * never left the CPU in between; else as many as its CPU time grew by, for it may have slept through the
 * rest (the timers of an idle CPU of a virtual machine come when its host likes). What the thread ran
 * weighs in its sample. A gap with an idle CPU on either side is told apart: no thread waited for it.
 *
 * What the host of a virtual machine took from the CPU did not pass for any thread. It takes slices shorter than a
 * period as well, and the timer goes on meanwhile: a tick of which nothing is left weighs nothing.
 */
#ifndef PANOPY_TICK_BPF_H
#define PANOPY_TICK_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "config.bpf.h"
#include "cpu_tick.h"
#include "kernel_compat.bpf.h"
#include "maps.bpf.h"
#include "tick_grid.h"

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
	tick->due_ns = last->due_ns;
	tick->carry_ns = last->carry_ns;
	if (!tid)
		return;
	tick->switch_cnt = BPF_CORE_READ(task, nvcsw) + BPF_CORE_READ(task, nivcsw);
	tick->move_cnt = BPF_CORE_READ(task, se.nr_migrations);
	tick->cpu_time_ns = BPF_CORE_READ(task, se.sum_exec_runtime);
}

/* Of the ticks that were missed since `last`, those that the thread of `tick` ran through. */
static __always_inline u64 tick_own(const struct cpu_tick *last, const struct cpu_tick *tick, u64 missed)
{
	u64 ran;

	/* What it ran elsewhere had ticks there. */
	if (!tick->tid || tick->tid != last->tid || tick->move_cnt != last->move_cnt)
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

/* Counts the ticks that never came before this one; returns how many of them its sample stands for. */
static __always_inline u64 tick_missed(const struct cpu_tick *last, const struct cpu_tick *tick, u64 periods)
{
	u64 own, idle = 0;

	if (periods < 2)
		return 0;
	own = tick_own(last, tick, periods - 1);
	if (tick->tid == last->tid || !tick->tid || !last->tid)
		idle = periods - 1 - own;
	stat_add(BPF_STAT_TICKS_NOT_DELIVERED_IDLE, idle);
	stat_add(BPF_STAT_TICKS_NOT_DELIVERED, periods - 1 - idle);
	return own;
}

/* Notes a tick of the CPU; returns how many periods a sample of it weighs, at most 65535. Not inlined, for the walk
 * needs the stack. */
static __noinline u64 tick_account(u64 now, u32 tid)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct cpu_tick *last = bpf_map_lookup_elem(&last_ticks, &cpu);
	struct cpu_tick tick = {};
	u64 periods = 1, stolen = 0, weight;

	stat_add(BPF_STAT_TICKS, 1);
	if (!last)
		return 1;
	tick_of(&tick, last, now, tid);
	if (last->time_ns && now > last->time_ns) {
		periods = tick_grid_step(&tick.due_ns, now, cfg.period_ns);
		stolen = tick_grid_steal(&tick.carry_ns, tick_stolen(last, &tick), periods, cfg.period_ns);
		periods -= stolen;
	} else {
		tick.due_ns = now;
	}
	weight = periods ? 1 + tick_missed(last, &tick, periods) : 0;
	if (tid && !periods)
		stat_add(BPF_STAT_TICKS_WEIGHTLESS, 1);
	/* This one came. */
	if (tid && stolen)
		stat_add(BPF_STAT_TICKS_STOLEN, periods ? stolen : stolen - 1);
	*last = tick;
	return weight > 0xffff ? 0xffff : weight;
}

#endif
