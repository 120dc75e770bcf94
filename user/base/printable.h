/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of unknown origin as UTF-8 text that is safe on a terminal and in JSON. */
#ifndef PANOPY_BASE_PRINTABLE_H
#define PANOPY_BASE_PRINTABLE_H

#include <stddef.h>

/* Bytes of the character at `text`, of which `sz` bytes (at least 1) are there; 0 when it is no well-formed
 * UTF-8 or must not be shown as it is: control characters (C0, DEL, C1), what separates lines or lays text
 * out from right to left without being seen (U+061C, U+200B to U+200F, U+2028 to U+202E, U+2060 to U+206F,
 * U+FEFF), and the backslash, which begins an escape. */
size_t printable_character(const char *text, size_t sz);
/* Copies `sz` bytes to `buf`; bytes that belong to no printable_character() become \xHH. What does not fit is cut between characters. Always terminated; returns `buf`. `buf_sz`
 * is at least 1. */
const char *printable_copy(char *buf, size_t buf_sz, const char *bytes, size_t sz);
/* The same for a NUL-terminated string; NULL gives "". */
const char *printable_text(char *buf, size_t buf_sz, const char *text);
/* Characters of valid UTF-8: what a terminal shows in as many columns, but for wide scripts. */
size_t printable_columns(const char *text);
/* Bytes of the first `columns` characters. */
size_t printable_prefix(const char *text, size_t columns);

#endif
