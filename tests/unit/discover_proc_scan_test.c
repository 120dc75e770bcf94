/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "discover/proc_scan.h"

struct wanted {
	pid_t pid;
	pid_t last;
	int found;
};

static int on_pid(void *ctx, pid_t pid)
{
	struct wanted *wanted = ctx;

	assert_true(pid > wanted->last);
	wanted->last = pid;
	wanted->found += pid == wanted->pid;
	return 0;
}

static int stop_at_first(void *ctx, pid_t pid)
{
	return 77;
}

static void test_every_process_once(void **state)
{
	struct wanted wanted = {.pid = getpid()};

	assert_int_equal(proc_scan(on_pid, &wanted), 0);
	assert_int_equal(wanted.found, 1);
	assert_int_equal(proc_scan(stop_at_first, NULL), 77);
}

static void test_threads(void **state)
{
	struct wanted wanted = {.pid = getpid()};
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	assert_int_equal(proc_scan_threads(getpid(), on_pid, &wanted), 0);
	assert_int_equal(wanted.found, 1);
	assert_int_equal(proc_scan_threads(child, on_pid, &wanted), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_process_once),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
