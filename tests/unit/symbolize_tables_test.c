/* SPDX-License-Identifier: Apache-2.0 */
/* string_table and frame_table. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbolize/frame_table.h"

static void test_strings(void **state)
{
	struct string_table *table;
	u32 empty, first, second, zero, again;
	size_t sz;

	assert_int_equal(string_table_new(&table, 10000), 0);
	assert_int_equal(string_table_intern(table, "", 0, &empty), 0);
	assert_int_equal(string_table_intern(table, NULL, 0, &empty), 0);
	assert_int_equal(empty, 0);
	assert_int_equal(string_table_intern(table, "ab", 2, &first), 0);
	assert_int_equal(string_table_intern(table, "abc", 3, &second), 0);
	assert_int_equal(string_table_intern(table, "ab\0", 3, &zero), 0);
	assert_int_equal(string_table_intern(table, "abc", 2, &again), 0);
	assert_int_equal(again, first);
	assert_true(first != second && second != zero && first != zero);
	assert_memory_equal(string_table_at(table, zero, &sz), "ab\0", 4);
	assert_int_equal(sz, 3);
	assert_string_equal(string_table_at(table, second, NULL), "abc");
	assert_string_equal(string_table_at(table, 12345, &sz), "");
	string_table_free(table);
	string_table_free(NULL);
}

/* Many strings, some longer than a chunk: addresses and contents must stay. */
static void test_strings_stay(void **state)
{
	enum { CNT = 20000 };
	static const char *addresses[CNT];
	struct string_table *table;
	char *big = calloc(1, 200000), text[32];
	u32 id, big_id;
	size_t sz;

	assert_non_null(big);
	memset(big, 'x', 199999);
	assert_int_equal(string_table_new(&table, 8 << 20), 0);
	for (u32 i = 0; i < CNT; i++) {
		snprintf(text, sizeof(text), "name %u", i);
		assert_int_equal(string_table_intern(table, text, strlen(text), &id), 0);
		assert_int_equal(id, i + 1 + (i > 100));
		addresses[i] = string_table_at(table, id, NULL);
		if (i == 100)
			assert_int_equal(string_table_intern(table, big, 199999, &big_id), 0);
	}
	for (u32 i = 0; i < CNT; i++) {
		snprintf(text, sizeof(text), "name %u", i);
		assert_int_equal(string_table_intern(table, text, strlen(text), &id), 0);
		assert_ptr_equal(string_table_at(table, id, NULL), addresses[i]);
		assert_string_equal(addresses[i], text);
	}
	assert_string_equal(string_table_at(table, big_id, &sz), big);
	assert_int_equal(sz, 199999);
	string_table_free(table);
	free(big);
}

static void test_strings_bounded(void **state)
{
	struct string_table *table;
	char text[32];
	u32 id, cnt = 0;
	int err = 0;

	assert_int_equal(string_table_new(&table, 4096), 0);
	while (!err && cnt < 1000) {
		snprintf(text, sizeof(text), "name %u", cnt++);
		err = string_table_intern(table, text, strlen(text), &id);
	}
	assert_int_equal(err, -ENOSPC);
	assert_true(cnt > 20);
	/* What is there is still found. */
	assert_int_equal(string_table_intern(table, "name 0", 6, &id), 0);
	assert_int_equal(id, 1);
	string_table_free(table);
	assert_int_equal(string_table_new(&table, 0), -ENOSPC);
}

static void test_frames(void **state)
{
	struct frame frame = {1, 2, 3};
	struct frame_table *table;
	u32 first, second, again;

	assert_int_equal(frame_table_new(&table, 2), 0);
	assert_non_null(frame_table_strings(table));
	assert_int_equal(frame_table_count(table), FRAME_ID_FIRST);
	assert_int_equal(frame_table_intern(table, &frame, &first), 0);
	frame.line = 4;
	assert_int_equal(frame_table_intern(table, &frame, &second), 0);
	assert_int_equal(first, FRAME_ID_FIRST);
	assert_int_equal(second, FRAME_ID_FIRST + 1);
	frame.line = 3;
	assert_int_equal(frame_table_intern(table, &frame, &again), 0);
	assert_int_equal(again, first);
	assert_int_equal(frame_table_at(table, second)->line, 4);
	frame.file_id = 9;
	assert_int_equal(frame_table_intern(table, &frame, &again), -ENOSPC);
	assert_int_equal(again, FRAME_ID_FOLDED);
	assert_int_equal(frame_table_count(table), FRAME_ID_FIRST + 2);
	assert_int_equal(frame_table_at(table, 999)->qualname_id, 0);
	frame_table_free(table);
	frame_table_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_strings_stay),
		cmocka_unit_test(test_strings_bounded),
		cmocka_unit_test(test_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
