/* SPDX-License-Identifier: Apache-2.0 */
/* What each CPU remembers of its last tick: values of the `last_ticks` array, by CPU. */
#ifndef PANOPY_CPU_TICK_H
#define PANOPY_CPU_TICK_H

#include "shared_types.h"

struct cpu_tick {
	u64 time_ns;	/* CLOCK_MONOTONIC; 0 before the first. User space clears it when the CPU leaves */
	u32 tid;	/* the thread that ran, 0: idle */
	u32 switch_cnt; /* how often it had left a CPU by then, modulo 2^32 */
	u32 move_cnt;	/* likewise, from one CPU to another */
	u32 reserved;
	u64 cpu_time_ns; /* its CPU time by then, as of the scheduler's last look (at most a jiffy ago) */
	u64 stolen_ns;	 /* what the host had taken from the CPU by then */
	u64 stolen_addr; /* kernel address of that counter, 0: not looked for yet, or not there */
	u64 due_ns;	 /* when the tick was due: tick_grid.h */
	u64 carry_ns;	 /* what was stolen and that no tick was told of yet */
};

SHARED_ASSERT_SIZE(struct cpu_tick, 64);

#endif
