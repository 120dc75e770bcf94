/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/py_string.h"

#include <errno.h>
#include <string.h>

static u32 char_at(const u8 *chars, size_t idx, unsigned char_sz)
{
	u16 wide;
	u32 widest;

	if (char_sz == 1)
		return chars[idx];
	if (char_sz == 2) {
		memcpy(&wide, chars + idx * 2, sizeof(wide));
		return wide;
	}
	memcpy(&widest, chars + idx * 4, sizeof(widest));
	return widest;
}

/* Writes 1 to 4 bytes, returns how many. */
static size_t encode(char *out, u32 c)
{
	if (c >= 0xdc80 && c <= 0xdcff) {
		out[0] = (char)(c - 0xdc00);
		return 1;
	}
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 63));
		out[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 63));
	out[2] = (char)(0x80 | (c >> 6 & 63));
	out[3] = (char)(0x80 | (c & 63));
	return 4;
}

int py_string_decode(struct byte_buf *text, const u8 *chars, size_t sz, unsigned char_sz)
{
	size_t cnt, added = 0;
	int err;

	if (char_sz != 1 && char_sz != 2 && char_sz != 4)
		return -EINVAL;
	cnt = sz / char_sz;
	/* The most that a character can become: 2 bytes from 1, 3 from 2, 4 from 4. */
	err = byte_buf_reserve(text, cnt * (char_sz == 4 ? 4 : char_sz + 1));
	if (err)
		return err;
	for (size_t i = 0; i < cnt; i++) {
		u32 c = char_at(chars, i, char_sz);

		if (c > 0x10ffff)
			return -EINVAL;
		added += encode(text->data + text->sz + added, c);
	}
	text->sz += added;
	return 0;
}
