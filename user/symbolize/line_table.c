/* SPDX-License-Identifier: Apache-2.0 */
/* Locations: each entry covers 1 to 8 code units of 2 bytes. Its first byte has the top bit set, a form in bits
 * 3-6 and the number of units less one in bits 0-2; no other byte has the top bit set. The line is the
 * running sum of the entries' differences, starting at the first line. Numbers are in groups of six
 * bits, least significant first, bit 6 says that another group follows.
 *
 * The older two are pairs of bytes: how many bytes of code, unsigned, and how many lines, signed. In a pair of
 * co_lnotab the lines count behind those bytes, in one of 3.10's ranges for them, and -128 says that they belong
 * to no line.
 */
#include "symbolize/line_table.h"

#include <errno.h>
#include <stdbool.h>

enum {
	FORM_ONE_LINE0 = 10, /* forms 0-9: same line, one more byte for the columns */
	FORM_NO_COLUMNS = 13,
	FORM_LONG = 14,
	FORM_NONE = 15,
	UNIT_SZ = 2,
	NO_LINE = -128,	       /* in ranges */
	VARINT_SHIFT_MAX = 30, /* the sixth group: 36 bits hold any 32-bit number */
};

struct cursor {
	const u8 *next;
	const u8 *end;
	bool failed;
};

static u32 next_byte(struct cursor *cursor)
{
	if (cursor->next == cursor->end || *cursor->next & 0x80) {
		cursor->failed = true;
		return 0;
	}
	return *cursor->next++;
}

static u32 next_varint(struct cursor *cursor)
{
	u64 value = 0;

	for (unsigned shift = 0; shift <= VARINT_SHIFT_MAX; shift += 6) {
		u32 byte = next_byte(cursor);

		value |= (u64)(byte & 63) << shift;
		if (!(byte & 64)) {
			cursor->failed |= value > UINT32_MAX;
			return (u32)value;
		}
	}
	cursor->failed = true;
	return 0;
}

/* The sign is the lowest bit. */
static s64 next_signed_varint(struct cursor *cursor)
{
	u32 value = next_varint(cursor);

	return value & 1 ? -(s64)(value >> 1) : (s64)(value >> 1);
}

/* Reads the rest of one entry; returns its line difference. */
static s64 next_difference(struct cursor *cursor, unsigned form)
{
	s64 difference;

	switch (form) {
	case FORM_NONE:
		return 0;
	case FORM_LONG:
		difference = next_signed_varint(cursor);
		for (int i = 0; i < 3; i++) /* end line, column, end column */
			next_varint(cursor);
		return difference;
	case FORM_NO_COLUMNS:
		return next_signed_varint(cursor);
	case FORM_ONE_LINE0:
	case FORM_ONE_LINE0 + 1:
	case FORM_ONE_LINE0 + 2:
		next_byte(cursor);
		next_byte(cursor);
		return form - FORM_ONE_LINE0;
	default:
		next_byte(cursor);
		return 0;
	}
}

enum line_table_form line_table_form(const struct py_layout *layout)
{
	if (layout->traits & PY_TRAIT_LNOTAB)
		return LINE_TABLE_LNOTAB;
	return layout->traits & PY_TRAIT_LINE_RANGES ? LINE_TABLE_RANGES : LINE_TABLE_LOCATIONS;
}

static bool line_is_sane(s64 line)
{
	return line <= INT32_MAX && line >= INT32_MIN;
}

static s32 shown_line(s64 line)
{
	return line < 0 ? 0 : (s32)line;
}

static int decode_lnotab(const u8 *table, size_t sz, s64 line, s32 instr_off, s32 *ret_line)
{
	s64 covered = 0;

	for (size_t i = 0; i + 1 < sz; i += 2) {
		covered += table[i];
		if (covered > instr_off)
			break;
		line += (s8)table[i + 1];
		if (!line_is_sane(line))
			return -EINVAL;
	}
	*ret_line = shown_line(line);
	return 0;
}

static int decode_ranges(const u8 *table, size_t sz, s64 line, s32 instr_off, s32 *ret_line)
{
	s64 covered = 0;

	for (size_t i = 0; i + 1 < sz; i += 2) {
		s8 difference = (s8)table[i + 1];

		line += difference == NO_LINE ? 0 : difference;
		if (!line_is_sane(line))
			return -EINVAL;
		covered += table[i];
		if (instr_off < covered) {
			*ret_line = difference == NO_LINE ? 0 : shown_line(line);
			return 0;
		}
	}
	return -ENOENT;
}

static int decode_locations(const u8 *table, size_t sz, s32 firstlineno, s32 instr_off, s32 *ret_line)
{
	struct cursor cursor = {.next = table, .end = table + sz};
	s64 line = firstlineno;
	s64 covered = 0; /* bytes of code */

	while (cursor.next < cursor.end) {
		u8 first = *cursor.next++;
		unsigned form = first >> 3 & 15;

		if (!(first & 0x80))
			return -EINVAL;
		line += next_difference(&cursor, form);
		if (cursor.failed || !line_is_sane(line))
			return -EINVAL;
		covered += (s64)((first & 7) + 1) * UNIT_SZ;
		if (instr_off < covered) {
			*ret_line = form == FORM_NONE ? 0 : shown_line(line);
			return 0;
		}
	}
	return -ENOENT;
}

int line_table_decode(enum line_table_form form, const u8 *table, size_t sz, s32 firstlineno, s32 instr_off,
		      s32 *ret_line)
{
	if (instr_off < 0) {
		*ret_line = firstlineno > 0 ? firstlineno : 0;
		return 0;
	}
	switch (form) {
	case LINE_TABLE_LNOTAB:
		return decode_lnotab(table, sz, firstlineno, instr_off, ret_line);
	case LINE_TABLE_RANGES:
		return decode_ranges(table, sz, firstlineno, instr_off, ret_line);
	default:
		return decode_locations(table, sz, firstlineno, instr_off, ret_line);
	}
}
