/* SPDX-License-Identifier: Apache-2.0 */
/* One simulated recording: the real walker over a simulated interpreter, rings that lose and reorder
 * records, and user space's caches as the session uses them. Every stack is held against the truth.
 */
#ifndef PANOPY_SIM_SESSION_H
#define PANOPY_SIM_SESSION_H

#include "py_layout.h"
#include "stack/stack_stats.h"

struct sim_totals {
	u64 steps;
	u64 walks;
	u64 exact;
	u64 repeats;
	u64 repeats_unknown;
	u64 truncated;
	u64 late;
	u64 late_torn; /* memory changed while they were read */
	u64 frames;
	u64 unnamed;
	u64 epochs;
	struct stack_stats stacks;
};

/* Runs `steps` steps and adds to the totals. NULL, or what went wrong first (static text, valid until the
 * next run). */
const char *sim_session_run(const struct py_layout *layout, u64 seed, u64 steps, struct sim_totals *totals);

#endif
