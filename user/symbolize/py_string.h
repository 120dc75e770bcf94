/* SPDX-License-Identifier: Apache-2.0 */
/* The characters of a Python string (PEP 393: 1, 2 or 4 bytes each) as bytes of text.
 *
 * The result is UTF-8, except for lone surrogates, which UTF-8 cannot hold and Python strings can:
 * U+DC80 to U+DCFF, Python's stand-in for a byte of a file name that is not UTF-8 (PEP 383), becomes
 * that byte again; any other surrogate its three-byte pattern (ED A0 80 to ED BF BF). Nothing is lost:
 * exporters see invalid UTF-8 there and escape it byte by byte.
 */
#ifndef PANOPY_SYMBOLIZE_PY_STRING_H
#define PANOPY_SYMBOLIZE_PY_STRING_H

#include "base/byte_buf.h"
#include "shared_types.h"

/* Adds the text of `sz` bytes of characters; a character cut at the end is left out. -EINVAL:
 * char_sz is not 1, 2 or 4, or a character is above U+10FFFF (no Python string: torn memory).
 * -ENOSPC, -ENOMEM as byte_buf. On failure nothing is added. */
int py_string_decode(struct byte_buf *text, const u8 *chars, size_t sz, unsigned char_sz);

#endif
