/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "discover/proc_maps.h"

static int decode(const char *line, struct proc_mapping *ret_mapping)
{
	return decode_proc_maps_line(line, strlen(line), ret_mapping);
}

static void test_ordinary_line(void **state)
{
	struct proc_mapping mapping;

	assert_int_equal(decode("7f1ccddd6000-7f1ccde00000 r-xp 0002a000 fe:01 1234567                    "
				"/usr/lib/libpython3.11.so.1.0",
				&mapping),
			 0);
	assert_true(mapping.start == 0x7f1ccddd6000 && mapping.end == 0x7f1ccde00000);
	assert_true(mapping.readable && !mapping.writable && mapping.executable);
	assert_int_equal(mapping.offset, 0x2a000);
	assert_int_equal(mapping.dev, makedev(0xfe, 1));
	assert_int_equal(mapping.ino, 1234567);
	assert_string_equal(mapping.path, "/usr/lib/libpython3.11.so.1.0");
	assert_false(mapping.deleted);
}

static void test_odd_paths(void **state)
{
	static const struct {
		const char *text;
		const char *path;
		bool deleted;
	} cases[] = {
		{"/a b/c", "/a b/c", false},
		{"/tmp/x (deleted)", "/tmp/x", true},
		{"/tmp/x (deleted) (deleted)", "/tmp/x (deleted)", true},
		{"/new\\012line", "/new\nline", false},
		{"/not\\8an\\escape\\01", "/not\\8an\\escape\\01", false},
		{"/big\\777", "/big\\777", false},
		{"[stack]", "[stack]", false},
		{"", "", false},
		{" (deleted)", "(deleted)", false}, /* the padding's blanks are no part of a path */
		{"/\xff\xfe", "/\xff\xfe", false},
	};
	char line[256];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct proc_mapping mapping;

		snprintf(line, sizeof(line), "1000-2000 rw-s 00000000 00:00 0 %s", cases[i].text);
		assert_int_equal(decode(line, &mapping), 0);
		assert_string_equal(mapping.path, cases[i].path);
		assert_int_equal(mapping.deleted, cases[i].deleted);
	}
}

static void test_lines_that_are_none(void **state)
{
	static const char *const lines[] = {
		"",
		"1000",
		"1000-2000",
		"1000-2000 r-xp",
		"1000-2000 r-xp 0 0:0",
		"-2000 r-xp 0 0:0 0",
		"1000-2000 r-x 0 0:0 0",
		"1000-2000 rqxp 0 0:0 0",
		"1000-2000 r-xq 0 0:0 0",
		"2000-1000 r-xp 0 0:0 0",
		"1000-1000 r-xp 0 0:0 0",
		"1000-10000000000000000 r-xp 0 0:0 0", /* 65 bits */
		"1000-2000 r-xp 0 100000000:0 0",
		"1000-2000 r-xp 0 0:0 x",
		"1000-2000 r-xp 0 0:0 99999999999999999999999",
		"1000-2000  r-xp 0 0:0 0",
		"1000_2000 r-xp 0 0:0 0",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct proc_mapping mapping = {.start = 42};

		assert_int_equal(decode(lines[i], &mapping), -EINVAL);
		assert_int_equal(mapping.start, 42);
	}
}

static void test_long_paths_are_cut(void **state)
{
	size_t sz = 64 << 10;
	char *line = malloc(sz + 1);
	struct proc_mapping mapping;

	memset(line, 'x', sz);
	memcpy(line, "1000-2000 r-xp 0 0:0 7 /", 24);
	line[sz] = '\0';
	assert_int_equal(decode_proc_maps_line(line, sz, &mapping), 0);
	assert_int_equal(strlen(mapping.path), PROC_MAPS_PATH_SZ - 1);
	assert_int_equal(mapping.ino, 7);
	free(line);
}

static int count_mapping(void *ctx, const struct proc_mapping *mapping)
{
	size_t *cnt = ctx;

	return ++*cnt == 3 ? 99 : 0;
}

static void test_every_line_until_told_to_stop(void **state)
{
	static const char text[] = "1000-2000 r-xp 0 0:0 0\nnonsense\n\n2000-3000 r-xp 0 0:0 0 /a";
	static const char more[] = "1-2 r-xp 0 0:0 0\n3-4 r-xp 0 0:0 0\n5-6 r-xp 0 0:0 0\n7-8 r-xp 0 0:0 0\n";
	size_t cnt = 0;

	assert_int_equal(proc_maps_for_each(text, sizeof(text) - 1, count_mapping, &cnt), 0);
	assert_int_equal(cnt, 2);
	cnt = 0;
	assert_int_equal(proc_maps_for_each(more, sizeof(more) - 1, count_mapping, &cnt), 99);
	assert_int_equal(cnt, 3);
	assert_int_equal(proc_maps_for_each("", 0, count_mapping, &cnt), 0);
}

static int find_own_code(void *ctx, const struct proc_mapping *mapping)
{
	u64 addr = (uintptr_t)ctx;

	return addr >= mapping->start && addr < mapping->end && mapping->executable && mapping->ino != 0;
}

static void test_own_mappings(void **state)
{
	char *text;
	size_t sz;

	assert_int_equal(read_proc_maps(getpid(), &text, &sz), 0);
	assert_int_equal(proc_maps_for_each(text, sz, find_own_code, (void *)(uintptr_t)test_own_mappings),
			 1);
	free(text);
	assert_int_equal(read_proc_maps(0x7fffffff, &text, &sz), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ordinary_line),
		cmocka_unit_test(test_odd_paths),
		cmocka_unit_test(test_lines_that_are_none),
		cmocka_unit_test(test_long_paths_are_cut),
		cmocka_unit_test(test_every_line_until_told_to_stop),
		cmocka_unit_test(test_own_mappings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
