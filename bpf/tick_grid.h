/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* A CPU's timer is due every period from when it was started on, however late each tick comes
 * (Linux 5.10 to 6.18, kernel/events/core.c, perf_swevent_hrtimer forwards it by whole periods). So how many ticks were
 * due between two that came is exact, once one came in time.
 */
#ifndef PANOPY_TICK_GRID_H
#define PANOPY_TICK_GRID_H

#include "shared_types.h"

/* How many ticks were due since the one before, that of `now` included; at least 1. `*due_ns`: when the one before
 * was, and then this one; too late by what the most punctual tick so far was late. */
static inline u64 tick_grid_step(u64 *due_ns, u64 now, u64 period_ns)
{
	u64 cnt = (now - *due_ns) / period_ns;

	/* More punctual than any before. */
	if (!cnt)
		cnt = 1;
	*due_ns += cnt * period_ns;
	if (*due_ns > now)
		*due_ns = now;
	return cnt;
}

/* How many of `periods` the host of this machine took: whole ones, the rest waits in `*carry_ns`. */
static inline u64 tick_grid_steal(u64 *carry_ns, u64 stolen_ns, u64 periods, u64 period_ns)
{
	u64 cnt;

	*carry_ns += stolen_ns;
	cnt = *carry_ns / period_ns;
	if (cnt > periods)
		cnt = periods;
	*carry_ns -= cnt * period_ns;
	return cnt;
}

#endif
