/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "discover/command_text.h"

static void expect(const char *cmdline, size_t sz, const char *expected)
{
	char text[COMMAND_TEXT_SZ];

	command_text_format(cmdline, sz, text);
	assert_string_equal(text, expected);
}

#define EXPECT(literal, expected) expect(literal, sizeof(literal) - 1, expected)

static void test_arguments(void **state)
{
	EXPECT("python3\0-m\0http.server\0", "python3 -m http.server");
	EXPECT("title\0\0\0\0", "title");
	EXPECT("a\0\0b\0", "a  b");
	EXPECT("unterminated", "unterminated");
	EXPECT("", "");
}

static void test_what_is_escaped(void **state)
{
	EXPECT("a\nb\0\x1b[31m\0", "a\\x0ab \\x1b[31m");
	EXPECT("back\\slash\x7f\0", "back\\x5cslash\\x7f");
	EXPECT("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\x8d\0", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\x8d");
	/* Not UTF-8: lone continuation, overlong, surrogate, too large, cut off, C1 control. */
	EXPECT("\x80\0", "\\x80");
	EXPECT("\xc0\xaf\0", "\\xc0\\xaf");
	EXPECT("\xed\xa0\x80\0", "\\xed\\xa0\\x80");
	EXPECT("\xf4\x90\x80\x80\0", "\\xf4\\x90\\x80\\x80");
	EXPECT("x\xe2\x82", "x\\xe2\\x82");
	EXPECT("\xc2\x9b\0", "\\xc2\\x9b");
	/* From right to left, without being seen. */
	EXPECT("z\xe2\x80\xaez\0", "z\\xe2\\x80\\xaez");
}

static void test_long_commands_are_cut(void **state)
{
	char cmdline[COMMAND_TEXT_INPUT_SZ], text[COMMAND_TEXT_SZ];

	memset(cmdline, 'a', sizeof(cmdline));
	command_text_format(cmdline, sizeof(cmdline), text);
	assert_int_equal(strlen(text), COMMAND_TEXT_SZ - 1);
	assert_string_equal(text + COMMAND_TEXT_SZ - 6, "aa...");
	memset(cmdline, 0x01, sizeof(cmdline));
	command_text_format(cmdline, sizeof(cmdline), text);
	/* An escape is kept whole or left out. */
	assert_true(strlen(text) < COMMAND_TEXT_SZ);
	assert_string_equal(text + strlen(text) - 7, "\\x01...");
	memset(cmdline, 'a', COMMAND_TEXT_SZ - 1);
	command_text_format(cmdline, COMMAND_TEXT_SZ - 1, text);
	assert_int_equal(text[COMMAND_TEXT_SZ - 2], 'a');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_what_is_escaped),
		cmocka_unit_test(test_long_commands_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
