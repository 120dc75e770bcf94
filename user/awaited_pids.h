/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that could not be decided on, as they are in the middle of an exec, and when each is looked at again. */
#ifndef PANOPY_AWAITED_PIDS_H
#define PANOPY_AWAITED_PIDS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "shared_types.h"

enum { AWAITED_PIDS_MAX = 1024 };

struct awaited_pid {
	pid_t pid;
	u64 next_ns;
	u64 wait_ns; /* twice as long each time */
};

/* All zero: none. */
struct awaited_pids {
	struct awaited_pid pids[AWAITED_PIDS_MAX];
	size_t cnt;
};

/* One that is awaited already stays as it is. -ENOSPC. */
int awaited_pids_add(struct awaited_pids *awaited, pid_t pid, u64 now_ns);

/* Takes out those that are due; returns how many. */
size_t awaited_pids_take_due(struct awaited_pids *awaited, u64 now_ns,
			     struct awaited_pid ret_due[AWAITED_PIDS_MAX]);

/* It will not be looked at again. */
bool awaited_pid_is_last(const struct awaited_pid *due);

/* `due` was looked at: if that added it again, it waits for longer than before, or not at all any more. */
void awaited_pids_prolong(struct awaited_pids *awaited, const struct awaited_pid *due, u64 now_ns);

#endif
