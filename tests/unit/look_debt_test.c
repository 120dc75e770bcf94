/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "look_debt.h"

static void a_start_is_not_held_up(void **state)
{
	static struct look_debts debts;
	u64 now = CLOCK_NS_PER_S;

	assert_false(look_debts_hold(&debts, 7, now));
	for (int i = 0; i < 300; i++) {
		look_debts_note(&debts, 7, CLOCK_NS_PER_MS / 4, now += CLOCK_NS_PER_MS / 4);
		assert_false(look_debts_hold(&debts, 7, now));
	}
}

static void looks_without_end_get_a_share(void **state)
{
	static struct look_debts debts;
	u64 begun = CLOCK_NS_PER_S, spent = 0;

	for (u64 now = begun; now < begun + 60 * CLOCK_NS_PER_S; now += CLOCK_NS_PER_MS) {
		if (look_debts_hold(&debts, 7, now))
			continue;
		look_debts_note(&debts, 7, CLOCK_NS_PER_MS, now);
		spent += CLOCK_NS_PER_MS;
	}
	assert_in_range(spent, CLOCK_NS_PER_S, 2 * CLOCK_NS_PER_S);
	/* It is nobody else's debt. */
	assert_false(look_debts_hold(&debts, 8, begun));
	assert_false(look_debts_hold(&debts, 7 + LOOK_DEBT_SLOTS, begun));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_start_is_not_held_up),
		cmocka_unit_test(looks_without_end_get_a_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
