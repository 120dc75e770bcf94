/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbolize/py_string.h"

static void assert_decodes(const void *chars, size_t sz, unsigned char_sz, const char *text)
{
	struct byte_buf buf;

	byte_buf_init(&buf, 1000);
	assert_int_equal(byte_buf_add_text(&buf, "<"), 0);
	assert_int_equal(py_string_decode(&buf, chars, sz, char_sz), 0);
	assert_int_equal(buf.sz, strlen(text) + 1);
	assert_memory_equal(buf.data + 1, text, strlen(text));
	byte_buf_release(&buf);
}

static void test_one_byte(void **state)
{
	assert_decodes("", 0, 1, "");
	assert_decodes(NULL, 0, 1, "");
	assert_decodes("plain", 5, 1, "plain");
	assert_decodes("caf\xe9\x80\xff", 6, 1, "caf\xc3\xa9\xc2\x80\xc3\xbf");
}

static void test_two_bytes(void **state)
{
	static const u16 chars[] = {'a', 0x7f, 0x80, 0x7ff, 0x800, 0x4e2d, 0xffff};

	assert_decodes(chars, sizeof(chars), 2, "a\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xe4\xb8\xad\xef\xbf\xbf");
	/* A character cut in half is left out. */
	assert_decodes(chars, 3, 2, "a");
}

static void test_four_bytes(void **state)
{
	static const u32 chars[] = {'a', 0x1f40d, 0x10ffff, 0x10000};

	assert_decodes(chars, sizeof(chars), 4, "a\xf0\x9f\x90\x8d\xf4\x8f\xbf\xbf\xf0\x90\x80\x80");
}

static void test_lone_surrogates(void **state)
{
	static const u16 escaped[] = {'c', 0xdce9, 0xdc80, 0xdcff};
	static const u16 others[] = {0xd800, 0xdbff, 0xdc00, 0xdc7f, 0xdd00, 0xdfff};

	assert_decodes(escaped, sizeof(escaped), 2, "c\xe9\x80\xff");
	assert_decodes(others, sizeof(others), 2,
		       "\xed\xa0\x80\xed\xaf\xbf\xed\xb0\x80\xed\xb1\xbf\xed\xb4\x80\xed\xbf\xbf");
}

static void test_no_python_string(void **state)
{
	static const u32 chars[] = {'a', 0x110000};
	struct byte_buf buf;

	byte_buf_init(&buf, 8);
	assert_int_equal(py_string_decode(&buf, (const u8 *)chars, sizeof(chars), 4), -EINVAL);
	assert_int_equal(py_string_decode(&buf, (const u8 *)"abc", 3, 0), -EINVAL);
	assert_int_equal(py_string_decode(&buf, (const u8 *)"abc", 3, 3), -EINVAL);
	assert_int_equal(py_string_decode(&buf, (const u8 *)"abcde", 5, 1), -ENOSPC);
	assert_int_equal(buf.sz, 0);
	byte_buf_release(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_byte),	 cmocka_unit_test(test_two_bytes),
		cmocka_unit_test(test_four_bytes),	 cmocka_unit_test(test_lone_surrogates),
		cmocka_unit_test(test_no_python_string),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
