/* SPDX-License-Identifier: Apache-2.0 */
/* escape and sample_text. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "export/escape.h"
#include "export/sample_text.h"

static void assert_escaped_sz(const char *text, size_t sz, const char *want)
{
	struct byte_buf buf;

	byte_buf_init(&buf, 1000);
	assert_int_equal(escape_add(&buf, text, sz), 0);
	assert_int_equal(byte_buf_add_char(&buf, '\0'), 0);
	assert_string_equal(buf.data, want);
	byte_buf_release(&buf);
}

static void assert_escaped(const char *text, const char *want)
{
	assert_escaped_sz(text, strlen(text), want);
}

static void test_plain(void **state)
{
	assert_escaped("", "");
	assert_escaped("C.f.<locals>.<lambda> (a b.py:1) ~", "C.f.<locals>.<lambda> (a b.py:1) ~");
	assert_escaped("caf\xc3\xa9 \xe4\xb8\xad \xf0\x9f\x90\x8d \xc2\xa0",
		       "caf\xc3\xa9 \xe4\xb8\xad \xf0\x9f\x90\x8d \xc2\xa0");
}

static void test_special_bytes(void **state)
{
	assert_escaped("a;b\\c\nd\te\x1b[0m\x7f", "a\\x3bb\\x5cc\\x0ad\\x09e\\x1b[0m\\x7f");
	assert_escaped_sz("a\0b", 3, "a\\x00b");
	/* C1 controls, both bytes. */
	assert_escaped("\xc2\x80\xc2\x9b\xc2\x9f", "\\xc2\\x80\\xc2\\x9b\\xc2\\x9f");
}

/* From right to left, without being seen: the rest of the line would read backwards. */
static void test_invisible_characters(void **state)
{
	assert_escaped("a\xe2\x80\xae;z", "a\\xe2\\x80\\xae\\x3bz");
	assert_escaped("\xe2\x81\xa6x\xe2\x81\xa9", "\\xe2\\x81\\xa6x\\xe2\\x81\\xa9");
	assert_escaped("\xe2\x80\xa8\xe2\x80\xa9\xc2\x85", "\\xe2\\x80\\xa8\\xe2\\x80\\xa9\\xc2\\x85");
	assert_escaped("\xe2\x80\x8b", "\\xe2\\x80\\x8b");
	assert_escaped("\xe2\x80\xa6", "\xe2\x80\xa6"); /* an ellipsis */
}

static void test_invalid_text(void **state)
{
	assert_escaped("caf\xe9", "caf\\xe9");
	assert_escaped("\xe9\xa0", "\\xe9\\xa0");		    /* cut */
	assert_escaped("\xe4\xb8z", "\\xe4\\xb8z");		    /* broken off */
	assert_escaped("\xc0\xaf", "\\xc0\\xaf");		    /* longer than need be */
	assert_escaped("\xe0\x9f\xbf", "\\xe0\\x9f\\xbf");	    /* the same */
	assert_escaped("\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf"); /* the same */
	assert_escaped("\xed\xa0\x80", "\\xed\\xa0\\x80");	    /* surrogate */
	assert_escaped("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* above U+10FFFF */
	assert_escaped("\xf5\x80\x80\x80\x80\xff", "\\xf5\\x80\\x80\\x80\\x80\\xff");
	assert_escaped("\xed\x9f\xbf\xef\xbf\xbf", "\xed\x9f\xbf\xef\xbf\xbf");
}

static void test_full_buffer(void **state)
{
	struct byte_buf buf;

	byte_buf_init(&buf, 6);
	assert_int_equal(escape_add(&buf, "abc;", 4), -ENOSPC);
	byte_buf_release(&buf);
}

/* Every value has words, and no two the same. */
static void test_words(void **state)
{
	for (int i = 0; i < SAMPLE_REASON_COUNT; i++) {
		assert_string_not_equal(sample_reason_name(i), "unknown");
		for (int j = 0; j < i; j++) {
			assert_string_not_equal(sample_reason_name(i), sample_reason_name(j));
			assert_string_not_equal(sample_reason_text(i), sample_reason_text(j));
		}
	}
	for (int i = 0; i < SAMPLE_STATUS_COUNT; i++) {
		assert_string_not_equal(sample_status_name(i), "unknown");
		for (int j = 0; j < i; j++)
			assert_string_not_equal(sample_status_text(i), sample_status_text(j));
	}
	assert_string_equal(sample_reason_name(SAMPLE_REASON_COUNT), "unknown");
	assert_string_equal(sample_status_text(200), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_special_bytes),
		cmocka_unit_test(test_invisible_characters),
		cmocka_unit_test(test_invalid_text),
		cmocka_unit_test(test_full_buffer),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
