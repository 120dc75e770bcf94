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
#include <unistd.h>

#include "discover/cgroup_hierarchy.h"

static struct cgroup_hierarchies all;

static u64 covered_id;

static bool is_covered(const char *mount, u64 id)
{
	return id == covered_id;
}

static void decode(const char *mountinfo, const char *cgroup)
{
	cgroup_hierarchies_decode(&all, mountinfo, cgroup, is_covered);
}

static const char V1_MOUNTS[] =
	"25 18 0:22 / /sys/fs/cgroup rw,relatime shared:5 - tmpfs tmpfs rw,mode=755\n"
	"26 25 0:23 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
	"27 25 0:24 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	"28 25 0:25 / /sys/fs/cgroup/systemd rw shared:7 master:3 - cgroup cgroup rw,xattr,name=systemd\n"
	"29 25 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n"
	"31 25 0:26 /deep /mnt/part rw - cgroup2 cgroup2 rw\n";
static const char V1_CGROUP[] =
	"12:memory:/m/x\n5:cpu,cpuacct:/c\n3:freezer:/not/mounted\n1:name=systemd:/s:colon\n0::/u\n";

static void test_hybrid(void **state)
{
	decode(V1_MOUNTS, V1_CGROUP);
	assert_int_equal(all.cnt, 4);
	assert_true(all.list[0].is_v2);
	assert_string_equal(all.list[0].mount, "/sys/fs/cgroup/unified");
	assert_string_equal(all.list[1].name, "name=systemd");
	assert_string_equal(all.list[1].controller, "");
	assert_int_equal(all.list[1].id, 1);
	assert_string_equal(all.list[2].name, "cpu,cpuacct");
	assert_string_equal(all.list[2].controller, "cpu");
	assert_string_equal(all.list[2].mount, "/sys/fs/cgroup/cpu,cpuacct");
	assert_string_equal(all.list[3].name, "memory");
}

static void test_version_2_alone(void **state)
{
	decode("30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/init.scope\n");
	assert_int_equal(all.cnt, 1);
	assert_true(all.list[0].is_v2);
	assert_string_equal(all.list[0].root, "/");
}

/* What something else is mounted over shows none of it; another mount, or a part, does. */
static void test_covered(void **state)
{
	covered_id = 29;
	decode(V1_MOUNTS, V1_CGROUP);
	assert_int_equal(all.cnt, 4);
	assert_true(all.list[0].is_v2);
	assert_string_equal(all.list[0].mount, "/mnt/part");
	assert_string_equal(all.list[0].root, "/deep");
	covered_id = 27;
	decode(V1_MOUNTS, V1_CGROUP);
	assert_int_equal(all.cnt, 3);
	assert_string_equal(all.list[2].name, "cpu,cpuacct");
	covered_id = 0;
}

/* A controller's name must not be taken for another's that begins so. */
static void test_names_are_whole(void **state)
{
	decode("26 25 0:23 / /a rw - cgroup cgroup rw,cpuset\n"
	       "27 25 0:24 / /b rw - cgroup cgroup rw,cpu\n",
	       "2:cpu:/\n1:cpuset:/\n");
	assert_int_equal(all.cnt, 2);
	assert_string_equal(all.list[0].controller, "cpu");
	assert_string_equal(all.list[0].mount, "/b");
	assert_string_equal(all.list[1].mount, "/a");
}

static void test_escapes(void **state)
{
	decode("26 25 0:23 / /a\\040b\\134c rw - cgroup2 x rw\n", "0::/\n");
	assert_int_equal(all.cnt, 1);
	assert_string_equal(all.list[0].mount, "/a b\\c");
	/* A NUL would cut the path. */
	decode("26 25 0:23 / /a\\000b rw - cgroup2 x rw\n", "0::/\n");
	assert_int_equal(all.cnt, 0);
}

static void test_hostile_lines(void **state)
{
	static const char *const TEXTS[] = {
		"",
		"\n\n\n",
		"26",
		"26 25 0:23 / /a rw",
		"26 25 0:23 / /a rw -",
		"26 25 0:23 / /a rw - cgroup2",
		"\\",
		"26 25 0:23 / relative rw - cgroup2 x rw\n",
	};
	static const char *const CGROUPS[] = {
		"", ":", "0:", "x::/", "0::", "99999999999::/", "0:\n::/\n", "0:cpu", "1::/\n",
	};
	char *long_line = malloc(100000);

	for (size_t i = 0; i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++) {
		decode(TEXTS[i], "0::/\n");
		assert_int_equal(all.cnt, 0);
	}
	for (size_t i = 0; i < sizeof(CGROUPS) / sizeof(CGROUPS[0]); i++) {
		decode(V1_MOUNTS, CGROUPS[i]);
		assert_true(all.cnt <= 1);
	}
	memset(long_line, 'a', 99999);
	long_line[99999] = '\0';
	decode(long_line, long_line);
	assert_int_equal(all.cnt, 0);
	/* More hierarchies than a kernel has. */
	long_line[0] = '\0';
	for (int i = 1, at = 0; i < 100; i++)
		at += snprintf(long_line + at, 100000 - at, "%d:cpu:/\n", i);
	decode(V1_MOUNTS, long_line);
	assert_int_equal(all.cnt, CGROUP_HIERARCHIES_MAX);
	free(long_line);
}

static void test_paths_and_directories(void **state)
{
	struct cgroup_hierarchy part = {.mount = "/mnt", .root = "/a/b"};
	struct cgroup_hierarchy whole = {.mount = "/sys/fs/cgroup", .root = "/"};
	char path[PATH_MAX];

	assert_int_equal(cgroup_hierarchy_dir(&part, "/a/b/c", path), 0);
	assert_string_equal(path, "/mnt/c");
	assert_int_equal(cgroup_hierarchy_dir(&part, "/a/b", path), 0);
	assert_string_equal(path, "/mnt");
	assert_int_equal(cgroup_hierarchy_dir(&part, "/a/bc", path), -ENOENT);
	assert_int_equal(cgroup_hierarchy_dir(&part, "/a", path), -ENOENT);
	assert_int_equal(cgroup_hierarchy_path(&part, "/mnt/c/d", path), 0);
	assert_string_equal(path, "/a/b/c/d");
	assert_int_equal(cgroup_hierarchy_dir(&whole, "/x", path), 0);
	assert_string_equal(path, "/sys/fs/cgroup/x");
	assert_int_equal(cgroup_hierarchy_path(&whole, "/sys/fs/cgroup", path), 0);
	assert_string_equal(path, "/");
	assert_int_equal(cgroup_hierarchy_path(&whole, "/sys/fs/cgroups/x", path), -ENOENT);
}

static void test_path_of_a_process(void **state)
{
	size_t sz;
	const char *path = cgroup_text_path(V1_CGROUP, 1, &sz);

	assert_int_equal(sz, 8);
	assert_memory_equal(path, "/s:colon", 8);
	path = cgroup_text_path(V1_CGROUP, 0, &sz);
	assert_int_equal(sz, 2);
	assert_memory_equal(path, "/u", 2);
	assert_null(cgroup_text_path(V1_CGROUP, 7, &sz));
	assert_null(cgroup_text_path("", 0, &sz));
	assert_null(cgroup_text_path("0:\n:", 0, &sz));
	/* The last line may lack its end. */
	assert_non_null(cgroup_text_path("0::/x", 0, &sz));
	assert_int_equal(sz, 2);
}

static void test_within(void **state)
{
	assert_true(cgroup_path_is_within("/a/b", 4, "/a"));
	assert_true(cgroup_path_is_within("/a", 2, "/a"));
	assert_true(cgroup_path_is_within("/a/b", 4, "/"));
	assert_true(cgroup_path_is_within("/", 1, "/"));
	assert_false(cgroup_path_is_within("/ab", 3, "/a"));
	assert_false(cgroup_path_is_within("/a", 2, "/a/b"));
}

static int count(void *ctx, const char *path, u64 id)
{
	assert_int_equal(path[0], '/');
	assert_true(id > 0);
	++*(size_t *)ctx;
	return 0;
}

/* This machine's own. */
static void test_real_ones(void **state)
{
	char *text = malloc(CGROUP_TEXT_SZ);
	size_t sz;

	assert_int_equal(cgroup_hierarchies_read(&all), 0);
	assert_int_equal(cgroup_text_read(getpid(), text), 0);
	for (size_t i = 0; i < all.cnt; i++) {
		size_t cnt = 0;

		assert_int_equal(cgroup_hierarchy_walk(&all.list[i], count, &cnt), 0);
		assert_true(cnt >= 1);
		assert_non_null(cgroup_text_path(text, all.list[i].id, &sz));
	}
	assert_int_equal(cgroup_text_read(0x7ffffffe, text), -ESRCH);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hybrid),
		cmocka_unit_test(test_version_2_alone),
		cmocka_unit_test(test_covered),
		cmocka_unit_test(test_names_are_whole),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_hostile_lines),
		cmocka_unit_test(test_paths_and_directories),
		cmocka_unit_test(test_path_of_a_process),
		cmocka_unit_test(test_within),
		cmocka_unit_test(test_real_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
