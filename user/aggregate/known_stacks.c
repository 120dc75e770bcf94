/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregate/known_stacks.h"

#include <errno.h>

#include "base/huge_pages.h"
#include "stack_slot.h"

struct known_stacks {
	struct known_stack ways[STACK_SLOT_CNT][STACK_SLOT_WAYS]; /* newest first */
};

int known_stacks_new(struct known_stacks **ret_stacks)
{
	struct known_stacks *stacks = huge_pages_alloc(sizeof(*stacks));

	if (!stacks)
		return -ENOMEM;
	*ret_stacks = stacks;
	return 0;
}

void known_stacks_free(struct known_stacks *stacks)
{
	huge_pages_free(stacks, sizeof(*stacks));
}

void known_stacks_put(struct known_stacks *stacks, const struct known_stack *stack)
{
	struct known_stack *ways = stacks->ways[stack_slot_idx(stack->identity)];
	size_t at = 0;

	while (at < STACK_SLOT_WAYS - 1 && ways[at].identity != stack->identity)
		at++;
	for (; at > 0; at--)
		ways[at] = ways[at - 1];
	ways[0] = *stack;
}

void known_stacks_prefetch(const struct known_stacks *stacks, u64 identity)
{
	const char *ways = (const char *)stacks->ways[stack_slot_idx(identity)];

	__builtin_prefetch(ways, 1);
	__builtin_prefetch(ways + sizeof(stacks->ways[0]) - 1, 1);
}

const struct known_stack *known_stacks_find(const struct known_stacks *stacks, u64 identity)
{
	const struct known_stack *ways = stacks->ways[stack_slot_idx(identity)];

	for (size_t at = 0; identity && at < STACK_SLOT_WAYS; at++) {
		if (ways[at].identity == identity)
			return &ways[at];
	}
	return NULL;
}
