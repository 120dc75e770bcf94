/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel knows of one process: the value of the `processes` map, keyed by tgid.
 *
 * Written by user space (publish, forget) and by the process-context hooks (fork copies the parent's
 * entry for the child, exec voids it, exit removes it). The sampler only looks it up; what it
 * writes, in place, is `mm` and `outside_ticks`.
 */
#ifndef PANOPY_PROCESS_CONFIG_H
#define PANOPY_PROCESS_CONFIG_H

#include "py_layout.h"

enum process_config_state {
	/* Followed (selected by pid tree), but no interpreter is known yet. */
	PROCESS_CONFIG_UNDECIDED = 0,
	/* layout and runtime_addr are valid: sample it. */
	PROCESS_CONFIG_READY = 1,
};

enum process_config_flag {
	/* Selected by pid; the kernel hands the mark on to children and across exec. */
	PROCESS_CONFIG_FOLLOW_CHILDREN = 1u << 0,
};

struct process_config {
	/* Names this incarnation of the process: CLOCK_MONOTONIC nanoseconds of the fork, exec or
	 * publish that began it. Part of every key. */
	u64 epoch;
	/* group_leader->start_boottime, nanoseconds; 0 when user space published it from /proc, until
	 * the sampler has seen the process. */
	u64 start_boottime_ns;
	/* mm_struct address of the image that this entry describes; 0 until the first sample. */
	u64 mm;
	/* Address of _PyRuntime in the target; 3.6: of the first of the variables that stand for it. */
	u64 runtime_addr;
	u32 state; /* enum process_config_state */
	u32 flags; /* enum process_config_flag */
	struct py_layout layout;
	/* Ticks of its threads while the selection by cgroup and user did not hold them. */
	u64 outside_ticks;
};

SHARED_ASSERT_SIZE(struct process_config, 160);

#endif
