/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Tells time that passed between two ticks of a CPU in whole periods. What is left over is carried to the next
 * tick, so that their sum is the time; a tick that comes somewhat late, and the next one in time, still stand for
 * one period each.
 */
#ifndef PANOPY_TICK_PERIODS_H
#define PANOPY_TICK_PERIODS_H

#include "shared_types.h"

/* `*carry_ns` is within three quarters of a period of 0, before and after. */
static inline u64 tick_periods(s64 *carry_ns, u64 passed_ns, u64 period_ns)
{
	s64 ns = (s64)passed_ns + *carry_ns;
	u64 periods = 1;

	/* One tick a period is the rule. Plain rounding would tell of 0 and 2 in turn once the carry is near a half. */
	if (ns < (s64)(period_ns / 4))
		periods = 0;
	else if ((u64)ns >= period_ns + period_ns / 4 * 3)
		periods = ((u64)ns + period_ns / 2) / period_ns;
	*carry_ns = ns - (s64)(periods * period_ns);
	return periods;
}

#endif
