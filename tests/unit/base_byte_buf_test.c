/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/byte_buf.h"

static void test_add(void **state)
{
	struct byte_buf buf;

	byte_buf_init(&buf, 1000);
	assert_int_equal(byte_buf_add(&buf, NULL, 0), 0);
	assert_int_equal(byte_buf_add_text(&buf, "line "), 0);
	assert_int_equal(byte_buf_add_number(&buf, UINT64_MAX), 0);
	assert_int_equal(byte_buf_add_char(&buf, '\0'), 0);
	assert_int_equal(buf.sz, 26);
	assert_memory_equal(buf.data, "line 18446744073709551615\0", 26);
	byte_buf_clear(&buf);
	assert_int_equal(buf.sz, 0);
	byte_buf_release(&buf);
}

static void test_grows_to_its_maximum(void **state)
{
	struct byte_buf buf;

	byte_buf_init(&buf, 1000);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(byte_buf_add_char(&buf, (char)i), 0);
	assert_int_equal(byte_buf_add_char(&buf, 'x'), -ENOSPC);
	assert_int_equal(byte_buf_add_text(&buf, ""), 0);
	assert_int_equal(byte_buf_reserve(&buf, SIZE_MAX), -ENOSPC);
	assert_int_equal(buf.sz, 1000);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(buf.data[i], (char)i);
	byte_buf_release(&buf);
}

static void test_failure_leaves_it_as_it_was(void **state)
{
	struct byte_buf buf;

	byte_buf_init(&buf, 4);
	assert_int_equal(byte_buf_add_text(&buf, "abc"), 0);
	assert_int_equal(byte_buf_add_text(&buf, "de"), -ENOSPC);
	assert_int_equal(buf.sz, 3);
	assert_memory_equal(buf.data, "abc", 3);
	byte_buf_release(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add),
		cmocka_unit_test(test_grows_to_its_maximum),
		cmocka_unit_test(test_failure_leaves_it_as_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
