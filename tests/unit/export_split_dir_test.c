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
#include <sys/stat.h>
#include <unistd.h>

#include "export/split_dir.h"
#include "temp_folder.h"

static char root[] = "/tmp/panopy-split-XXXXXX";

static int make_root(void **state)
{
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	return temp_folder_remove(root);
}

static void path_of(char ret_path[256], const char *name)
{
	snprintf(ret_path, 256, "%s/%s", root, name);
}

static void test_names(void **state)
{
	static const struct {
		const char *label;
		const char *name;
	} cases[] = {
		{"web", "web"},
		{"python3 (123)", "python3_123"},
		{"/system.slice/x@1.service", "system.slice_x@1.service"},
		{"", "_"},
		{"/", "_"},
		{"..", "_"},
		{".hidden", "hidden"},
		{"../../etc/passwd", "etc_passwd"},
		{"a b\tc;d\n", "a_b_c_d"},
		{"-rf", "-rf"},
		{"prod/web-1/app", "prod_web-1_app"},
		{"\xe4\xb8\xad", "_"},
	};
	char name[SPLIT_DIR_NAME_SZ], longest[1000];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		split_dir_format_name(name, cases[i].label, strlen(cases[i].label));
		assert_string_equal(name, cases[i].name);
	}
	memset(longest, 'x', sizeof(longest));
	split_dir_format_name(name, longest, sizeof(longest));
	assert_int_equal(strlen(name), SPLIT_DIR_NAME_SZ - 1);
}

static void put(struct split_dir *dir, const char *label, const char *text)
{
	struct atomic_file *file;

	assert_int_equal(split_dir_next(dir, label, strlen(label), &file), 0);
	assert_int_equal(atomic_file_write(file, text, strlen(text)), 0);
}

static void holds(const char *name, const char *text)
{
	char path[256], got[64] = "";
	FILE *file;

	path_of(path, name);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fread(got, 1, sizeof(got) - 1, file), strlen(text));
	assert_string_equal(got, text);
	fclose(file);
}

static void test_files(void **state)
{
	struct split_dir *dir;
	char path[256];

	path_of(path, "new");
	assert_int_equal(split_dir_make(path), 0);
	assert_int_equal(split_dir_make(path), 0);
	assert_int_equal(split_dir_new(&dir, path, "folded"), 0);
	put(dir, "a b", "one");
	put(dir, "a/b", "two");
	put(dir, "A;b", "three");
	put(dir, "other", "four");
	assert_int_equal(split_dir_finish(dir), 0);
	assert_int_equal(split_dir_count(dir), 4);
	split_dir_free(dir);
	holds("new/a_b.folded", "one");
	holds("new/a_b-2.folded", "two");
	holds("new/A_b-3.folded", "three");
	holds("new/other-2.folded", "four");
	/* A second run replaces what has the same name; what was not finished leaves nothing. */
	assert_int_equal(split_dir_new(&dir, path, "folded"), 0);
	put(dir, "a b", "again");
	put(dir, "fresh", "x");
	split_dir_free(dir);
	holds("new/a_b.folded", "again");
	path_of(path, "new/fresh.folded");
	assert_int_equal(access(path, F_OK), -1);
}

/* Who may write into the folder need not be who records. */
static void test_links_and_pipes(void **state)
{
	struct split_dir *dir;
	char path[256], link[256];
	struct stat st;
	FILE *file;

	path_of(path, "elsewhere");
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs("precious", file) >= 0);
	fclose(file);
	path_of(path, "trapped");
	assert_int_equal(split_dir_make(path), 0);
	path_of(link, "trapped/host.folded");
	assert_int_equal(symlink("../elsewhere", link), 0);
	path_of(link, "trapped/web.folded");
	assert_int_equal(mkfifo(link, 0600), 0);
	path_of(link, "trapped/db.folded");
	assert_int_equal(mkdir(link, 0700), 0);
	assert_int_equal(split_dir_new(&dir, path, "folded"), 0);
	put(dir, "host", "one");
	put(dir, "web", "two");
	assert_int_equal(split_dir_next(dir, "db", 2, &(struct atomic_file *){NULL}), -EISDIR);
	split_dir_free(dir);
	holds("elsewhere", "precious");
	holds("trapped/web.folded", "two");
	path_of(link, "trapped/host.folded");
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	holds("trapped/host.folded", "one");
}

static void test_folders_that_cannot_be(void **state)
{
	char path[256];
	FILE *file;

	path_of(path, "missing/below");
	assert_int_equal(split_dir_make(path), -ENOENT);
	path_of(path, "plain");
	file = fopen(path, "w");
	assert_non_null(file);
	fclose(file);
	assert_int_equal(split_dir_make(path), -ENOTDIR);
}

static void test_bounded(void **state)
{
	struct split_dir *dir;
	char path[256], label[32];

	path_of(path, "many");
	assert_int_equal(split_dir_make(path), 0);
	assert_int_equal(split_dir_new(&dir, path, "folded"), 0);
	for (int i = 0; i < SPLIT_DIR_MAX_FILES + 3; i++) {
		snprintf(label, sizeof(label), "c%d", i);
		put(dir, label, i < SPLIT_DIR_MAX_FILES ? "x" : label);
	}
	assert_int_equal(split_dir_finish(dir), 0);
	assert_int_equal(split_dir_count(dir), SPLIT_DIR_MAX_FILES + 1);
	split_dir_free(dir);
	holds("many/c4095.folded", "x");
	holds("many/other.folded", "c4096c4097c4098");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),		cmocka_unit_test(test_files),
		cmocka_unit_test(test_links_and_pipes), cmocka_unit_test(test_folders_that_cannot_be),
		cmocka_unit_test(test_bounded),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
