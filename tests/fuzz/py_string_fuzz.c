/* SPDX-License-Identifier: Apache-2.0 */
/* Random characters: what is decoded must come back from the bytes (nothing lost), and what the
 * exporters make of it must be valid, one-line text.
 */
#include <stdio.h>
#include <string.h>

#include "export/escape.h"
#include "fuzz_random.h"
#include "symbolize/py_string.h"

/* Printable ASCII without ';', and valid UTF-8 by its lead and continuation bytes. */
static int is_one_line(const struct byte_buf *buf)
{
	size_t left = 0;

	for (size_t i = 0; i < buf->sz; i++) {
		u8 c = (u8)buf->data[i];

		if (left) {
			if ((c & 0xc0) != 0x80)
				return 0;
			left--;
		} else if (c >= 0xc2 && c <= 0xf4) {
			left = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
		} else if (c < 0x20 || c == ';' || c >= 0x7f) {
			return 0;
		}
	}
	return !left;
}

/* Bytes that a character must have become. */
static size_t expected_sz(u32 c)
{
	if (c < 0x80 || (c >= 0xdc80 && c <= 0xdcff))
		return 1;
	return c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
}

static int run_once(void)
{
	static const unsigned sizes[] = {1, 2, 4, 0, 3};
	unsigned char_sz = sizes[fuzz_random() % 5];
	size_t sz = fuzz_random() % 40, want = 0;
	u8 *chars = malloc(sz ? sz : 1);
	struct byte_buf text, escaped;
	int valid = char_sz == 1 || char_sz == 2 || char_sz == 4, failed;

	if (!chars)
		return 1;
	fuzz_fill(chars, sz);
	if (char_sz == 4 && fuzz_random() % 4) {
		for (size_t i = 0; i + 4 <= sz; i += 4)
			chars[i + 2] &= 0x0f, chars[i + 3] = 0;
	}
	for (size_t i = 0; valid && i < sz / char_sz; i++) {
		u32 c = 0;

		memcpy(&c, chars + i * char_sz, char_sz);
		valid = c <= 0x10ffff;
		want += expected_sz(c);
	}
	byte_buf_init(&text, 1000);
	byte_buf_init(&escaped, 4000);
	failed = (py_string_decode(&text, chars, sz, char_sz) == 0) != valid || (valid && text.sz != want) ||
		 (!valid && text.sz) || escape_add(&escaped, text.data, text.sz) || !is_one_line(&escaped);
	byte_buf_release(&text);
	byte_buf_release(&escaped);
	free(chars);
	return failed;
}

int main(int argc, char **argv)
{
	for (long i = fuzz_rounds(argc, argv, 200000); i > 0; i--) {
		if (run_once()) {
			fprintf(stderr, "round %ld from the end: wrong text\n", i);
			return 1;
		}
	}
	return 0;
}
