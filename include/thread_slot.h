/* SPDX-License-Identifier: Apache-2.0 */
/* Where a thread's PyThreadState is: values of the `thread_slots` array, found by thread_slot_idx().
 * Two threads may want one slot; the later one takes it and the other is searched for again. What a
 * slot says is a hint: the sampler verifies it at every use.
 */
#ifndef PANOPY_THREAD_SLOT_H
#define PANOPY_THREAD_SLOT_H

#include "shared_types.h"

enum { THREAD_SLOT_CNT = 1 << 16 };

struct thread_slot {
	u64 owner;  /* thread_slot_owner() */
	u64 tstate; /* 0: not a Python thread, as long as threads_head is the same and until that time */
	u64 threads_head; /* head of the only interpreter's list when it was searched in vain */
	u64 until_ns;	  /* CLOCK_MONOTONIC */
};

SHARED_ASSERT_SIZE(struct thread_slot, 32);

static inline u64 thread_slot_owner(u64 epoch, u32 tid)
{
	return (epoch ^ ((u64)tid << 40)) + tid;
}

static inline u32 thread_slot_idx(u32 tid)
{
	return (tid * 2654435761u) >> 16;
}

#endif
