/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "awaited_pids.h"
#include "base/clock.h"

static struct awaited_pids awaited;
static struct awaited_pid due[AWAITED_PIDS_MAX];

static int set_up(void **state)
{
	awaited = (struct awaited_pids){0};
	return 0;
}

static void test_each_waits_for_itself(void **state)
{
	assert_int_equal(awaited_pids_take_due(&awaited, ~0ULL, due), 0);
	assert_int_equal(awaited_pids_add(&awaited, 1, 0), 0);
	assert_int_equal(awaited_pids_add(&awaited, 2, CLOCK_NS_PER_S), 0);
	/* Not later for being asked for again. */
	assert_int_equal(awaited_pids_add(&awaited, 1, CLOCK_NS_PER_S), 0);
	assert_int_equal(awaited_pids_take_due(&awaited, CLOCK_NS_PER_MS, due), 0);
	assert_int_equal(awaited_pids_take_due(&awaited, CLOCK_NS_PER_S, due), 1);
	assert_int_equal(due[0].pid, 1);
	assert_int_equal(awaited_pids_take_due(&awaited, 2 * CLOCK_NS_PER_S, due), 1);
	assert_int_equal(due[0].pid, 2);
	assert_int_equal(awaited.cnt, 0);
}

/* Longer each time; the one that is the last says so, and is not followed by another. */
static void test_waits_grow_and_end(void **state)
{
	u64 now = 0, waited = 0;
	int look_cnt = 0;

	assert_int_equal(awaited_pids_add(&awaited, 7, now), 0);
	while (awaited.cnt) {
		assert_true(awaited.pids[0].next_ns - now > waited);
		waited = awaited.pids[0].next_ns - now;
		now += waited;
		assert_int_equal(awaited_pids_take_due(&awaited, now, due), 1);
		assert_int_equal(awaited_pids_add(&awaited, 7, now), 0);
		awaited_pids_prolong(&awaited, &due[0], now);
		assert_int_equal(awaited_pid_is_last(&due[0]), !awaited.cnt);
		look_cnt++;
	}
	assert_in_range(look_cnt, 3, 20);
	assert_in_range(now, CLOCK_NS_PER_S, 5 * CLOCK_NS_PER_S);
}

static void test_decided_is_not_prolonged(void **state)
{
	assert_int_equal(awaited_pids_add(&awaited, 7, 0), 0);
	assert_int_equal(awaited_pids_take_due(&awaited, CLOCK_NS_PER_S, due), 1);
	awaited_pids_prolong(&awaited, &due[0], CLOCK_NS_PER_S);
	assert_int_equal(awaited.cnt, 0);
}

static void test_bounded(void **state)
{
	for (pid_t pid = 1; pid <= AWAITED_PIDS_MAX; pid++)
		assert_int_equal(awaited_pids_add(&awaited, pid, 0), 0);
	assert_int_equal(awaited_pids_add(&awaited, AWAITED_PIDS_MAX + 1, 0), -ENOSPC);
	assert_int_equal(awaited_pids_add(&awaited, 1, 0), 0);
	assert_int_equal(awaited_pids_take_due(&awaited, CLOCK_NS_PER_S, due), AWAITED_PIDS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_each_waits_for_itself, set_up),
		cmocka_unit_test_setup(test_waits_grow_and_end, set_up),
		cmocka_unit_test_setup(test_decided_is_not_prolonged, set_up),
		cmocka_unit_test_setup(test_bounded, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
