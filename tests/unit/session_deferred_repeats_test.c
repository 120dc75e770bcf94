/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "deferred_repeats.h"

/* Which stacks are known, and what became of the references. */
struct outcome {
	u64 known; /* a bit for each identity */
	u32 resolved, lost;
};

static bool resolve(void *ctx, const struct repeat_record *record)
{
	struct outcome *outcome = ctx;
	bool is_known = outcome->known >> record->identity & 1;

	outcome->resolved += is_known;
	return is_known;
}

static void lose(void *ctx, const struct repeat_record *record)
{
	struct outcome *outcome = ctx;

	(void)record;
	outcome->lost++;
}

static void put(struct deferred_repeats *repeats, u64 identity)
{
	assert_true(deferred_repeats_put(repeats, &(struct repeat_record){.identity = identity}));
}

static void assert_settles(struct deferred_repeats *repeats, struct outcome *outcome, u32 resolved, u32 lost)
{
	deferred_repeats_settle(repeats, &(struct deferred_repeats_ops){resolve, lose, outcome});
	assert_int_equal(outcome->resolved, resolved);
	assert_int_equal(outcome->lost, lost);
}

/* The stack came with the same reading, with the next one, or never. */
static void test_waits_for_the_next_reading(void **state)
{
	struct outcome outcome = {.known = 1 << 1};
	struct deferred_repeats *repeats;

	(void)state;
	assert_int_equal(deferred_repeats_new(&repeats), 0);
	assert_settles(repeats, &outcome, 0, 0);
	put(repeats, 1);
	put(repeats, 2);
	put(repeats, 3);
	assert_settles(repeats, &outcome, 1, 0);
	outcome.known |= 1 << 2;
	put(repeats, 4);
	put(repeats, 2);
	assert_settles(repeats, &outcome, 3, 1);
	outcome.known |= 1 << 3;
	assert_settles(repeats, &outcome, 3, 2);
	assert_settles(repeats, &outcome, 3, 2);
	deferred_repeats_free(repeats);
}

static void test_bounded(void **state)
{
	struct outcome outcome = {0};
	struct deferred_repeats *repeats;
	u32 cnt = 0;

	(void)state;
	assert_int_equal(deferred_repeats_new(&repeats), 0);
	while (deferred_repeats_put(repeats, &(struct repeat_record){.identity = 1}))
		assert_true(++cnt < 1 << 20);
	assert_settles(repeats, &outcome, 0, 0);
	assert_false(deferred_repeats_put(repeats, &(struct repeat_record){.identity = 1}));
	assert_settles(repeats, &outcome, 0, cnt);
	put(repeats, 1);
	deferred_repeats_free(repeats);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits_for_the_next_reading),
		cmocka_unit_test(test_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
