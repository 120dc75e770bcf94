/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tick_grid.h"

enum { PERIOD = 1000 };

/* Ticks at START + n * PERIOD; `late_ns` is this one's. */
static void assert_due(u64 *due_ns, u64 n, u64 late_ns, u64 want)
{
	u64 now = 500 + n * PERIOD + late_ns;

	assert_int_equal(tick_grid_step(due_ns, now, PERIOD), want);
	assert_in_range(*due_ns, 500 + n * PERIOD, now);
}

static void late_ticks_are_one_each(void **state)
{
	u64 due = 500;

	assert_due(&due, 1, 0, 1);
	assert_due(&due, 2, 600, 1);
	assert_due(&due, 3, 990, 1);
	assert_due(&due, 4, 0, 1);
	assert_due(&due, 5, 3, 1);
}

static void ticks_that_never_came(void **state)
{
	u64 due = 500;

	assert_due(&due, 2, 10, 2);
	/* So late that the next one was skipped. */
	assert_due(&due, 4, 300, 2);
	assert_due(&due, 5, 10, 1);
	assert_due(&due, 5 + 3600000000, 10, 3600000000);
}

/* Whatever came first was late, too; the first one that is in time sets it right. */
static void first_ticks(void **state)
{
	u64 due = 500 + 700;

	assert_due(&due, 1, 5, 1);
	assert_int_equal(due, 500 + PERIOD + 5);
	assert_due(&due, 2, 995, 1);
	assert_due(&due, 3, 2, 1);
	assert_due(&due, 5, 2, 2);
}

static void random_lateness(void **state)
{
	u64 due = 500, n = 0, told = 0;

	srand(1);
	for (int i = 0; i < 1000000; i++) {
		u64 skipped = i % 5 ? 0 : (u64)rand() % 20;

		n += 1 + skipped;
		told += tick_grid_step(&due, 500 + n * PERIOD + (u64)rand() % PERIOD, PERIOD);
		assert_int_equal(told, n);
	}
}

/* The host takes three tenths of each period: ten ticks come, seven periods are left. */
static void slices_shorter_than_a_period(void **state)
{
	u64 carry = 0, sum = 0;

	for (int i = 0; i < 10; i++)
		sum += 1 - tick_grid_steal(&carry, 300, 1, PERIOD);
	assert_int_equal(sum, 7);
	assert_int_equal(carry, 0);
}

static void whole_periods_are_stolen(void **state)
{
	u64 carry = 900;

	assert_int_equal(tick_grid_steal(&carry, 4300, 6, PERIOD), 5);
	assert_int_equal(carry, 200);
	/* Never more than there are. */
	assert_int_equal(tick_grid_steal(&carry, 1900, 1, PERIOD), 1);
	assert_int_equal(carry, 1100);
	assert_int_equal(tick_grid_steal(&carry, 0, 1, PERIOD), 1);
	assert_int_equal(carry, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(late_ticks_are_one_each),
		cmocka_unit_test(ticks_that_never_came),
		cmocka_unit_test(first_ticks),
		cmocka_unit_test(random_lateness),
		cmocka_unit_test(slices_shorter_than_a_period),
		cmocka_unit_test(whole_periods_are_stolen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
