/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "process_rows.h"

static const struct py_runtime OLD = {.version = 0x030800f0};
static const struct py_runtime NEW = {.version = 0x030d00f0, .free_threaded = true};

static void test_later_image_replaces(void **state)
{
	struct process_rows rows;
	struct summary_process *row;

	process_rows_init(&rows, 10);
	assert_null(process_rows_find(&rows, 5));
	assert_int_equal(process_rows_note(&rows, 5, &OLD, true), 0);
	process_rows_find(&rows, 5)->outside_ticks = 3;
	assert_int_equal(process_rows_note(&rows, 5, &NEW, false), 0);
	assert_int_equal(rows.cnt, 1);
	row = process_rows_find(&rows, 5);
	assert_int_equal(row->process_id, 5);
	assert_int_equal(row->version, NEW.version);
	assert_true(row->free_threaded);
	/* What was so once, or added up, stays. */
	assert_true(row->selected);
	assert_int_equal(row->outside_ticks, 3);
	process_rows_release(&rows);
}

static void test_found_by_id(void **state)
{
	struct process_rows rows;

	process_rows_init(&rows, 1000);
	for (u32 id = 0; id < 1000; id++)
		assert_int_equal(process_rows_note(&rows, 7 * id, &OLD, false), 0);
	for (u32 id = 0; id < 1000; id++)
		assert_int_equal(process_rows_find(&rows, 7 * id)->process_id, 7 * id);
	assert_null(process_rows_find(&rows, 8));
	assert_int_equal(process_rows_note(&rows, 8, &OLD, false), -ENOSPC);
	assert_int_equal(process_rows_note(&rows, 7, &NEW, false), 0);
	assert_int_equal(rows.cnt, 1000);
	process_rows_release(&rows);
}

static void test_forgotten(void **state)
{
	struct process_rows rows;

	process_rows_init(&rows, 3);
	for (u32 id = 0; id < 3; id++)
		assert_int_equal(process_rows_note(&rows, id, &OLD, true), 0);
	process_rows_forget(&rows, 1);
	process_rows_forget(&rows, 1);
	assert_int_equal(rows.cnt, 2);
	assert_null(process_rows_find(&rows, 1));
	assert_int_equal(process_rows_find(&rows, 0)->process_id, 0);
	assert_int_equal(process_rows_find(&rows, 2)->process_id, 2);
	/* Another process's: nothing of the former one stays. */
	assert_int_equal(process_rows_note(&rows, 1, &NEW, false), 0);
	assert_false(process_rows_find(&rows, 1)->selected);
	process_rows_release(&rows);
}

static bool is_even(void *ctx, const struct summary_process *row)
{
	++*(int *)ctx;
	return row->process_id % 2 == 0;
}

static void test_filter(void **state)
{
	struct process_rows rows;
	int asked = 0;

	process_rows_init(&rows, 10);
	for (u32 id = 0; id < 5; id++)
		assert_int_equal(process_rows_note(&rows, id, &OLD, false), 0);
	process_rows_filter(&rows, is_even, &asked);
	assert_int_equal(asked, 5);
	assert_int_equal(rows.cnt, 3);
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(rows.rows[i].process_id, 2 * i);
	process_rows_release(&rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_later_image_replaces),
		cmocka_unit_test(test_found_by_id),
		cmocka_unit_test(test_forgotten),
		cmocka_unit_test(test_filter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
