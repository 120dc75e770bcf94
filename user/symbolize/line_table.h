/* SPDX-License-Identifier: Apache-2.0 */
/* Decoder of co_linetable as CPython 3.11 to 3.15 write it (PEP 626 and PEP 657; Objects/
 * locations.md and InternalDocs/code_objects.md there). Pure: bytes and numbers in, a line out.
 */
#ifndef PANOPY_SYMBOLIZE_LINE_TABLE_H
#define PANOPY_SYMBOLIZE_LINE_TABLE_H

#include <stddef.h>

#include "shared_types.h"

/* The line of the instruction at `instr_off` bytes from the first one. A negative offset (no
 * instruction has run yet, up to 3.12) gives the first line. 0 and the line; *ret_line is 0 where the
 * table says that the instruction belongs to no line. -ENOENT: the table ends before the offset.
 * -EINVAL: the bytes are no location table. */
int line_table_decode(const u8 *table, size_t sz, s32 firstlineno, s32 instr_off, s32 *ret_line);

#endif
