/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel/cpu_list.h"

static void single_cpus_and_ranges(void **state)
{
	const char *list = "0-3,8,10-11\n";

	for (size_t cpu = 0; cpu < 20; cpu++)
		assert_int_equal(cpu_list_has(list, cpu), cpu <= 3 || cpu == 8 || cpu == 10 || cpu == 11);
}

static void one_cpu(void **state)
{
	assert_true(cpu_list_has("0\n", 0));
	assert_false(cpu_list_has("0\n", 1));
	assert_true(cpu_list_has("0-127", 127));
	assert_false(cpu_list_has("0-127", 128));
	/* Not a prefix of a number. */
	assert_false(cpu_list_has("12", 1));
}

static void text_that_makes_no_sense_ends_the_list(void **state)
{
	assert_false(cpu_list_has("", 0));
	assert_false(cpu_list_has("\n", 0));
	assert_false(cpu_list_has("-1", 1));
	assert_false(cpu_list_has("x0", 0));
	assert_true(cpu_list_has("1,x,2", 1));
	assert_false(cpu_list_has("1,x,2", 2));
	assert_false(cpu_list_has("3-1", 2));
	assert_false(cpu_list_has("1,,2", 2));
}

static void numbers_that_overflow(void **state)
{
	assert_false(cpu_list_has("99999999999999999999999999", 0));
	assert_true(cpu_list_has("0-99999999999999999999999999", 5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(single_cpus_and_ranges),
		cmocka_unit_test(one_cpu),
		cmocka_unit_test(text_that_makes_no_sense_ends_the_list),
		cmocka_unit_test(numbers_that_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
