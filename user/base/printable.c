/* SPDX-License-Identifier: Apache-2.0 */
#include "base/printable.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Bytes of the well-formed character at `p`, 0 when there is none (Unicode 15, table 3-7) or it is a
 * control character or a backslash. */
static size_t character_size(const unsigned char *p, size_t sz)
{
	unsigned char low = 0x80;
	unsigned char high = 0xbf;
	size_t need;

	if (p[0] < 0x80)
		return p[0] >= 0x20 && p[0] != 0x7f && p[0] != '\\';
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	need = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (p[0] == 0xe0 || p[0] == 0xc2) /* c2 80 to c2 9f are the C1 controls */
		low = 0xa0;
	else if (p[0] == 0xed)
		high = 0x9f;
	else if (p[0] == 0xf0)
		low = 0x90;
	else if (p[0] == 0xf4)
		high = 0x8f;
	if (sz < need || p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < need; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return need;
}

/* Characters that are not seen but change what is: a name must not look like another, nor run over the
 * rest of its line. All of them take three bytes but U+061C. */
static bool is_invisible(const unsigned char *p, size_t sz)
{
	unsigned int code;

	if (sz == 2)
		return p[0] == 0xd8 && p[1] == 0x9c;
	if (sz != 3)
		return false;
	code = (p[0] & 15u) << 12 | (p[1] & 63u) << 6 | (p[2] & 63u);
	return (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2060 && code <= 0x206f) || code == 0xfeff;
}

size_t printable_character(const char *text, size_t sz)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t character_sz = character_size(p, sz);

	return is_invisible(p, character_sz) ? 0 : character_sz;
}

const char *printable_copy(char *buf, size_t buf_sz, const char *bytes, size_t sz)
{
	const unsigned char *p = (const unsigned char *)bytes;
	size_t out = 0;

	for (size_t i = 0; i < sz;) {
		size_t step = printable_character(bytes + i, sz - i);
		char piece[8];
		size_t piece_sz = step;

		if (step)
			memcpy(piece, p + i, step);
		else
			piece_sz = (size_t)snprintf(piece, sizeof(piece), "\\x%02x", p[i]);
		if (out + piece_sz >= buf_sz)
			break;
		memcpy(buf + out, piece, piece_sz);
		out += piece_sz;
		i += step ? step : 1;
	}
	buf[out] = '\0';
	return buf;
}

const char *printable_text(char *buf, size_t buf_sz, const char *text)
{
	return printable_copy(buf, buf_sz, text ? text : "", text ? strlen(text) : 0);
}

static bool begins_character(char byte)
{
	return ((unsigned char)byte & 0xc0) != 0x80;
}

size_t printable_columns(const char *text)
{
	size_t columns = 0;

	for (; *text; text++)
		columns += begins_character(*text);
	return columns;
}

size_t printable_prefix(const char *text, size_t columns)
{
	size_t sz = 0;

	for (; text[sz]; sz++) {
		if (!begins_character(text[sz]))
			continue;
		if (columns == 0)
			break;
		columns--;
	}
	return sz;
}
