/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tick_periods.h"

enum { PERIOD = 1000 };

static void one_tick_a_period(void **state)
{
	s64 carry = 0;

	for (int i = 0; i < 1000; i++)
		assert_int_equal(tick_periods(&carry, PERIOD, PERIOD), 1);
	assert_int_equal(carry, 0);
}

static void a_late_tick_and_the_next_one_are_one_each(void **state)
{
	s64 carry = 0;

	assert_int_equal(tick_periods(&carry, 1600, PERIOD), 1);
	assert_int_equal(tick_periods(&carry, 400, PERIOD), 1);
	assert_int_equal(carry, 0);
	/* What is left over may be anything: a jitter of the timer does not tell of 0 and 2 in turn. */
	for (carry = -740; carry < 740; carry += 10) {
		s64 at = carry;

		assert_int_equal(tick_periods(&carry, 1004, PERIOD), 1);
		assert_int_equal(tick_periods(&carry, 996, PERIOD), 1);
		assert_int_equal(carry, at);
	}
}

static void ticks_that_never_came(void **state)
{
	s64 carry = 0;

	assert_int_equal(tick_periods(&carry, 2000, PERIOD), 2);
	assert_int_equal(tick_periods(&carry, 7990, PERIOD), 8);
	assert_int_equal(tick_periods(&carry, 3600000000000, PERIOD), 3600000000);
	assert_int_equal(carry, -10);
}

/* The host takes three tenths of each period: ten ticks come, seven periods passed. */
static void slices_shorter_than_a_period(void **state)
{
	s64 carry = 0;
	u64 sum = 0;

	for (int i = 0; i < 10; i++) {
		u64 periods = tick_periods(&carry, 700, PERIOD);

		assert_true(periods <= 1);
		sum += periods;
	}
	assert_int_equal(sum, 7);
}

/* Whatever passes, the sum is right, and what is carried is bounded. */
static void nothing_is_lost(void **state)
{
	u64 passed = 0, told = 0;
	s64 carry = 0;

	srand(1);
	for (int i = 0; i < 1000000; i++) {
		u64 ns = (u64)rand() % (i % 7 ? 2 * PERIOD : 20 * PERIOD);

		passed += ns;
		told += tick_periods(&carry, ns, PERIOD);
		assert_in_range(carry + PERIOD, PERIOD / 4, PERIOD / 4 * 7 - 1);
		assert_int_equal((s64)(passed - told * PERIOD), carry);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_tick_a_period),
		cmocka_unit_test(a_late_tick_and_the_next_one_are_one_each),
		cmocka_unit_test(ticks_that_never_came),
		cmocka_unit_test(slices_shorter_than_a_period),
		cmocka_unit_test(nothing_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
