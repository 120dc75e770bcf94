/* SPDX-License-Identifier: Apache-2.0 */
/* Decoder of a code object's line table, in the three forms that CPython 3.6 to 3.15 write. Pure: bytes and numbers
 * in, a line out.
 */
#ifndef PANOPY_SYMBOLIZE_LINE_TABLE_H
#define PANOPY_SYMBOLIZE_LINE_TABLE_H

#include <stddef.h>

#include "py_layout.h"

enum line_table_form {
	LINE_TABLE_LOCATIONS, /* 3.11+: PEP 626 and PEP 657 (Objects/locations.md, InternalDocs/code_objects.md) */
	LINE_TABLE_RANGES, /* 3.10: PEP 626 (Objects/lnotab_notes.txt) */
	LINE_TABLE_LNOTAB, /* 3.6 to 3.9: co_lnotab with signed steps (Objects/lnotab_notes.txt) */
};

enum line_table_form line_table_form(const struct py_layout *layout);

/* The line of the instruction at `instr_off` bytes from the first one. A negative offset (no
 * instruction has run yet, up to 3.12) gives the first line. 0 and the line; *ret_line is 0 where the
 * table says that the instruction belongs to no line. -ENOENT: the table ends before the offset; co_lnotab says
 * nothing of the code's end, so its last line has none. -EINVAL: the bytes are no such table. */
int line_table_decode(enum line_table_form form, const u8 *table, size_t sz, s32 firstlineno, s32 instr_off,
		      s32 *ret_line);

#endif
