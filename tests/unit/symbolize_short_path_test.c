/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "symbolize/short_path.h"

static char g_dir[] = "/tmp/panopy-paths-XXXXXX";

static void touch(const char *name)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", g_dir, name);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static void make_dir(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", g_dir, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static int set_up(void **state)
{
	if (!mkdtemp(g_dir))
		return -1;
	make_dir("lib");
	make_dir("lib/pkg");
	make_dir("lib/pkg/sub");
	make_dir("lib/pkg/data");
	touch("lib/mod.py");
	touch("lib/pkg/__init__.py");
	touch("lib/pkg/sub/__init__.py");
	touch("lib/pkg/sub/mod.py");
	touch("lib/pkg/data/mod.py");
	return short_path_new((struct short_path **)state);
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	return remove(path);
}

static int tear_down(void **state)
{
	short_path_free(*state);
	return nftw(g_dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void assert_short(struct short_path *paths, pid_t pid, const char *name, const char *want)
{
	char path[512];

	if (*name == '/' || *name == '<' || *name == '.')
		snprintf(path, sizeof(path), "%s", name);
	else
		snprintf(path, sizeof(path), "%s/%s", g_dir, name);
	/* Twice: asked, then known. */
	for (int i = 0; i < 2; i++)
		assert_string_equal(path + short_path_skip(paths, 1, pid, path, strlen(path)), want);
}

static void test_packages(void **state)
{
	assert_short(*state, getpid(), "lib/pkg/sub/mod.py", "pkg/sub/mod.py");
	assert_short(*state, getpid(), "lib/pkg/__init__.py", "pkg/__init__.py");
	assert_short(*state, getpid(), "lib/mod.py", "mod.py");
	/* Its own folder is no package, whatever stands above it. */
	assert_short(*state, getpid(), "lib/pkg/data/mod.py", "mod.py");
	assert_short(*state, getpid(), "lib/pkg/missing/mod.py", "mod.py");
	assert_short(*state, getpid(), "/mod.py", "mod.py");
}

static void test_no_path(void **state)
{
	assert_short(*state, getpid(), "<frozen importlib._bootstrap>", "<frozen importlib._bootstrap>");
	assert_short(*state, getpid(), "<string>", "<string>");
	assert_short(*state, getpid(), "./templates/page.html", "./templates/page.html");
	assert_int_equal(short_path_skip(*state, 1, getpid(), "", 0), 0);
	assert_int_equal(short_path_skip(*state, 1, getpid(), "/a\0b/c", 6), 0);
}

static void test_archives(void **state)
{
	assert_short(*state, getpid(), "/srv/app.zip/pkg/mod.py", "pkg/mod.py");
	assert_short(*state, 0, "/srv/app.pyz/__main__.py", "__main__.py");
	assert_short(*state, 0, "/srv/outer.zip/inner.egg/mod.py", "mod.py");
	assert_short(*state, 0, "/srv/.zip/mod.py", "mod.py");
	assert_short(*state, 0, "/srv/app.zip", "app.zip");
}

/* The answers of a process outlive it, for its own epoch. */
static void test_gone(void **state)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/lib/pkg/sub/mod.py", g_dir);
	assert_short(*state, 0, "lib/pkg/sub/mod.py", "pkg/sub/mod.py");
	/* An epoch never seen: this test's own root has the file. */
	assert_string_equal(path + short_path_skip(*state, 77, 0, path, strlen(path)), "pkg/sub/mod.py");
	/* Nobody has it: the folders' names decide. */
	assert_short(*state, 0, "/gone/lib/python3.12/json/decoder.py", "json/decoder.py");
	assert_short(*state, 0, "/gone/lib/python3.12/site-packages/flask/app.py", "flask/app.py");
	assert_short(*state, 0, "/gone/usr/lib/python3/dist-packages/apt/cache.py", "apt/cache.py");
	assert_short(*state, 0, "/gone/srv/main.py", "main.py");
	assert_short(*state, 999999999, "/gone/srv/main.py", "main.py");
}

static void test_long_path(void **state)
{
	static char path[20000];
	size_t skip;

	memset(path, 'x', sizeof(path) - 1);
	path[0] = path[10000] = '/';
	skip = short_path_skip(*state, 1, getpid(), path, strlen(path));
	assert_int_equal(skip, 10001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packages),  cmocka_unit_test(test_no_path),
		cmocka_unit_test(test_archives),  cmocka_unit_test(test_gone),
		cmocka_unit_test(test_long_path),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
