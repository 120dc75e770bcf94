/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/byte_reader.h"

static void test_values_in_order(void **state)
{
	static const u8 bytes[] = {1, 2, 0, 3, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0x80};
	struct byte_reader reader;

	byte_reader_init(&reader, bytes, sizeof(bytes));
	assert_int_equal(byte_reader_u8(&reader), 1);
	assert_int_equal(byte_reader_u16(&reader), 2);
	assert_int_equal(byte_reader_u32(&reader), 3);
	assert_true(byte_reader_u64(&reader) == 0x8000000000000004ULL);
	assert_int_equal(byte_reader_left(&reader), 0);
	assert_false(reader.failed);
}

static void test_short_data_fails_and_stays_failed(void **state)
{
	static const u8 bytes[] = {1, 2, 3};
	struct byte_reader reader;

	byte_reader_init(&reader, bytes, sizeof(bytes));
	assert_int_equal(byte_reader_u32(&reader), 0);
	assert_true(reader.failed);
	assert_int_equal(reader.off, 0);
	assert_int_equal(byte_reader_u8(&reader), 0);
	assert_null(byte_reader_take(&reader, 0));
}

static void test_huge_sizes_do_not_wrap(void **state)
{
	static const u8 bytes[8];
	struct byte_reader reader;

	byte_reader_init(&reader, bytes, sizeof(bytes));
	assert_non_null(byte_reader_take(&reader, 4));
	assert_null(byte_reader_take(&reader, SIZE_MAX));
	byte_reader_init(&reader, bytes, sizeof(bytes));
	assert_false(byte_reader_seek(&reader, UINT64_MAX));
	byte_reader_init(&reader, bytes, sizeof(bytes));
	assert_true(byte_reader_seek(&reader, 8));
	assert_false(byte_reader_seek(&reader, 9));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_in_order),
		cmocka_unit_test(test_short_data_fails_and_stays_failed),
		cmocka_unit_test(test_huge_sizes_do_not_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
