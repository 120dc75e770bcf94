/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "export/root_label.h"

#define A  "3f2a9c0d5b7e41688a1c2d3e4f5061728394a5b6c7d8e9f00112233445566778"
#define A2 "3f2a9c0d5b7e00000000000000000000000000000000000000000000000000ff"
#define B  "b0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecf"

enum { MAX = 8 };

/* Stands in for the stage that fills it from /proc. */
struct process_table {
	struct process processes[MAX];
	size_t cnt;
};

struct process *process_table_at(struct process_table *table, u32 id)
{
	return id < table->cnt ? &table->processes[id] : NULL;
}

size_t process_table_count(const struct process_table *table)
{
	return table->cnt;
}

const char *process_table_user_name(struct process_table *table, uid_t uid)
{
	return uid ? "someone" : "root";
}

static void are_called(const struct container *const *containers, const char *const *wanted, size_t cnt)
{
	struct process_table table = {.cnt = cnt};
	struct root_labels *labels;

	for (size_t i = 0; i < cnt; i++)
		table.processes[i].container = containers[i];
	assert_int_equal(root_labels_new(&labels, &table, ROOT_LABEL_CONTAINER), 0);
	for (size_t i = 0; i < cnt; i++)
		assert_string_equal(root_labels_at(labels, (u32)i), wanted[i]);
	assert_string_equal(root_labels_at(labels, (u32)cnt), "?");
	root_labels_free(labels);
}

static void test_names(void **state)
{
	static const struct container web = {.id = A, .name = "web"}, unnamed = {.id = B},
				      pod = {.id = B,
					     .name = "app",
					     .pod_uid = "u",
					     .pod_name = "web-1",
					     .pod_namespace = "shop"},
				      machine = {.id = "deb", .name = "deb"},
				      nested = {.id = B, .outermost = A},
				      nested_in_machine = {.id = B, .outermost = "deb"};
	static const struct container *const containers[] = {&web, NULL,     &unnamed, &pod,
							     &web, &machine, &nested,  &nested_in_machine};
	static const char *const wanted[] = {"web",
					     "host",
					     "b0b1b2b3b4b5",
					     "shop/web-1/app",
					     "web",
					     "deb",
					     "3f2a9c0d5b7e/b0b1b2b3b4b5",
					     "deb/b0b1b2b3b4b5"};

	are_called(containers, wanted, 8);
}

static void test_equal_names(void **state)
{
	static const struct container web = {.id = A, .name = "web"}, again = {.id = B, .name = "web"},
				      mine = {.id = A, .name = "web", .rootless = true, .user = 7},
				      host = {.id = B, .name = "host"}, other = {.id = A, .name = "db"};
	static const struct container *const containers[] = {&web, &again, &mine, &host, &other, NULL};
	static const char *const wanted[] = {"web (3f2a9c0d5b7e)",
					     "web (b0b1b2b3b4b5)",
					     "web (3f2a9c0d5b7e, user 7)",
					     "host (b0b1b2b3b4b5)",
					     "db",
					     "host"};

	are_called(containers, wanted, 6);
}

/* A name that is made to look like another one, and an id that begins like another one. */
static void test_imposters(void **state)
{
	static const struct container web = {.id = A, .name = "web"}, alike = {.id = A2, .name = "web"},
				      fake = {.id = B, .name = "web (3f2a9c0d5b7e)"};
	static const struct container *const containers[] = {&web, &alike, &fake};
	static const char *const wanted[] = {"web (3f2a9c0d5b7e) (" A ")", "web (3f2a9c0d5b7e) (" A2 ")",
					     "web (3f2a9c0d5b7e) (" B ")"};

	are_called(containers, wanted, 3);
}

static void test_groups_and_users(void **state)
{
	static char path[] = "/a/b";
	struct process_table table = {.cnt = 2, .processes = {{.cgroup = path, .uid = 5}, {.uid = 0}}};
	struct root_labels *labels;

	assert_int_equal(root_labels_new(&labels, &table, ROOT_LABEL_CGROUP), 0);
	assert_string_equal(root_labels_at(labels, 0), "/a/b");
	assert_string_equal(root_labels_at(labels, 1), "?");
	root_labels_free(labels);
	assert_int_equal(root_labels_new(&labels, &table, ROOT_LABEL_USER), 0);
	assert_string_equal(root_labels_at(labels, 0), "someone");
	assert_string_equal(root_labels_at(labels, 1), "root");
	root_labels_free(labels);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_equal_names),
		cmocka_unit_test(test_imposters),
		cmocka_unit_test(test_groups_and_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
