/* SPDX-License-Identifier: Apache-2.0 */
/* log, clock, printable, python_version: the small modules that make text. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/python_version.h"

static void test_durations(void **state)
{
	static const struct {
		u64 ns;
		const char *text;
	} CASES[] = {
		{0, "0 ns"},
		{999, "999 ns"},
		{1000, "1.00 us"},
		{12500, "12.5 us"},
		{999499, "999 us"},
		{999500, "1.00 ms"},
		{1250000000, "1.25 s"},
		{9994999999, "9.99 s"},
		{9996000000, "10.0 s"},
		{59400000000, "59.4 s"},
		{59600000000, "1 min 00 s"},
		{185000000000, "3 min 05 s"},
		{7800000000000, "2 h 10 min"},
	};
	char buf[CLOCK_DURATION_SZ];

	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++)
		assert_string_equal(clock_format_duration(buf, sizeof(buf), CASES[i].ns), CASES[i].text);
}

static void test_clocks_run(void **state)
{
	u64 before = clock_monotonic_ns();
	char buf[40];

	assert_true(clock_monotonic_ns() >= before);
	assert_true(clock_boottime_ns() >= before);
	assert_true(clock_real_ns() > 1700000000 * CLOCK_NS_PER_S);
	assert_string_equal(clock_format_utc(buf, sizeof(buf), 1700000000123456789),
			    "2023-11-14T22:13:20.123Z");
	assert_int_equal(strlen(clock_format_stamp(buf, sizeof(buf), clock_real_ns())), 15);
}

static void test_printable(void **state)
{
	static const struct {
		const char *in;
		const char *out;
	} CASES[] = {
		{"plain", "plain"},
		{"a\nb\x1b[2J\x7f", "a\\x0ab\\x1b[2J\\x7f"},
		{"back\\slash", "back\\x5cslash"},
		{"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
		{"\xe2\x82\xac \xf0\x9f\x90\x8d", "\xe2\x82\xac \xf0\x9f\x90\x8d"},
		{"\xff\xc0\xaf", "\\xff\\xc0\\xaf"},	      /* overlong */
		{"\xed\xa0\x80", "\\xed\\xa0\\x80"},	      /* surrogate */
		{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, /* past U+10FFFF */
		{"\xc2\x9b[m", "\\xc2\\x9b[m"},		      /* C1 control */
		{"cut\xe2\x82", "cut\\xe2\\x82"},
	};
	char buf[64];

	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++)
		assert_string_equal(printable_text(buf, sizeof(buf), CASES[i].in), CASES[i].out);
	assert_string_equal(printable_copy(buf, sizeof(buf), "a\0b", 3), "a\\x00b");
	assert_string_equal(printable_text(buf, sizeof(buf), NULL), "");
	/* Cut between characters. */
	assert_string_equal(printable_text(buf, 4, "ab\xe2\x82\xac"), "ab");
	assert_string_equal(printable_text(buf, 1, "ab"), "");
	assert_int_equal(printable_columns("gr\xc3\xbcn"), 4);
	assert_int_equal(printable_prefix("gr\xc3\xbcn", 3), 4);
	assert_int_equal(printable_prefix("ab", 9), 2);
}

/* U+061C; U+200B to U+200F; U+2028 to U+202E; U+2060 to U+206F; U+FEFF; and their neighbours. */
static void test_invisible_characters(void **state)
{
	static const struct {
		const char *text;
		size_t shown;
	} CASES[] = {
		{"\xd8\x9b", 2},     {"\xd8\x9c", 0},	  {"\xd8\x9d", 2},     {"\xe2\x80\x8a", 3},
		{"\xe2\x80\x8b", 0}, {"\xe2\x80\x8e", 0}, {"\xe2\x80\x8f", 0}, {"\xe2\x80\x90", 3},
		{"\xe2\x80\xa7", 3}, {"\xe2\x80\xa8", 0}, {"\xe2\x80\xa9", 0}, {"\xe2\x80\xaa", 0},
		{"\xe2\x80\xae", 0}, {"\xe2\x80\xaf", 3}, {"\xe2\x81\x9f", 3}, {"\xe2\x81\xa0", 0},
		{"\xe2\x81\xa6", 0}, {"\xe2\x81\xa9", 0}, {"\xe2\x81\xaf", 0}, {"\xe2\x81\xb0", 3},
		{"\xef\xbb\xbf", 0}, {"\xef\xbc\x80", 3}, {"\xc2\x85", 0},     {"\\", 0},
	};
	char buf[64];

	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++)
		assert_int_equal(printable_character(CASES[i].text, strlen(CASES[i].text)), CASES[i].shown);
	assert_string_equal(printable_text(buf, sizeof(buf), "z\xe2\x80\xaez"), "z\\xe2\\x80\\xaez");
}

static void test_python_versions(void **state)
{
	char buf[PYTHON_VERSION_SZ];

	assert_string_equal(python_version_format(buf, sizeof(buf), 0x030d01f0), "3.13.1");
	assert_string_equal(python_version_format(buf, sizeof(buf), 0x030f00a3), "3.15.0a3");
	assert_string_equal(python_version_format(buf, sizeof(buf), 0x030e00c2), "3.14.0rc2");
	assert_string_equal(python_version_format(buf, sizeof(buf), 0x030b12f0), "3.11.18");
	assert_string_equal(python_version_format(buf, sizeof(buf), 0), "");
}

/* Runs `act` with stderr in a file and returns what it wrote. */
static const char *captured(char *buf, size_t sz, void (*act)(void))
{
	FILE *file = tmpfile();
	int saved = dup(STDERR_FILENO);
	size_t got;

	assert_non_null(file);
	assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
	act();
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	close(saved);
	rewind(file);
	got = fread(buf, 1, sz - 1, file);
	buf[got] = '\0';
	fclose(file);
	return buf;
}

static void act_levels(void)
{
	log_init(LOG_LEVEL_INFO, LOG_COLOR_AUTO);
	errno = ENOSPC;
	log_error(LOG_TOPIC_MAIN, "bad %d", 1);
	assert_int_equal(errno, ENOSPC);
	log_warning(LOG_TOPIC_KERNEL, "odd");
	log_info(LOG_TOPIC_MAIN, "good");
	log_debug(LOG_TOPIC_KERNEL, "hidden");
	log_set_level(LOG_TOPIC_KERNEL, LOG_LEVEL_DEBUG);
	log_debug(LOG_TOPIC_KERNEL, "shown");
	log_debug(LOG_TOPIC_STACK, "hidden");
	log_status_line("no terminal, no line");
}

static void act_quiet(void)
{
	log_init(LOG_LEVEL_ERROR, LOG_COLOR_AUTO);
	log_info(LOG_TOPIC_MAIN, "hidden");
	log_warning(LOG_TOPIC_MAIN, "hidden");
	log_error(LOG_TOPIC_MAIN, "name\x1b[2J\nend");
}

static void act_color(void)
{
	log_init(LOG_LEVEL_INFO, LOG_COLOR_ALWAYS);
	log_error(LOG_TOPIC_MAIN, "x");
}

static void act_long(void)
{
	log_init(LOG_LEVEL_INFO, LOG_COLOR_NEVER);
	log_info(LOG_TOPIC_MAIN, "%05000d", 1);
}

static int call_library(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_library(LOG_TOPIC_KERNEL, LOG_LEVEL_WARNING, format, args);
	va_end(args);
	return 0;
}

static void act_library(void)
{
	log_init(LOG_LEVEL_INFO, LOG_COLOR_NEVER);
	call_library("libbpf: one\ntwo %s\n", "words");
}

static void test_log(void **state)
{
	char buf[8192];

	assert_string_equal(
		captured(buf, sizeof(buf), act_levels),
		"panopy: error: bad 1\npanopy: warning: odd\npanopy: good\npanopy: kernel: shown\n");
	assert_string_equal(captured(buf, sizeof(buf), act_quiet), "panopy: error: name\\x1b[2J\\x0aend\n");
	assert_string_equal(captured(buf, sizeof(buf), act_color), "panopy: \x1b[1;31merror: \x1b[0mx\n");
	captured(buf, sizeof(buf), act_long);
	assert_in_range(strlen(buf), 100, 2048);
	assert_int_equal(buf[strlen(buf) - 1], '\n');
	assert_string_equal(captured(buf, sizeof(buf), act_library),
			    "panopy: warning: libbpf: one\npanopy: warning: two words\n");
}

static void test_color_choice(void **state)
{
	log_init(LOG_LEVEL_INFO, LOG_COLOR_ALWAYS);
	setenv("NO_COLOR", "1", 1);
	assert_true(log_use_color());
	log_init(LOG_LEVEL_INFO, LOG_COLOR_NEVER);
	assert_false(log_use_color());
	log_init(LOG_LEVEL_INFO, LOG_COLOR_AUTO);
	assert_false(log_use_color());
	unsetenv("NO_COLOR");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_durations),	cmocka_unit_test(test_clocks_run),
		cmocka_unit_test(test_printable),	cmocka_unit_test(test_invisible_characters),
		cmocka_unit_test(test_python_versions), cmocka_unit_test(test_log),
		cmocka_unit_test(test_color_choice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
