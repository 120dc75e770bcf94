/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks that the kernel side may refer to by their identity (stack_slot.h): identity -> stack in the
 * profile. Fixed size: 6 MiB.
 */
#ifndef PANOPY_AGGREGATE_KNOWN_STACKS_H
#define PANOPY_AGGREGATE_KNOWN_STACKS_H

#include <stdbool.h>
#include <stddef.h>

#include "shared_types.h"

struct known_stack {
	u64 identity;	  /* 0: empty */
	u32 process_id;	  /* process_table id */
	u32 node;	  /* as profile_add() named it */
	u32 unnamed_cnt;  /* frames of it that could not be named */
	u32 lineless_cnt; /* frames of it whose line is not known */
};

struct known_stacks;

int known_stacks_new(struct known_stacks **ret_stacks);
void known_stacks_free(struct known_stacks *stacks);

/* Remembers it; of the same slot, the one remembered longest ago may be forgotten for it. */
void known_stacks_put(struct known_stacks *stacks, const struct known_stack *stack);
/* For an identity that will be put or looked for soon. */
void known_stacks_prefetch(const struct known_stacks *stacks, u64 identity);
/* NULL: not known. */
const struct known_stack *known_stacks_find(const struct known_stacks *stacks, u64 identity);

#endif
