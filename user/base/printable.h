/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of unknown origin as UTF-8 text that is safe on a terminal and in JSON. */
#ifndef PANOPY_BASE_PRINTABLE_H
#define PANOPY_BASE_PRINTABLE_H

#include <stddef.h>

/* Copies `sz` bytes to `buf`; control characters (C0, DEL, C1), backslashes and bytes that are no UTF-8
 * become \xHH. What does not fit is cut between characters. Always terminated; returns `buf`. `buf_sz`
 * is at least 1. */
const char *printable_copy(char *buf, size_t buf_sz, const char *bytes, size_t sz);
/* The same for a NUL-terminated string; NULL gives "". */
const char *printable_text(char *buf, size_t buf_sz, const char *text);
/* Characters of valid UTF-8: what a terminal shows in as many columns, but for wide scripts. */
size_t printable_columns(const char *text);
/* Bytes of the first `columns` characters. */
size_t printable_prefix(const char *text, size_t columns);

#endif
