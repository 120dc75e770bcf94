/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/deadline_call.h"

enum { SHORT_NS = 50 * 1000 * 1000 };

static const u64 LONG_NS = 20 * CLOCK_NS_PER_S;

static atomic_uint released_cnt;

struct call {
	int fd;
	int value;
	pid_t pid;
	char byte;
};

static struct call *call_new(int fd, int value)
{
	struct call *call = calloc(1, sizeof(*call));

	assert_non_null(call);
	call->fd = fd;
	call->value = value;
	return call;
}

static void call_free(void *block)
{
	free(block);
	atomic_fetch_add(&released_cnt, 1);
}

static void run_double(void *block)
{
	struct call *call = block;

	call->value *= 2;
	call->pid = getpid();
}

/* Waits until somebody writes. */
static void run_read(void *block)
{
	struct call *call = block;

	call->value = (int)read(call->fd, &call->byte, 1);
}

static void run_open(void *block)
{
	struct call *call = block;

	call->fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void run_fail(void *block)
{
	struct call *call = block;

	call->value = open("/nonexistent", O_RDONLY) < 0 ? errno : 0;
}

static void wait_released(unsigned int cnt)
{
	for (int i = 0; i < 1000 && atomic_load(&released_cnt) < cnt; i++)
		usleep(10000);
	assert_int_equal(atomic_load(&released_cnt), cnt);
}

static void double_once(void)
{
	struct call *call = call_new(-1, 21);

	assert_int_equal(deadline_call(0, run_double, call_free, call, LONG_NS), 0);
	assert_int_equal(call->value, 42);
	free(call);
}

static void test_results_are_the_callers(void **state)
{
	struct call *call = call_new(-1, 21);

	assert_int_equal(deadline_call(0, run_double, call_free, call, LONG_NS), 0);
	assert_int_equal(call->value, 42);
	assert_true(call->pid != getpid());
	assert_int_equal(kill(call->pid, 0), 0);
	free(call);
	assert_int_equal(atomic_load(&released_cnt), 0);
}

static void test_descriptors_are_shared_errno_is_not(void **state)
{
	struct call *call = call_new(-1, 0);

	errno = EXDEV;
	assert_int_equal(deadline_call(0, run_open, call_free, call, LONG_NS), 0);
	assert_true(fcntl(call->fd, F_GETFD) >= 0);
	close(call->fd);
	errno = EXDEV;
	assert_int_equal(deadline_call(0, run_fail, call_free, call, LONG_NS), 0);
	assert_int_equal(call->value, ENOENT);
	assert_int_equal(errno, EXDEV);
	free(call);
}

static void test_one_that_hangs_is_left_and_released_late(void **state)
{
	int fds[2];
	u64 begin;

	atomic_store(&released_cnt, 0);
	assert_int_equal(pipe(fds), 0);
	begin = clock_monotonic_ns();
	assert_int_equal(deadline_call(0, run_read, call_free, call_new(fds[0], 0), SHORT_NS), -ETIMEDOUT);
	assert_in_range(clock_monotonic_ns() - begin, SHORT_NS, 5 * CLOCK_NS_PER_S);
	assert_int_equal(atomic_load(&released_cnt), 0);
	double_once();
	assert_int_equal(write(fds[1], "x", 1), 1);
	wait_released(1);
	double_once();
	close(fds[0]);
	close(fds[1]);
}

static void test_what_hung_is_not_asked_again(void **state)
{
	u64 subject = deadline_subject_device(77);
	struct call *call = call_new(-1, 1);
	int fds[2];

	atomic_store(&released_cnt, 0);
	assert_int_equal(pipe(fds), 0);
	assert_false(deadline_is_shunned(subject));
	assert_int_equal(deadline_call(subject, run_read, call_free, call_new(fds[0], 0), SHORT_NS),
			 -ETIMEDOUT);
	assert_true(deadline_is_shunned(subject));
	assert_int_equal(deadline_call(subject, run_double, call_free, call, LONG_NS), -EBUSY);
	assert_int_equal(call->value, 1); /* ours still, and not run */
	assert_int_equal(deadline_call(deadline_subject_pid(77), run_double, call_free, call, LONG_NS), 0);
	assert_int_equal(call->value, 2);
	free(call);
	assert_int_equal(write(fds[1], "x", 1), 1);
	wait_released(1);
	close(fds[0]);
	close(fds[1]);
}

static void test_few_may_hang_at_one_time(void **state)
{
	struct call *call = call_new(-1, 21);
	char bytes[DEADLINE_CALL_MAX_STUCK] = "";
	int fds[2], err;

	atomic_store(&released_cnt, 0);
	assert_int_equal(pipe(fds), 0);
	for (int i = 0; i < DEADLINE_CALL_MAX_STUCK; i++)
		assert_int_equal(deadline_call(0, run_read, call_free, call_new(fds[0], 0), SHORT_NS),
				 -ETIMEDOUT);
	assert_int_equal(deadline_call(0, run_double, call_free, call, LONG_NS), -EIO);
	assert_int_equal(call->value, 21);
	assert_int_equal(write(fds[1], bytes, sizeof(bytes)), sizeof(bytes));
	wait_released(DEADLINE_CALL_MAX_STUCK);
	/* The worker's end is noticed a moment after the release. */
	for (int i = 0; (err = deadline_call(0, run_double, call_free, call, LONG_NS)) == -EIO && i < 1000;
	     i++)
		usleep(10000);
	assert_int_equal(err, 0);
	assert_int_equal(call->value, 42);
	free(call);
	close(fds[0]);
	close(fds[1]);
}

/* A child that leaves a call behind and ends: its output must not stay open. */
static void test_a_program_ends_in_spite_of_it(void **state)
{
	int out[2], never[2], status;
	char text[16] = "";
	pid_t pid;

	assert_int_equal(pipe(out), 0);
	assert_int_equal(pipe(never), 0);
	pid = fork();
	if (pid == 0) {
		double_once();
		dup2(out[1], STDOUT_FILENO);
		close(out[1]);
		if (deadline_call(0, run_read, call_free, call_new(never[0], 0), SHORT_NS) != -ETIMEDOUT)
			_exit(1);
		printf("the end");
		exit(0);
	}
	close(out[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	while (read(out[0], text + strlen(text), sizeof(text) - 1 - strlen(text)) > 0)
		;
	assert_string_equal(text, "the end");
	close(out[0]);
	close(never[0]);
	close(never[1]);
}

static void test_is_cheap(void **state)
{
	u64 begin = clock_monotonic_ns(), spent;

	for (int i = 0; i < 1000; i++)
		double_once();
	spent = clock_monotonic_ns() - begin;
	print_message("%.1f us a call\n", (double)spent / 1e6);
	assert_true(spent < 2 * CLOCK_NS_PER_S);
	assert_true(deadline_call_cpu_ns() > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_results_are_the_callers),
		cmocka_unit_test(test_descriptors_are_shared_errno_is_not),
		cmocka_unit_test(test_one_that_hangs_is_left_and_released_late),
		cmocka_unit_test(test_what_hung_is_not_asked_again),
		cmocka_unit_test(test_few_may_hang_at_one_time),
		cmocka_unit_test(test_a_program_ends_in_spite_of_it),
		cmocka_unit_test(test_is_cheap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
