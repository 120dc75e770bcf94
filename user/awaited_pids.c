/* SPDX-License-Identifier: Apache-2.0 */
#include "awaited_pids.h"

#include <errno.h>

#include "base/clock.h"

/* An exec takes milliseconds, unless its files hang; what has no arguments after 1.3 seconds is taken to have none.
 * Should they come after all, the end of the exec voids what was decided, or a mapping makes it be looked at. */
enum {
	FIRST_WAIT_NS = 5 * CLOCK_NS_PER_MS,
	LAST_WAIT_NS = 500 * CLOCK_NS_PER_MS,
};

static struct awaited_pid *find(struct awaited_pids *awaited, pid_t pid)
{
	for (size_t i = 0; i < awaited->cnt; i++) {
		if (awaited->pids[i].pid == pid)
			return &awaited->pids[i];
	}
	return NULL;
}

int awaited_pids_add(struct awaited_pids *awaited, pid_t pid, u64 now_ns)
{
	if (find(awaited, pid))
		return 0;
	if (awaited->cnt == AWAITED_PIDS_MAX)
		return -ENOSPC;
	awaited->pids[awaited->cnt++] = (struct awaited_pid){
		.pid = pid,
		.next_ns = now_ns + FIRST_WAIT_NS,
		.wait_ns = FIRST_WAIT_NS,
	};
	return 0;
}

size_t awaited_pids_take_due(struct awaited_pids *awaited, u64 now_ns,
			     struct awaited_pid ret_due[AWAITED_PIDS_MAX])
{
	size_t due_cnt = 0, kept = 0;

	for (size_t i = 0; i < awaited->cnt; i++) {
		if (awaited->pids[i].next_ns <= now_ns)
			ret_due[due_cnt++] = awaited->pids[i];
		else
			awaited->pids[kept++] = awaited->pids[i];
	}
	awaited->cnt = kept;
	return due_cnt;
}

bool awaited_pid_is_last(const struct awaited_pid *due)
{
	return due->wait_ns > LAST_WAIT_NS;
}

void awaited_pids_prolong(struct awaited_pids *awaited, const struct awaited_pid *due, u64 now_ns)
{
	struct awaited_pid *again = find(awaited, due->pid);

	if (!again)
		return;
	again->wait_ns = 2 * due->wait_ns;
	again->next_ns = now_ns + again->wait_ns;
	if (awaited_pid_is_last(due))
		*again = awaited->pids[--awaited->cnt];
}
