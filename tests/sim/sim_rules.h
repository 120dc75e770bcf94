/* SPDX-License-Identifier: Apache-2.0 */
/* Where the frames of a thread may lie and how they are linked: what bpf/frame_walk.bpf.h rests on. The
 * simulated interpreter must keep to it, and so must every captured image.
 */
#ifndef PANOPY_SIM_RULES_H
#define PANOPY_SIM_RULES_H

#include "py_layout.h"
#include "walker.h"

/* The rule that the thread's current stack breaks, in words; NULL: none. */
const char *sim_rules_broken(const struct py_layout *layout, u64 tstate, u64 user_sp, walker_read_fn read,
			     void *ctx);

#endif
