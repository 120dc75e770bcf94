/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that another process may hold up for good: reads of a target's memory (userfaultfd, a page of a
 * FUSE file), every operation on a file whose file system a target serves, /proc texts that need a
 * target's memory. Such a call runs on a worker, and the caller gives up after a deadline.
 *
 * Workers are shared by the whole program, and one call runs at a time. A worker that is left behind ends
 * when its call returns, if ever. At most DEADLINE_CALL_MAX_STUCK are left behind at one time: where more
 * hang the host is under attack, and calls fail at once until one of those returns.
 *
 * A worker is a process of its own that shares memory and file descriptors with this one, not a thread: a
 * thread that waits for a FUSE server cannot be killed (fs/fuse/dev.c request_wait_answer, Linux 6.1), and
 * a program with such a thread never ends. After a give-up exit() closes every descriptor, as the worker
 * would keep them open.
 */
#ifndef PANOPY_BASE_DEADLINE_CALL_H
#define PANOPY_BASE_DEADLINE_CALL_H

#include <stdbool.h>
#include <sys/types.h>

#include "shared_types.h"

enum {
	DEADLINE_CALL_MAX_STUCK = 8,
	/* run() must do with this; the buffers that it fills belong into its block. */
	DEADLINE_CALL_STACK_SZ = 256 * 1024,
	/* What hung is not asked again for this long. */
	DEADLINE_CALL_SHUN_S = 10,
};

/* Runs run(block) on a worker. `block` lies on the heap and holds all that run() reads and writes: it may
 * touch nothing else of the caller's, and must not log. For threads of this process, any of them.
 *
 * 0: it ran, its results are in the block, which is the caller's again.
 * -ETIMEDOUT: it did not return within timeout_ns. The block belongs to the worker now, which calls
 *   release(block) when run() returns; the caller must not touch it any more.
 * -EBUSY: a call with the same subject hung lately. -EIO: too many workers are stuck. -ENOMEM, -EAGAIN: no
 *   worker to be had. The call did not happen, the block is the caller's.
 *
 * The deadline counts from the moment the worker begins; one that does not get a CPU to begin has 2 s. */
int deadline_call(u64 subject, void (*run)(void *block), void (*release)(void *block), void *block,
		  u64 timeout_ns);

/* Subjects: whom to blame for a call that hangs. 0: nobody in particular. */
static inline u64 deadline_subject_pid(pid_t pid)
{
	return 1ULL << 62 | (u64)(unsigned int)pid;
}

static inline u64 deadline_subject_device(u64 device)
{
	return 1ULL << 63 | device;
}

static inline u64 deadline_subject_user(uid_t uid)
{
	return 1ULL << 61 | (u64)uid;
}

/* 60 bits of a hash of what identifies it. */
static inline u64 deadline_subject_file(u64 hash)
{
	return 1ULL << 60 | (hash & ((1ULL << 60) - 1));
}

/* The few subjects that hung last, or answered so slowly that the caller had enough. */
void deadline_shun(u64 subject);
bool deadline_is_shunned(u64 subject);

/* CPU time of the workers that serve calls now; it is not in this process's own. */
u64 deadline_call_cpu_ns(void);

#endif
