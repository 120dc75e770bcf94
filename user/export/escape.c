/* SPDX-License-Identifier: Apache-2.0 */
#include "export/escape.h"

/* Length of the valid UTF-8 sequence at the start of `text`, 0 if there is none (RFC 3629: shortest
 * forms only, no surrogates, nothing above U+10FFFF). */
static size_t utf8_length(const unsigned char *text, size_t sz)
{
	unsigned char first = text[0], low = 0x80, high = 0xbf;
	size_t length;

	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first <= 0xdf)
		length = 2;
	else if (first >= 0xe0 && first <= 0xef)
		length = 3;
	else if (first >= 0xf0 && first <= 0xf4)
		length = 4;
	else
		return 0;
	if (length > sz)
		return 0;
	if (first == 0xe0)
		low = 0xa0;
	else if (first == 0xed)
		high = 0x9f;
	else if (first == 0xf0)
		low = 0x90;
	else if (first == 0xf4)
		high = 0x8f;
	if (text[1] < low || text[1] > high)
		return 0;
	for (size_t i = 2; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	}
	return length;
}

static int is_plain(const unsigned char *text, size_t length)
{
	if (length == 1)
		return text[0] >= 0x20 && text[0] != 0x7f && text[0] != ';' && text[0] != '\\';
	/* C1 controls, U+0080 to U+009F: some terminals obey them. */
	return length > 2 || text[0] != 0xc2 || text[1] >= 0xa0;
}

static int add_hex(struct byte_buf *buf, const unsigned char *bytes, size_t cnt)
{
	static const char digits[] = "0123456789abcdef";
	int err = 0;

	for (size_t i = 0; i < cnt && !err; i++) {
		char escaped[] = {'\\', 'x', digits[bytes[i] >> 4], digits[bytes[i] & 15]};

		err = byte_buf_add(buf, escaped, sizeof(escaped));
	}
	return err;
}

int escape_add(struct byte_buf *buf, const char *text, size_t sz)
{
	const unsigned char *bytes = (const unsigned char *)text;
	int err = 0;

	for (size_t i = 0, length; i < sz && !err; i += length) {
		length = utf8_length(bytes + i, sz - i);
		if (length && is_plain(bytes + i, length)) {
			err = byte_buf_add(buf, bytes + i, length);
			continue;
		}
		if (!length)
			length = 1;
		err = add_hex(buf, bytes + i, length);
	}
	return err;
}
