/* SPDX-License-Identifier: Apache-2.0 */
/* Where a stack's identity is remembered, on both sides.
 *
 * An identity is a keyed 64-bit hash over all that makes a stack: process epoch, interpreter, and for each
 * frame code object, fingerprint and instruction offset. Among n stacks the odds that any two collide are
 * n^2 / 2^65: with a million stacks, 1 in 37 million.
 *
 * The kernel side keeps one identity a slot: the last stack of that slot that was sent whole. User space
 * keeps the last STACK_SLOT_WAYS of the same slot, so it always holds the one that the kernel side may
 * refer to, whatever was evicted. Where it does not (a lost record), it clears the kernel's slot, and the
 * stack is sent whole again.
 */
#ifndef PANOPY_STACK_SLOT_H
#define PANOPY_STACK_SLOT_H

#include "shared_types.h"

enum {
	STACK_SLOT_CNT = 1 << 16,
	/* More than one, since CPUs that send stacks of one slot at the same time may be seen in either
	 * order. */
	STACK_SLOT_WAYS = 4,
};

static inline u32 stack_slot_idx(u64 identity)
{
	return identity >> 48;
}

#endif
