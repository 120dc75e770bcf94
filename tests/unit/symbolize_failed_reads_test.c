/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "symbolize/code_store.h"
#include "symbolize/failed_reads.h"

#define START (100 * CLOCK_NS_PER_S)
#define HOLD  (FAILED_READS_HOLD_MS * CLOCK_NS_PER_MS)

static int set_up(void **state)
{
	return failed_reads_new((struct failed_reads **)state);
}

static int tear_down(void **state)
{
	failed_reads_free(*state);
	return 0;
}

static void test_held_for_a_while(void **state)
{
	const struct code_key key = {5, 0x7f0000001000, 7}, others[] = {
								    {6, 0x7f0000001000, 7},
								    {5, 0x7f0000002000, 7},
								    {5, 0x7f0000001000, 8},
							    };

	assert_false(failed_reads_hold(*state, &key, START));
	failed_reads_note(*state, &key, START);
	assert_true(failed_reads_hold(*state, &key, START));
	assert_true(failed_reads_hold(*state, &key, START + HOLD - 1));
	assert_false(failed_reads_hold(*state, &key, START + HOLD));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(failed_reads_hold(*state, &others[i], START));
}

/* A process whose code objects are all unreadable, each one another. */
static void test_process_has_a_limit(void **state)
{
	struct code_key key = {5, 0x1000, 7};
	const struct code_key neighbour = {6, 0x1000, 7};
	u32 tried = 0;

	for (; key.code < 0x1000 + 100000ULL * 64; key.code += 64) {
		if (failed_reads_hold(*state, &key, START))
			continue;
		tried++;
		failed_reads_note(*state, &key, START);
	}
	assert_int_equal(tried, FAILED_READS_LIMIT);
	assert_false(failed_reads_hold(*state, &neighbour, START));
	assert_false(failed_reads_hold(*state, &key, START + HOLD));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_held_for_a_while, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_process_has_a_limit, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
