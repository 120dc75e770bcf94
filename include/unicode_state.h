/* SPDX-License-Identifier: Apache-2.0 */
/* PyASCIIObject.state as one 32-bit word (at py_layout.unicode_state), for both sides.
 *
 * CPython 3.6 to 3.15 (Include/cpython/unicodeobject.h): interned bits 0-1, kind bits 2-4 (its value is the
 * bytes of one character; 0 is the wchar_t form up to 3.11, which no code object's name has), compact bit 5,
 * ascii bit 6. Free-threaded builds from 3.14 on hold interned in a byte of its own, and the rest from bit 8
 * on: unicode_state() makes the former of both. scripts/generate-layouts has this from the headers.
 */
#ifndef PANOPY_UNICODE_STATE_H
#define PANOPY_UNICODE_STATE_H

#include "py_layout.h"
#include "shared_types.h"

static inline u32 unicode_state(u32 word, u32 traits)
{
	return traits & PY_TRAIT_INTERNED_BYTE ? word >> 6 : word;
}

/* Bytes of one character: 1, 2 or 4; 0 when the word makes no sense. */
static inline u32 unicode_char_sz(u32 state)
{
	u32 kind = (state >> 2) & 7;

	return kind == 1 || kind == 2 || kind == 4 ? kind : 0;
}

/* The characters follow the object itself. Code objects hold no others: only instances of
 * subclasses of str (and 3.11's legacy strings) keep them elsewhere. */
static inline u32 unicode_is_compact(u32 state)
{
	return (state >> 5) & 1;
}

/* The characters begin at py_layout.unicode_ascii_sz; else at unicode_compact_sz. */
static inline u32 unicode_is_ascii(u32 state)
{
	return (state >> 6) & 1;
}

#endif
