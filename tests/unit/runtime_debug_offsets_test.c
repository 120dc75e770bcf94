/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "../fuzz/offsets_fixture.h"

static bool is_free_threaded(const struct layout_row *row)
{
	return row->layout.traits & PY_TRAIT_FREE_THREADED;
}

static void test_every_known_table_is_decoded(void **state)
{
	const struct debug_offsets_format *format;
	const struct layout_row *row;
	u8 bytes[DEBUG_OFFSETS_MAX_SZ];
	size_t n = 0, free_threaded_cnt = 0;

	for (; fixture_at(n, &format, &row); n++) {
		struct debug_offsets offsets;

		fixture_table(format, row, bytes);
		assert_int_equal(decode_debug_offsets(bytes, format->table_sz, &offsets), 0);
		assert_int_equal(offsets.version, format->minor << 16 | 0x01f0);
		assert_int_equal(offsets.free_threaded, is_free_threaded(row));
		free_threaded_cnt += offsets.free_threaded;
		assert_int_equal(offsets.layout.frame_tlbc_index, row->layout.frame_tlbc_index);
		assert_int_equal(offsets.layout.code_tlbc, row->layout.code_tlbc);
		assert_int_equal(row->layout.code_tlbc != 0,
				 is_free_threaded(row) && format->minor >= 0x030e);
		assert_int_equal(offsets.tstate_struct_sz, row->tstate_struct_sz);
		assert_int_equal(offsets.interp_struct_sz, row->interp_struct_sz);
		assert_int_equal(offsets.frame_struct_sz, row->frame_struct_sz);
		assert_int_equal(offsets.code_struct_sz, row->code_struct_sz);
		assert_int_equal(offsets.unicode_struct_sz, row->unicode_struct_sz);
		assert_int_equal(offsets.layout.frame_instr, row->layout.frame_instr);
		assert_int_equal(offsets.layout.frame_owner, row->layout.frame_owner);
		assert_int_equal(offsets.layout.runtime_finalizing, row->layout.runtime_finalizing);
		assert_int_equal(offsets.layout.tstate_datastack_chunk, row->layout.tstate_datastack_chunk);
		assert_true(debug_offsets_agree(&offsets, &row->layout));
	}
	assert_true(n >= 12);
	assert_true(free_threaded_cnt >= 6);
}

static bool is_size(int value)
{
	return value == DEBUG_OFFSET_RUNTIME_SZ || value == DEBUG_OFFSET_INTERP_SZ ||
	       value == DEBUG_OFFSET_TSTATE_SZ || value == DEBUG_OFFSET_FRAME_SZ ||
	       value == DEBUG_OFFSET_CODE_SZ || value == DEBUG_OFFSET_UNICODE_SZ;
}

static bool is_free_threaded_only(int value)
{
	return value == DEBUG_OFFSET_FRAME_TLBC_INDEX || value == DEBUG_OFFSET_CODE_TLBC;
}

/* Where any alignment will do: single bytes. */
static bool is_unaligned(int value)
{
	return value == DEBUG_OFFSET_FRAME_OWNER || value == DEBUG_OFFSET_CODE_CODE_ADAPTIVE ||
	       value == DEBUG_OFFSET_BYTES_DATA;
}

static void expect_invalid(const u8 good[DEBUG_OFFSETS_MAX_SZ], const struct debug_offsets_format *format,
			   int value, u64 corrupt)
{
	struct debug_offsets offsets = {.version = 42};
	u8 bytes[DEBUG_OFFSETS_MAX_SZ];
	int err;

	memcpy(bytes, good, sizeof(bytes));
	put_u64(bytes, format->positions[value], corrupt);
	err = decode_debug_offsets(bytes, format->table_sz, &offsets);
	if (err != -EINVAL)
		fail_msg("value %d of 0x%x accepted as 0x%llx", value, format->minor,
			 (unsigned long long)corrupt);
	assert_int_equal(offsets.version, 42);
}

static void test_each_value_corrupted_in_turn(void **state)
{
	static const u64 corrupt[] = {UINT64_MAX,	UINT64_MAX - 7, 1ULL << 63, 1ULL << 32,
				      (1ULL << 32) + 8, 0xffff0000,	64 << 20};
	const struct debug_offsets_format *format;
	const struct layout_row *row;
	u8 good[DEBUG_OFFSETS_MAX_SZ];

	for (size_t n = 0; fixture_at(n, &format, &row); n++) {
		fixture_table(format, row, good);
		for (int value = 0; value < DEBUG_OFFSET_COUNT; value++) {
			u64 right;

			if (!format->positions[value] ||
			    (is_free_threaded_only(value) && !is_free_threaded(row)))
				continue;
			for (size_t i = 0; i < sizeof(corrupt) / sizeof(corrupt[0]); i++)
				expect_invalid(good, format, value, corrupt[i]);
			memcpy(&right, good + format->positions[value], sizeof(right));
			if (is_size(value))
				expect_invalid(good, format, value, 0);
			/* What a wrong place of a single byte does is shown where layouts are selected. */
			if (!is_unaligned(value)) {
				expect_invalid(good, format, value, right + 1);
				expect_invalid(good, format, value, right + 2);
			}
		}
	}
}

static void test_offsets_past_their_struct_or_over_another(void **state)
{
	const struct debug_offsets_format *format;
	const struct layout_row *row;
	u8 good[DEBUG_OFFSETS_MAX_SZ];

	assert_true(fixture_at(0, &format, &row));
	fixture_table(format, row, good);
	expect_invalid(good, format, DEBUG_OFFSET_FRAME_OWNER, row->frame_struct_sz);
	expect_invalid(good, format, DEBUG_OFFSET_FRAME_INSTR, 120); /* the sampler's span */
	expect_invalid(good, format, DEBUG_OFFSET_FRAME_INSTR, row->layout.frame_previous);
	expect_invalid(good, format, DEBUG_OFFSET_FRAME_OWNER, row->layout.frame_instr + 7);
	expect_invalid(good, format, DEBUG_OFFSET_TSTATE_NEXT, row->layout.tstate_interp);
	expect_invalid(good, format, DEBUG_OFFSET_CODE_NAME, row->code_struct_sz);
	expect_invalid(good, format, DEBUG_OFFSET_INTERP_NEXT, (row->interp_struct_sz & ~7U) + 8);
	expect_invalid(good, format, DEBUG_OFFSET_OBJECT_TYPE, 64);
	expect_invalid(good, format, DEBUG_OFFSET_UNICODE_ASCII_SZ, 0);
	expect_invalid(good, format, DEBUG_OFFSET_UNICODE_ASCII_SZ, 80);
	/* A struct too small for what is in it. */
	expect_invalid(good, format, DEBUG_OFFSET_FRAME_SZ, 32);
	expect_invalid(good, format, DEBUG_OFFSET_TSTATE_SZ, 64);
}

static void test_header(void **state)
{
	const struct debug_offsets_format *format;
	const struct layout_row *row;
	struct debug_offsets offsets;
	u8 bytes[DEBUG_OFFSETS_MAX_SZ];

	assert_true(fixture_at(0, &format, &row));
	fixture_table(format, row, bytes);
	assert_int_equal(decode_debug_offsets(bytes, format->table_sz - 64, &offsets), -EINVAL);
	assert_int_equal(decode_debug_offsets(bytes, DEBUG_OFFSETS_HEADER_SZ - 1, &offsets), -ENOENT);
	assert_int_equal(decode_debug_offsets(bytes, 0, &offsets), -ENOENT);
	put_u64(bytes, 16, 1);
	assert_int_equal(decode_debug_offsets_header(bytes, sizeof(bytes), &offsets), 0);
	assert_true(offsets.free_threaded);
	put_u64(bytes, 16, 2);
	assert_int_equal(decode_debug_offsets_header(bytes, sizeof(bytes), &offsets), -EINVAL);
	put_u64(bytes, 16, 0);
	put_u64(bytes, 8, 1ULL << 32 | 0x030d00f0);
	assert_int_equal(decode_debug_offsets_header(bytes, sizeof(bytes), &offsets), -EINVAL);
	put_u64(bytes, 8, fixture_unknown_version() | 0xf0);
	assert_int_equal(decode_debug_offsets(bytes, sizeof(bytes), &offsets), -ENOTSUP);
	bytes[3] ^= 1;
	assert_int_equal(decode_debug_offsets(bytes, sizeof(bytes), &offsets), -ENOENT);
}

/* A table that says it is free-threaded tells where the copies of the bytecode are; without, it is a lie. */
static void test_the_flag_must_fit_the_rest(void **state)
{
	const struct debug_offsets_format *format;
	const struct layout_row *row;
	u8 bytes[DEBUG_OFFSETS_MAX_SZ];
	size_t seen = 0;

	for (size_t n = 0; fixture_at(n, &format, &row); n++) {
		struct debug_offsets offsets;

		fixture_table(format, row, bytes);
		if (!is_free_threaded(row) && format->minor >= 0x030e) {
			put_u64(bytes, 16, 1);
			assert_int_equal(decode_debug_offsets(bytes, sizeof(bytes), &offsets), -EINVAL);
			seen++;
		} else if (is_free_threaded(row)) {
			put_u64(bytes, 16, 0);
			assert_int_equal(decode_debug_offsets(bytes, sizeof(bytes), &offsets), 0);
			assert_int_equal(offsets.layout.code_tlbc, 0);
			seen++;
		}
	}
	assert_true(seen >= 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_known_table_is_decoded),
		cmocka_unit_test(test_each_value_corrupted_in_turn),
		cmocka_unit_test(test_offsets_past_their_struct_or_over_another),
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_the_flag_must_fit_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
