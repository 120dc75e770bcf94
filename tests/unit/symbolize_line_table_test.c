/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "symbolize/line_table.h"

/* First byte of an entry: form and code units. */
#define ENTRY(form, units) (u8)(0x80 | (form) << 3 | ((units)-1))

static s32 line_at(const u8 *table, size_t sz, s32 off)
{
	s32 line = -1;

	assert_int_equal(line_table_decode(LINE_TABLE_LOCATIONS, table, sz, 100, off, &line), 0);
	return line;
}

static void test_every_form(void **state)
{
	static const u8 table[] = {
		ENTRY(0, 1),  0x00,		   /* 0: same line */
		ENTRY(11, 2), 0x00, 0x00,	   /* 2, 4: +1 */
		ENTRY(13, 8), 0x05,		   /* 6 to 20: -2 */
		ENTRY(14, 1), 0x42, 0x01, 0, 0, 0, /* 22: +33 */
		ENTRY(15, 3),			   /* 24 to 28: none */
		ENTRY(12, 1), 0x7f, 0x7f,	   /* 30: +2 */
		ENTRY(9, 1),  0x00,		   /* 32: same */
	};
	static const s32 lines[] = {100, 101, 101, 99, 99, 99, 99, 99, 99, 99, 99, 132, 0, 0, 0, 134, 134};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		assert_int_equal(line_at(table, sizeof(table), (s32)i * 2), lines[i]);
		/* The second half of a unit is the same instruction. */
		assert_int_equal(line_at(table, sizeof(table), (s32)i * 2 + 1), lines[i]);
	}
}

static void test_before_the_first_instruction(void **state)
{
	s32 line = -1;

	assert_int_equal(line_at(NULL, 0, -2), 100);
	assert_int_equal(line_table_decode(LINE_TABLE_LOCATIONS, NULL, 0, -5, -2, &line), 0);
	assert_int_equal(line, 0);
}

static void test_past_the_end(void **state)
{
	static const u8 table[] = {ENTRY(0, 2), 0x00};
	s32 line = -1;

	assert_int_equal(line_table_decode(LINE_TABLE_LOCATIONS, table, sizeof(table), 1, 4, &line), -ENOENT);
	assert_int_equal(line_table_decode(LINE_TABLE_LOCATIONS, table, sizeof(table), 1, INT32_MAX, &line),
			 -ENOENT);
	assert_int_equal(line_table_decode(LINE_TABLE_LOCATIONS, NULL, 0, 1, 0, &line), -ENOENT);
	assert_int_equal(line, -1);
}

static void assert_invalid(const u8 *table, size_t sz)
{
	s32 line = -1;

	assert_int_equal(line_table_decode(LINE_TABLE_LOCATIONS, table, sz, 1, 100, &line), -EINVAL);
	assert_int_equal(line, -1);
}

static void test_broken_tables(void **state)
{
	static const u8 no_start[] = {0x00};
	static const u8 cut_short_form[] = {ENTRY(0, 1)};
	static const u8 cut_varint[] = {ENTRY(13, 1), 0x7f};
	static const u8 long_varint[] = {ENTRY(13, 1), 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x01};
	static const u8 big_varint[] = {ENTRY(13, 1), 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x3f};
	static const u8 start_inside[] = {ENTRY(14, 1), 0x00, ENTRY(0, 1), 0x00, 0x00};
	/* Each adds 2^30: the sum leaves 32 bits. */
	static const u8 overflow[] = {ENTRY(13, 1), 0x40, 0x40, 0x40, 0x40, 0x40, 0x02,
				      ENTRY(13, 1), 0x40, 0x40, 0x40, 0x40, 0x40, 0x02};

	assert_invalid(no_start, sizeof(no_start));
	assert_invalid(cut_short_form, sizeof(cut_short_form));
	assert_invalid(cut_varint, sizeof(cut_varint));
	assert_invalid(long_varint, sizeof(long_varint));
	assert_invalid(big_varint, sizeof(big_varint));
	assert_invalid(start_inside, sizeof(start_inside));
	assert_invalid(overflow, sizeof(overflow));
}

static void test_negative_line_is_none(void **state)
{
	static const u8 table[] = {ENTRY(13, 1), 0x4b, 0x08}; /* -261 */

	assert_int_equal(line_at(table, sizeof(table), 0), 0);
}

/* Pairs of bytes: in co_lnotab the lines count behind the code, in 3.10's table for it. */
static void test_pairs(void **state)
{
	static const u8 lnotab[] = {0, 1, 4, 2, 254, 0, 2, 0x80, 2, 100}; /* 101; 4: 103; 260: -25; 262: 75 */
	static const u8 ranges[] = {4,	  0,   2, 3, 2,
				    0x80, 254, 0, 2, 0x81}; /* 100; 4: 103; 6: none; 8: 103; 262: -24 */
	static const struct {
		s32 off, lnotab, ranges;
	} want[] = {{-2, 100, 100}, {0, 101, 100},   {2, 101, 100},   {4, 103, 103}, {6, 103, 0},
		    {8, 103, 103},  {256, 103, 103}, {258, 103, 103}, {260, 0, 103}, {262, 75, 0}};
	s32 line;

	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		assert_int_equal(
			line_table_decode(LINE_TABLE_LNOTAB, lnotab, sizeof(lnotab), 100, want[i].off, &line),
			0);
		assert_int_equal(line, want[i].lnotab);
		assert_int_equal(
			line_table_decode(LINE_TABLE_RANGES, ranges, sizeof(ranges), 100, want[i].off, &line),
			0);
		assert_int_equal(line, want[i].ranges);
	}
	/* The last line of co_lnotab has no end; half a pair is not looked at. */
	assert_int_equal(line_table_decode(LINE_TABLE_LNOTAB, lnotab, 3, 100, INT32_MAX, &line), 0);
	assert_int_equal(line, 101);
	assert_int_equal(line_table_decode(LINE_TABLE_RANGES, ranges, sizeof(ranges), 100, 264, &line),
			 -ENOENT);
	assert_int_equal(line_table_decode(LINE_TABLE_RANGES, ranges, 1, 100, 0, &line), -ENOENT);
	assert_int_equal(line_table_decode(LINE_TABLE_LNOTAB, lnotab, 2, INT32_MAX, 0, &line), -EINVAL);
	assert_int_equal(line_table_decode(LINE_TABLE_RANGES, ranges + 2, 2, INT32_MAX, 0, &line), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_form),
		cmocka_unit_test(test_before_the_first_instruction),
		cmocka_unit_test(test_past_the_end),
		cmocka_unit_test(test_broken_tables),
		cmocka_unit_test(test_negative_line_is_none),
		cmocka_unit_test(test_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
