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
#include <sys/wait.h>
#include <unistd.h>

#include "discover/process_table.h"
#include "temp_folder.h"

static char root[] = "/tmp/panopy-proc-XXXXXX";

static void write_stat(int pid, const char *comm, unsigned int flags, unsigned int start_ticks)
{
	char text[512];
	int sz = snprintf(text, sizeof(text), "%d (%s) S 7 1 1 0 -1 %u 1 2 3 4 5 6 7 8 20 0 1 0 %u 99 88\n",
			  pid, comm, flags, start_ticks);

	temp_folder_put_process(root, pid, "stat", text, (size_t)sz);
}

/* A process of this fake /proc. */
static void make_process(int pid, const char *comm, unsigned int start_ticks)
{
	char text[512], path[128];
	int sz;

	write_stat(pid, comm, 4194560, start_ticks);
	sz = snprintf(text, sizeof(text),
		      "Name:\tx\nTgid:\t%d\nPPid:\t7\nUid:\t1000\t0\t0\t0\nGroups:\t1 2\nNSpid:\t%d\t31\t2\n",
		      pid, pid);
	temp_folder_put_process(root, pid, "status", text, (size_t)sz);
	temp_folder_put_process(root, pid, "cmdline", "python3\0x.py\0", 13);
	snprintf(path, sizeof(path), "%s/%d/exe", root, pid);
	unlink(path);
	assert_int_equal(symlink("/usr/bin/python3.11", path), 0);
}

static void remove_process(int pid)
{
	static const char *const names[] = {"stat", "status", "cmdline", "exe", "cgroup"};
	char path[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%d/%s", root, pid, names[i]);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/%d", root, pid);
	rmdir(path);
}

static int set_up(void **state)
{
	return mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state)
{
	return rmdir(root);
}

static void test_what_proc_says(void **state)
{
	struct process_table *table;
	struct process *process;

	make_process(500, "python3", 1234);
	assert_int_equal(process_table_new_at(&table, 10, root, NULL), 0);
	assert_int_equal(process_table_add(table, 500, &process), 0);
	assert_int_equal(process->pid, 500);
	assert_int_equal(process->ns_pid, 2);
	assert_int_equal(process->parent_pid, 7);
	assert_int_equal(process->uid, 1000);
	assert_true(process->start_boottime_ns == 1234 * (1000000000ULL / (u64)sysconf(_SC_CLK_TCK)));
	assert_string_equal(process->comm, "python3");
	assert_string_equal(process->command, "python3 x.py");
	assert_string_equal(process->exe, "/usr/bin/python3.11");
	assert_false(process->ended);
	assert_ptr_equal(process_table_find(table, 500), process);
	assert_ptr_equal(process_table_at(table, process->id), process);
	assert_null(process_table_find(table, 501));
	assert_null(process_table_at(table, 1));
	assert_int_equal(process_table_add(table, 501, &process), -ESRCH);
	process_table_free(table);
	remove_process(500);
}

#define HASH "3f2a9c0d5b7e41688a1c2d3e4f5061728394a5b6c7d8e9f00112233445566778"

#define COMM "x\0\0\0\0\0\0\0\0\0\0\0\0\0\0"

static void write_cgroup(int pid, const char *text)
{
	temp_folder_put_process(root, pid, "cgroup", text, strlen(text));
}

static void test_where_it_runs(void **state)
{
	struct process_table *table;
	struct process *process, *other, *child;

	make_process(510, "python3", 1234);
	make_process(511, "python3", 1234);
	write_cgroup(510, "1:cpu:/docker/" HASH "\n0::/\n");
	assert_int_equal(process_table_new_at(&table, 10, root, root), 0);
	assert_int_equal(process_table_add(table, 510, &process), 0);
	assert_string_equal(process->cgroup, "/docker/" HASH);
	assert_string_equal(process->container->id, HASH);
	assert_null(process->container->name);
	/* What cannot be read is not known. */
	assert_int_equal(process_table_add(table, 511, &other), 0);
	assert_null(other->cgroup);
	assert_ptr_equal(other->container, &CONTAINER_UNKNOWN);
	/* A child that was gone too soon was where its parent is. */
	assert_int_equal(process_table_add_child(table, 512, process, COMM, 1, &child), 0);
	assert_string_equal(child->cgroup, process->cgroup);
	assert_ptr_equal(child->container, process->container);
	/* An exec looks again. */
	write_cgroup(510, "0::/system.slice/cron.service\n");
	assert_int_equal(process_table_refresh(table, process), 0);
	assert_string_equal(process->cgroup, "/system.slice/cron.service");
	assert_null(process->container);
	process_table_free(table);
	remove_process(510);
	remove_process(511);
}

enum { FLAGS_EXITING = 4194560 | 0x4 };

/* Hierarchies of version 1 show their root for those. */
static void test_where_one_that_exits_runs(void **state)
{
	struct process_table *table;
	struct process *process, *other, *child;

	assert_int_equal(process_table_new_at(&table, 10, root, root), 0);
	make_process(530, "python3", 1234);
	write_cgroup(530, "1:cpu:/docker/" HASH "\n");
	assert_int_equal(process_table_add(table, 530, &process), 0);
	write_stat(530, "python3", FLAGS_EXITING, 1234);
	write_cgroup(530, "1:cpu:/\n0::/\n");
	assert_int_equal(process_table_refresh(table, process), 0);
	assert_string_equal(process->cgroup, "/docker/" HASH);
	assert_string_equal(process->container->id, HASH);
	/* Never seen before: nobody knows, or it is where its parent is and what its parent was. */
	make_process(531, "python3", 1234);
	write_stat(531, "python3", FLAGS_EXITING, 1234);
	write_cgroup(531, "1:cpu:/\n");
	assert_int_equal(process_table_add(table, 531, &other), 0);
	assert_null(other->cgroup);
	assert_ptr_equal(other->container, &CONTAINER_UNKNOWN);
	make_process(532, "python3", 1234);
	write_stat(532, "python3", FLAGS_EXITING, 1234);
	write_cgroup(532, "1:cpu:/\n");
	temp_folder_put_process(root, 532, "cmdline", "", 0);
	assert_int_equal(process_table_add_child(table, 532, process, COMM, 1, &child), 0);
	assert_string_equal(child->cgroup, process->cgroup);
	assert_ptr_equal(child->container, process->container);
	assert_string_equal(child->command, "python3 x.py");
	/* Version 2 alone tells. */
	write_cgroup(531, "0::/system.slice/cron.service\n");
	assert_int_equal(process_table_refresh(table, other), 0);
	assert_string_equal(other->cgroup, "/system.slice/cron.service");
	assert_null(other->container);
	process_table_free(table);
	for (int pid = 530; pid <= 532; pid++)
		remove_process(pid);
}

/* No hierarchy is mounted. */
static void test_without_cgroups(void **state)
{
	struct process_table *table;
	struct process *process;

	make_process(540, "python3", 1234);
	write_cgroup(540, "");
	assert_int_equal(process_table_new_at(&table, 10, root, root), 0);
	assert_int_equal(process_table_add(table, 540, &process), 0);
	assert_null(process->cgroup);
	assert_null(process->container);
	process_table_free(table);
	remove_process(540);
}

static void test_users(void **state)
{
	struct process_table *table;
	struct process *process;
	const char *status = "Name:\tx\nTgid:\t520\nPPid:\t1\nUid:\t4294967290\t0\t0\t0\nNSpid:\t520\n";

	make_process(520, "python3", 1234);
	assert_int_equal(process_table_new_at(&table, 10, root, NULL), 0);
	assert_int_equal(process_table_add(table, 520, &process), 0);
	assert_string_equal(process_table_user_name(table, 0), "root");
	assert_string_equal(process_table_user_name(table, 4294967290u), "4294967290");
	assert_ptr_equal(process_table_user_name(table, 0), process_table_user_name(table, 0));
	/* Its user is read again, its parent stays who started it. */
	temp_folder_put_process(root, 520, "status", status, strlen(status));
	process_table_refresh_user(table, process);
	assert_int_equal(process->uid, 4294967290u);
	assert_int_equal(process->parent_pid, 7);
	process_table_free(table);
	remove_process(520);
}

static void test_names_that_look_like_fields(void **state)
{
	static const struct {
		const char *comm;
		const char *expected;
	} cases[] = {
		{"a) S 1 2 3 (b", "a) S 1 2 3 (b"},
		{") R 9 9 9 9", ") R 9 9 9 9"},
		{"", ""},
		{"line\nbreak", "line\nbreak"},
		{"a name that is far longer than fits", "a name that is "},
	};
	struct process_table *table;
	struct process *process;

	assert_int_equal(process_table_new_at(&table, 10, root, NULL), 0);
	for (int i = 0; i < (int)(sizeof(cases) / sizeof(cases[0])); i++) {
		make_process(600 + i, cases[i].comm, 77);
		assert_int_equal(process_table_add(table, 600 + i, &process), 0);
		assert_string_equal(process->comm, cases[i].expected);
		assert_true(process->start_boottime_ns == 77 * (1000000000ULL / (u64)sysconf(_SC_CLK_TCK)));
		remove_process(600 + i);
	}
	process_table_free(table);
}

static void test_reused_pid_is_another_process(void **state)
{
	struct process *first, *again, *second;
	struct process_table *table;

	make_process(500, "old", 100);
	assert_int_equal(process_table_new_at(&table, 10, root, NULL), 0);
	assert_int_equal(process_table_add(table, 500, &first), 0);
	/* What the kernel says more exactly does not make it another one. */
	first->start_boottime_ns += 12345;
	assert_int_equal(process_table_add(table, 500, &again), 0);
	assert_ptr_equal(first, again);
	assert_int_equal(process_table_count(table), 1);
	make_process(500, "new", 101);
	assert_int_equal(process_table_refresh(table, first), -ESRCH);
	assert_string_equal(first->comm, "old");
	assert_int_equal(process_table_add(table, 500, &second), 0);
	assert_ptr_not_equal(first, second);
	assert_true(first->ended);
	assert_false(second->ended);
	assert_string_equal(first->comm, "old");
	assert_string_equal(second->comm, "new");
	assert_ptr_equal(process_table_find(table, 500), second);
	assert_int_equal(process_table_count(table), 2);
	process_table_end(table, second);
	process_table_end(table, second);
	assert_null(process_table_find(table, 500));
	assert_ptr_equal(process_table_at(table, 1), second);
	process_table_free(table);
	remove_process(500);
}

static bool may_forget(void *ctx, const struct process *process)
{
	assert_true(process->ended);
	return process->pid != *(const pid_t *)ctx;
}

/* Those that ended make room once the table is full, but for the ones that are needed. */
static void test_full(void **state)
{
	struct process *needed, *process, *last;
	struct process_table *table;
	pid_t keep = 601;
	u32 id;

	assert_int_equal(process_table_new_at(&table, 3, root, NULL), 0);
	for (pid_t pid = 600; pid < 603; pid++) {
		make_process(pid, "one", 100);
		assert_int_equal(process_table_add(table, pid, &process), 0);
	}
	needed = process_table_find(table, keep);
	make_process(603, "two", 100);
	assert_int_equal(process_table_add(table, 603, &process), -ENOSPC);
	process_table_on_full(table, may_forget, &keep);
	assert_int_equal(process_table_add(table, 603, &process), -ENOSPC);
	process_table_end(table, needed);
	assert_int_equal(process_table_add(table, 603, &process), -ENOSPC);
	last = process_table_find(table, 602);
	id = last->id;
	process_table_end(table, last);
	assert_int_equal(process_table_add(table, 603, &process), 0);
	assert_int_equal(process->id, id);
	assert_ptr_equal(process_table_at(table, id), process);
	assert_ptr_equal(process_table_find(table, 603), process);
	assert_null(process_table_find(table, 602));
	assert_ptr_equal(process_table_at(table, needed->id), needed);
	assert_int_equal(process_table_count(table), 3);
	process_table_free(table);
	for (pid_t pid = 600; pid < 604; pid++)
		remove_process(pid);
}

/* Nobody tells of the end of a process that is not sampled. */
static void test_full_of_what_is_gone(void **state)
{
	enum { MAX_CNT = 16 };
	struct process_table *table;
	struct process *process, *stays;
	pid_t none = 0;

	assert_int_equal(process_table_new_at(&table, MAX_CNT, root, NULL), 0);
	process_table_on_full(table, may_forget, &none);
	make_process(700, "stays", 100);
	assert_int_equal(process_table_add(table, 700, &stays), 0);
	for (pid_t pid = 701; pid < 701 + 4 * MAX_CNT; pid++) {
		make_process(pid, "short", 100);
		assert_int_equal(process_table_add(table, pid, &process), 0);
		remove_process(pid);
	}
	assert_int_equal(process_table_count(table), MAX_CNT);
	assert_ptr_equal(process_table_find(table, 700), stays);
	assert_false(process_table_end_gone(table, stays));
	make_process(700, "next", 200);
	assert_true(process_table_end_gone(table, stays));
	assert_true(stays->ended);
	assert_false(process_table_end_gone(table, stays));
	process_table_free(table);
	remove_process(700);
}

static void test_child_that_is_gone(void **state)
{
	char comm[LIMIT_COMM_SZ];
	struct process *parent, *child, *stale;
	struct process_table *table;

	memset(comm, 'c', sizeof(comm)); /* not terminated */
	make_process(500, "parent", 100);
	make_process(501, "stale", 100);
	assert_int_equal(process_table_new_at(&table, 3, root, NULL), 0);
	assert_int_equal(process_table_add(table, 500, &parent), 0);
	assert_int_equal(process_table_add(table, 501, &stale), 0);
	remove_process(501);
	assert_int_equal(process_table_add_child(table, 501, parent, comm, 12345, &child), 0);
	assert_true(stale->ended);
	assert_int_equal(child->pid, 501);
	assert_int_equal(child->parent_pid, 500);
	assert_int_equal(child->uid, 1000);
	assert_int_equal(child->start_boottime_ns, 12345);
	assert_int_equal(strlen(child->comm), LIMIT_COMM_SZ - 1);
	assert_string_equal(child->command, parent->command);
	assert_ptr_equal(process_table_find(table, 501), child);
	assert_int_equal(process_table_add_child(table, 502, parent, comm, 1, &child), -ENOSPC);
	assert_int_equal(process_table_add_child(table, 502, NULL, comm, 1, &child), -ESRCH);
	process_table_free(table);
	remove_process(500);
}

static void test_exec_changes_the_names(void **state)
{
	struct process_table *table;
	struct process *process;

	make_process(500, "sh", 100);
	assert_int_equal(process_table_new_at(&table, 10, root, NULL), 0);
	assert_int_equal(process_table_add(table, 500, &process), 0);
	make_process(500, "python3", 100);
	temp_folder_put_process(root, 500, "cmdline", "other\0", 6);
	assert_int_equal(process_table_refresh(table, process), 0);
	assert_string_equal(process->comm, "python3");
	assert_string_equal(process->command, "other");
	temp_folder_put_process(root, 500, "cmdline", "", 0);
	assert_int_equal(process_table_refresh(table, process), 0);
	assert_string_equal(process->command, "[python3]");
	process_table_free(table);
	remove_process(500);
}

static void test_thread_is_no_process(void **state)
{
	struct process_table *table;
	struct process *process;

	make_process(70, "python3", 500);
	temp_folder_put_process(root, 70, "status", "Name:\tx\nTgid:\t69\nPPid:\t7\n",
				strlen("Name:\tx\nTgid:\t69\nPPid:\t7\n"));
	assert_int_equal(process_table_new_at(&table, 10, root, NULL), 0);
	assert_int_equal(process_table_add(table, 70, &process), -ESRCH);
	assert_int_equal(process_table_count(table), 0);
	process_table_free(table);
	remove_process(70);
}

static void test_bounded(void **state)
{
	struct process_table *table;
	struct process *process = NULL;

	assert_int_equal(process_table_new_at(&table, 200, root, NULL), 0);
	for (int pid = 1; pid <= 200; pid++) {
		make_process(pid, "p", 1);
		assert_int_equal(process_table_add(table, pid, &process), 0);
		assert_int_equal(process->id, pid - 1);
		remove_process(pid);
	}
	make_process(201, "p", 1);
	process = NULL;
	assert_int_equal(process_table_add(table, 201, &process), -ENOSPC);
	assert_null(process);
	assert_int_equal(process_table_find(table, 150)->pid, 150);
	process_table_free(table);
	remove_process(201);
}

static void test_broken_stat(void **state)
{
	static const char *const texts[] = {"",
					    "500",
					    "500 (x",
					    "500 )x( S 1",
					    "500 (x) S 1 2 3",
					    "500 (x)S 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 5 99"};
	struct process_table *table;
	struct process *process;

	assert_int_equal(process_table_new_at(&table, 10, root, NULL), 0);
	make_process(500, "x", 1);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		temp_folder_put_process(root, 500, "stat", texts[i], strlen(texts[i]));
		assert_int_equal(process_table_add(table, 500, &process), -EINVAL);
	}
	assert_int_equal(process_table_count(table), 0);
	process_table_free(table);
	remove_process(500);
}

static void test_real_proc(void **state)
{
	struct process_table *table;
	struct process *process;

	assert_int_equal(process_table_new(&table, 10), 0);
	assert_int_equal(process_table_add(table, getpid(), &process), 0);
	assert_int_equal(process->parent_pid, getppid());
	assert_int_equal(process->uid, getuid());
	assert_int_equal(process->ns_pid, getpid());
	assert_true(process->cpu_start_ns > 0);
	assert_non_null(strstr(process->command, "process_table"));
	process_table_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_proc_says),
		cmocka_unit_test(test_where_it_runs),
		cmocka_unit_test(test_where_one_that_exits_runs),
		cmocka_unit_test(test_without_cgroups),
		cmocka_unit_test(test_users),
		cmocka_unit_test(test_names_that_look_like_fields),
		cmocka_unit_test(test_reused_pid_is_another_process),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_full_of_what_is_gone),
		cmocka_unit_test(test_child_that_is_gone),
		cmocka_unit_test(test_exec_changes_the_names),
		cmocka_unit_test(test_thread_is_no_process),
		cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_broken_stat),
		cmocka_unit_test(test_real_proc),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
