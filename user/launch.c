/* SPDX-License-Identifier: Apache-2.0 */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sudo_user.h"

enum {
	EXIT_NOT_EXECUTABLE = 126, /* as the shell has it */
	EXIT_NOT_FOUND = 127,
};

static void replace_roots(const char *name, const char *roots, const char *users)
{
	const char *value = getenv(name);

	if (!value || strcmp(value, roots) == 0)
		setenv(name, users, 1);
}

/* sudo gives HOME and the like of the user that it runs us as, where programs cannot write and packages in
 * the user's own site are not found. What somebody set to another value stays. */
static void restore_environment(uid_t uid)
{
	const struct passwd *entry = getpwuid(0);
	char root_home[PATH_MAX];

	snprintf(root_home, sizeof(root_home), "%s", entry ? entry->pw_dir : "/root");
	entry = getpwuid(uid);
	if (!entry)
		return;
	replace_roots("HOME", root_home, entry->pw_dir);
	replace_roots("USER", "root", entry->pw_name);
	replace_roots("LOGNAME", "root", entry->pw_name);
}

/* Back to the user behind sudo; as we are where there is none. */
static int drop_privileges(void)
{
	const char *name = getenv("SUDO_USER");
	uid_t uid;
	gid_t gid;
	int err = sudo_user_ids(&uid, &gid);

	if (err)
		return err == -ENOENT ? 0 : err;
	if (name ? initgroups(name, gid) : setgroups(0, NULL))
		return -errno;
	if (setgid(gid) || setuid(uid))
		return -errno;
	restore_environment(uid);
	return 0;
}

struct failure {
	int err;
	bool is_of_user; /* not of the command itself */
};

static void __attribute__((noreturn)) fail(int failure_fd, int err, bool is_of_user)
{
	const struct failure failure = {err, is_of_user};

	/* Nobody reads once panopy has ended; the status tells then. */
	(void)!write(failure_fd, &failure, sizeof(failure));
	_exit(err == ENOENT && !is_of_user ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

static void __attribute__((noreturn)) run_child(char *const *argv, int go_fd, int failure_fd)
{
	sigset_t none;
	char go;
	int err;

	if (read(go_fd, &go, 1) != 1)
		_exit(EXIT_NOT_EXECUTABLE);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	err = drop_privileges();
	if (err)
		fail(failure_fd, -err, true);
	execvp(argv[0], argv);
	fail(failure_fd, errno, false);
}

int launch_command(char *const *argv, struct launched *ret_launched)
{
	CLEANUP_FD int go_read_fd = -1;
	CLEANUP_FD int go_write_fd = -1;
	CLEANUP_FD int failure_read_fd = -1;
	CLEANUP_FD int failure_write_fd = -1;
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	go_read_fd = fds[0];
	go_write_fd = fds[1];
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	failure_read_fd = fds[0];
	failure_write_fd = fds[1];
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid) {
		close(go_write_fd);
		close(failure_read_fd);
		run_child(argv, go_read_fd, failure_write_fd);
	}
	ret_launched->pid = pid;
	ret_launched->go_fd = steal_fd(&go_write_fd);
	ret_launched->failure_fd = steal_fd(&failure_read_fd);
	return 0;
}

bool launch_has_failed(const struct launched *launched, char *const *argv, char *ret_message, size_t sz)
{
	struct failure failure;

	if (read(launched->failure_fd, &failure, sizeof(failure)) != sizeof(failure))
		return false;
	if (failure.is_of_user)
		snprintf(ret_message, sz, "the command cannot run as the user behind sudo: %s",
			 strerror(failure.err));
	else
		snprintf(ret_message, sz, "%s cannot be executed: %s", argv[0], strerror(failure.err));
	return true;
}
