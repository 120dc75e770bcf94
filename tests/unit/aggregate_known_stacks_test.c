/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "aggregate/known_stacks.h"
#include "stack_slot.h"

static struct known_stack stack_in_slot(u64 slot, u64 low)
{
	return (struct known_stack){
		.identity = slot << 48 | low, .process_id = (u32)low, .node = (u32)(slot + low)};
}

static void test_what_was_put_is_found(void **state)
{
	struct known_stacks *stacks;

	(void)state;
	assert_int_equal(known_stacks_new(&stacks), 0);
	assert_null(known_stacks_find(stacks, 0));
	assert_null(known_stacks_find(stacks, 12345));
	for (u64 slot = 0; slot < STACK_SLOT_CNT; slot++) {
		struct known_stack stack = stack_in_slot(slot, slot * 7 + 1);

		known_stacks_put(stacks, &stack);
	}
	for (u64 slot = 0; slot < STACK_SLOT_CNT; slot++) {
		const struct known_stack *found = known_stacks_find(stacks, slot << 48 | (slot * 7 + 1));

		assert_non_null(found);
		assert_int_equal(found->node, (u32)(slot * 8 + 1));
		assert_null(known_stacks_find(stacks, slot << 48 | (slot * 7 + 2)));
	}
	known_stacks_free(stacks);
}

/* The kernel side refers to the newest of a slot: that one is never the one forgotten. */
static void test_the_newest_of_a_slot_stay(void **state)
{
	struct known_stacks *stacks;

	(void)state;
	assert_int_equal(known_stacks_new(&stacks), 0);
	for (u64 low = 1; low <= 100; low++) {
		struct known_stack stack = stack_in_slot(9, low);

		known_stacks_put(stacks, &stack);
		for (u64 other = 1; other <= 100; other++) {
			const struct known_stack *found = known_stacks_find(stacks, 9ULL << 48 | other);

			assert_int_equal(found != NULL, other <= low && other + STACK_SLOT_WAYS > low);
		}
	}
	known_stacks_free(stacks);
}

/* The same stack again takes no second way, and becomes the newest. */
static void test_again_is_not_twice(void **state)
{
	struct known_stack first = stack_in_slot(3, 1), again = stack_in_slot(3, 1);
	struct known_stacks *stacks;

	(void)state;
	again.node = 77;
	assert_int_equal(known_stacks_new(&stacks), 0);
	known_stacks_put(stacks, &first);
	for (u64 low = 2; low <= STACK_SLOT_WAYS; low++) {
		struct known_stack other = stack_in_slot(3, low);

		known_stacks_put(stacks, &other);
	}
	known_stacks_put(stacks, &again);
	for (u64 low = 1; low <= STACK_SLOT_WAYS; low++)
		assert_non_null(known_stacks_find(stacks, 3ULL << 48 | low));
	assert_int_equal(known_stacks_find(stacks, again.identity)->node, 77);
	known_stacks_free(stacks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_put_is_found),
		cmocka_unit_test(test_the_newest_of_a_slot_stay),
		cmocka_unit_test(test_again_is_not_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
