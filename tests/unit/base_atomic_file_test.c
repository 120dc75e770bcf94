/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/atomic_file.h"

static char g_dir[] = "/tmp/panopy-atomic-XXXXXX";
static char g_path[64];

static int set_up(void **state)
{
	if (!mkdtemp(g_dir))
		return -1;
	snprintf(g_path, sizeof(g_path), "%s/out", g_dir);
	return 0;
}

static int tear_down(void **state)
{
	unlink(g_path);
	return rmdir(g_dir);
}

static size_t entry_count(void)
{
	DIR *dir = opendir(g_dir);
	size_t cnt = 0;

	assert_non_null(dir);
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
		cnt += entry->d_name[0] != '.';
	closedir(dir);
	return cnt;
}

static void put(const char *text)
{
	FILE *out = fopen(g_path, "w");

	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

static void assert_content(const char *text)
{
	char buf[64] = "";
	int fd = open(g_path, O_RDONLY);

	assert_true(fd >= 0);
	assert_true(read(fd, buf, sizeof(buf) - 1) >= 0);
	close(fd);
	assert_string_equal(buf, text);
}

static void test_appears_on_commit(void **state)
{
	struct atomic_file *file;

	put("old");
	assert_int_equal(atomic_file_open(&file, g_path), 0);
	assert_int_equal(atomic_file_write(file, "new\n", 4), 0);
	assert_content("old");
	assert_int_equal(atomic_file_commit(file), 0);
	assert_content("new\n");
	assert_int_equal(entry_count(), 1);
}

static void test_discard(void **state)
{
	struct atomic_file *file;

	put("old");
	assert_int_equal(atomic_file_open(&file, g_path), 0);
	assert_int_equal(atomic_file_write(file, "new\n", 4), 0);
	atomic_file_discard(file);
	atomic_file_discard(NULL);
	assert_content("old");
	assert_int_equal(entry_count(), 1);
}

static void test_two_writers(void **state)
{
	struct atomic_file *first, *second;

	assert_int_equal(atomic_file_open(&first, g_path), 0);
	assert_int_equal(atomic_file_open(&second, g_path), 0);
	assert_int_equal(atomic_file_write(first, "first", 5), 0);
	assert_int_equal(atomic_file_write(second, "second", 6), 0);
	assert_int_equal(atomic_file_commit(second), 0);
	assert_content("second");
	assert_int_equal(atomic_file_commit(first), 0);
	assert_content("first");
	assert_int_equal(entry_count(), 1);
}

static void test_keep_existing(void **state)
{
	struct atomic_file *first, *second;

	unlink(g_path);
	assert_int_equal(atomic_file_open(&first, g_path), 0);
	assert_int_equal(atomic_file_open(&second, g_path), 0);
	atomic_file_keep_existing(first);
	atomic_file_keep_existing(second);
	assert_int_equal(atomic_file_write(first, "first", 5), 0);
	assert_int_equal(atomic_file_write(second, "second", 6), 0);
	assert_int_equal(atomic_file_commit(first), 0);
	assert_int_equal(atomic_file_commit(second), -EEXIST);
	assert_content("first");
	assert_int_equal(entry_count(), 1);
}

static void test_abort_leaves_no_temporary_file(void **state)
{
	struct atomic_file *file;

	put("old");
	assert_int_equal(atomic_file_open(&file, g_path), 0);
	assert_int_equal(entry_count(), 2);
	atomic_file_abort();
	assert_int_equal(entry_count(), 1);
	atomic_file_discard(file);
	atomic_file_abort();
	assert_content("old");
}

/* A limit on the file size stands for the full disk: write() then fails with EFBIG. */
static void test_full_disk_keeps_the_old_file(void **state)
{
	static const char block[1 << 16];
	struct rlimit old_limit, limit;
	struct atomic_file *file;
	int err = 0;

	put("old");
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
	limit = (struct rlimit){.rlim_cur = 100000, .rlim_max = old_limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(atomic_file_open(&file, g_path), 0);
	for (int i = 0; i < 4 && !err; i++)
		err = atomic_file_write(file, block, sizeof(block));
	assert_int_equal(err, -EFBIG);
	assert_int_equal(atomic_file_write(file, "x", 1), -EFBIG);
	assert_int_equal(atomic_file_commit(file), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old_limit), 0);
	assert_content("old");
	assert_int_equal(entry_count(), 1);
}

static void test_device_is_written_directly(void **state)
{
	struct atomic_file *file;

	assert_int_equal(atomic_file_open(&file, "/dev/full"), 0);
	assert_int_equal(atomic_file_write(file, "x", 1), 0);
	assert_int_equal(atomic_file_commit(file), -ENOSPC);
	assert_int_equal(atomic_file_open(&file, "/dev/null"), 0);
	assert_int_equal(atomic_file_write(file, "x", 1), 0);
	assert_int_equal(atomic_file_commit(file), 0);
}

static void test_link_stays_a_link(void **state)
{
	struct atomic_file *file;
	char link_path[80];
	struct stat st;

	put("old");
	snprintf(link_path, sizeof(link_path), "%s/link", g_dir);
	assert_int_equal(symlink("out", link_path), 0);
	assert_int_equal(atomic_file_open(&file, link_path), 0);
	assert_int_equal(atomic_file_write(file, "new", 3), 0);
	assert_int_equal(atomic_file_commit(file), 0);
	assert_int_equal(lstat(link_path, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_content("new");
	unlink(link_path);
}

static void test_errors_of_open(void **state)
{
	struct atomic_file *file = NULL;

	assert_int_equal(atomic_file_open(&file, ""), -ENOENT);
	assert_int_equal(atomic_file_open(&file, g_dir), -EISDIR);
	assert_int_equal(atomic_file_open(&file, "/nonexistent/dir/out"), -ENOENT);
	assert_int_equal(atomic_file_open(&file, "/proc/out"), -ENOENT);
	assert_null(file);
}

static void test_sudo_user_owns_it(void **state)
{
	struct atomic_file *file;
	struct stat st;

	if (geteuid() != 0) {
		print_message("skipped: not root, nothing can be given away\n");
		skip();
	}
	setenv("SUDO_UID", "12345", 1);
	setenv("SUDO_GID", "23456", 1);
	assert_int_equal(atomic_file_open(&file, g_path), 0);
	assert_int_equal(atomic_file_commit(file), 0);
	assert_int_equal(stat(g_path, &st), 0);
	assert_int_equal(st.st_uid, 12345);
	assert_int_equal(st.st_gid, 23456);
	setenv("SUDO_UID", "12x", 1);
	assert_int_equal(atomic_file_open(&file, g_path), 0);
	assert_int_equal(atomic_file_commit(file), 0);
	assert_int_equal(stat(g_path, &st), 0);
	assert_int_equal(st.st_uid, 0);
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
}

static void test_stdout(void **state)
{
	int saved = dup(STDOUT_FILENO);
	struct atomic_file *file;
	int fd, err;

	put("");
	fflush(stdout);
	fd = open(g_path, O_WRONLY);
	assert_true(fd >= 0 && saved >= 0);
	dup2(fd, STDOUT_FILENO);
	err = atomic_file_open(&file, "-");
	if (!err)
		err = atomic_file_write(file, "text", 4);
	if (!err)
		err = atomic_file_commit(file);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(fd);
	assert_int_equal(err, 0);
	assert_content("text");
}

enum { PIPE_BYTES = 1 << 20 };

static void on_interrupt(int number)
{
	(void)number;
	atomic_file_abort();
	_exit(0);
}

/* Interrupted `delay_ns` after it began to open the file. */
static void __attribute__((noreturn)) run_interrupted(long delay_ns)
{
	const struct itimerspec delay = {.it_value.tv_nsec = delay_ns};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGINT};
	struct atomic_file *file;
	timer_t timer;

	signal(SIGINT, on_interrupt);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &delay, NULL) ||
	    atomic_file_open(&file, g_path))
		_exit(1);
	for (;;)
		pause();
}

/* From before the file is made to after it. */
static void test_abort_at_any_instant(void **state)
{
	size_t before = entry_count();

	for (long delay_ns = 500; delay_ns < 300000; delay_ns += 500) {
		pid_t pid = fork();
		int status;

		if (!pid)
			run_interrupted(delay_ns);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	assert_int_equal(entry_count(), before);
}

/* Takes all that comes and says how much it was, in units of 64 KiB. */
static void __attribute__((noreturn)) run_slow_reader(int fd)
{
	static char buf[1 << 16];
	size_t total = 0;
	ssize_t n;

	usleep(20000); /* the writer has filled the pipe by then, or it proves nothing */
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		total += (size_t)n;
	_exit((int)(total >> 16));
}

static void test_full_pipe_is_waited_for(void **state)
{
	static const char block[1 << 16];
	int saved = dup(STDOUT_FILENO), fds[2], err, status;
	struct atomic_file *file;
	pid_t reader;

	fflush(stdout);
	assert_int_equal(pipe(fds), 0);
	reader = fork();
	if (!reader) {
		close(fds[1]);
		run_slow_reader(fds[0]);
	}
	assert_int_equal(fcntl(fds[1], F_SETFL, O_NONBLOCK), 0);
	dup2(fds[1], STDOUT_FILENO);
	close(fds[1]);
	err = atomic_file_open(&file, "-");
	for (size_t done = 0; !err && done < PIPE_BYTES; done += sizeof(block))
		err = atomic_file_write(file, block, sizeof(block));
	err = atomic_file_commit(file) ?: err;
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(fds[0]);
	assert_int_equal(waitpid(reader, &status, 0), reader);
	assert_int_equal(err, 0);
	assert_int_equal(WEXITSTATUS(status), PIPE_BYTES >> 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_appears_on_commit),
		cmocka_unit_test(test_discard),
		cmocka_unit_test(test_two_writers),
		cmocka_unit_test(test_keep_existing),
		cmocka_unit_test(test_abort_leaves_no_temporary_file),
		cmocka_unit_test(test_abort_at_any_instant),
		cmocka_unit_test(test_full_disk_keeps_the_old_file),
		cmocka_unit_test(test_device_is_written_directly),
		cmocka_unit_test(test_link_stays_a_link),
		cmocka_unit_test(test_errors_of_open),
		cmocka_unit_test(test_sudo_user_owns_it),
		cmocka_unit_test(test_stdout),
		cmocka_unit_test(test_full_pipe_is_waited_for),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
