/* SPDX-License-Identifier: Apache-2.0 */
/* Process life-cycle records on the control ring, from bpf/process_watch. */
#ifndef PANOPY_PROCESS_EVENT_H
#define PANOPY_PROCESS_EVENT_H

#include "shared_limits.h"
#include "shared_types.h"

enum process_event_kind {
	PROCESS_EVENT_FORK = 1, /* a new process, not a thread */
	PROCESS_EVENT_EXEC = 2,
	PROCESS_EVENT_EXIT = 3, /* its last thread ended */
};

struct process_event {
	u64 time_ns; /* CLOCK_MONOTONIC */
	u64 epoch;   /* the new epoch (fork, exec) or the one that ends (exit); 0 when not followed */
	u64 start_boottime_ns;
	u64 cpu_ns;	   /* exit: CPU time of the whole process; else 0 */
	u64 outside_ticks; /* exec, exit: as in the process_config of the image that ends; else 0 */
	u32 kind;	   /* enum process_event_kind */
	u32 tgid;
	u32 parent_tgid;
	u32 followed; /* 1 when the `processes` map holds an entry for it after the event */
	char comm[LIMIT_COMM_SZ];
};

SHARED_ASSERT_SIZE(struct process_event, 72);

#endif
