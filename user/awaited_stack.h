/* SPDX-License-Identifier: Apache-2.0 */
/* Samples whose stack comes in a record of its own, when their thread returns to user mode
 * (SAMPLE_AWAITS_RESUME), and the parts of stacks that travel in several records. Fixed size: 1.4 MiB, and
 * 64 KiB for each of the deep stacks that are on their way.
 */
#ifndef PANOPY_AWAITED_STACK_H
#define PANOPY_AWAITED_STACK_H

#include <stdbool.h>

#include "aggregate/profile.h"
#include "sample.h"

enum {
	AWAITED_STACK_FRAMES = LIMIT_RESUME_CHUNKS * LIMIT_SAMPLE_FRAMES,
};

struct awaited_stacks;

/* Which stack: tickets are counted by the kernel side, per slot of threads. */
struct stack_ticket {
	u64 epoch;
	u32 tid;
	u32 ticket;
};

int awaited_stacks_new(struct awaited_stacks **ret_awaited);
void awaited_stacks_free(struct awaited_stacks *awaited);

/* Keeps a copy of the sample, its frames and its comm. Where there is no room, *ret_oldest (valid until the
 * next call) is the one that has to go. */
void awaited_stacks_put(struct awaited_stacks *awaited, const struct stack_ticket *ticket,
			const struct profile_sample *sample, const struct profile_sample **ret_oldest);
/* How many wait. */
size_t awaited_stacks_count(const struct awaited_stacks *awaited);
/* Hands out the samples that await the ticket, one a call, as they came; NULL when there are no more. */
const struct profile_sample *awaited_stacks_take(struct awaited_stacks *awaited,
						 const struct stack_ticket *ticket);
/* Likewise those that came before `time_ns`. */
const struct profile_sample *awaited_stacks_expire(struct awaited_stacks *awaited, u64 time_ns);

/* What is known of a stack that came: for ticks that hit the thread while it was being read. */
struct awaited_result {
	struct stack_ticket ticket;
	u32 node;
	u32 unnamed_cnt;
	u32 lineless_cnt;
	u8 status;
	u8 reason;
};

void awaited_stacks_note(struct awaited_stacks *awaited, const struct awaited_result *result);
/* NULL: not come yet, or forgotten. */
const struct awaited_result *awaited_stacks_find(const struct awaited_stacks *awaited,
						 const struct stack_ticket *ticket);

/* A deep stack on its way: finished frames so far, leaf first. */
struct stack_part {
	struct stack_ticket ticket;
	u32 chunk_cnt;
	u32 frame_cnt;
	u32 unnamed_cnt;
	u32 lineless_cnt;
	u32 frame_ids[AWAITED_STACK_FRAMES];
};

/* The part to append chunk number `chunk` to: new for the first one. NULL when the one before it is missing,
 * or there is no memory. */
struct stack_part *awaited_stacks_part(struct awaited_stacks *awaited, const struct stack_ticket *ticket,
				       u32 chunk);

#endif
