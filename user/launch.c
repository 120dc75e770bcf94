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

static void __attribute__((noreturn)) run_child(char *const *argv, int go_fd)
{
	sigset_t none;
	char go;
	int err;

	if (read(go_fd, &go, 1) != 1)
		_exit(EXIT_NOT_EXECUTABLE);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	err = drop_privileges();
	if (err) {
		fprintf(stderr, "panopy: the command cannot run as the user behind sudo: %s\n",
			strerror(-err));
		_exit(EXIT_NOT_EXECUTABLE);
	}
	execvp(argv[0], argv);
	err = errno;
	fprintf(stderr, "panopy: %s cannot be executed: %s\n", argv[0], strerror(err));
	_exit(err == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

int launch_command(char *const *argv, pid_t *ret_pid, int *ret_go_fd)
{
	CLEANUP_FD int read_fd = -1;
	CLEANUP_FD int write_fd = -1;
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	read_fd = fds[0];
	write_fd = fds[1];
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid) {
		close(write_fd);
		run_child(argv, read_fd);
	}
	*ret_pid = pid;
	*ret_go_fd = steal_fd(&write_fd);
	return 0;
}
