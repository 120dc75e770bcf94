/* SPDX-License-Identifier: Apache-2.0 */
#include "export/escape.h"

#include "base/printable.h"

static int add_hex(struct byte_buf *buf, unsigned char byte)
{
	static const char digits[] = "0123456789abcdef";
	char escaped[] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};

	return byte_buf_add(buf, escaped, sizeof(escaped));
}

int escape_add(struct byte_buf *buf, const char *text, size_t sz)
{
	int err = 0;

	for (size_t i = 0, length; i < sz && !err; i += length) {
		length = printable_character(text + i, sz - i);
		if (length && text[i] != ';') {
			err = byte_buf_add(buf, text + i, length);
			continue;
		}
		length = 1;
		err = add_hex(buf, (unsigned char)text[i]);
	}
	return err;
}
