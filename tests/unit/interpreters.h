/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the interpreters that scripts/find-pythons lists, for tests that ask them for the truth. */
#ifndef PANOPY_TEST_INTERPRETERS_H
#define PANOPY_TEST_INTERPRETERS_H

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { INTERPRETERS_SKIPPED = 77 };

extern char **environ;

struct child {
	pid_t pid;
	int to_child; /* -1: it reads a file */
	FILE *from_child;
};

/* `stdin_path` NULL: a pipe. 0 or -errno. */
static inline int child_start(struct child *child, char *const argv[], const char *stdin_path)
{
	posix_spawn_file_actions_t actions;
	int in[2], out[2], err;

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		return -errno;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
	if (stdin_path)
		posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, stdin_path, O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
	err = posix_spawnp(&child->pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(in[0]);
	close(out[1]);
	child->to_child = in[1];
	child->from_child = fdopen(out[0], "r");
	return err ? -err : child->from_child ? 0 : -ENOMEM;
}

/* Closes its pipes and waits; its exit status, or -1. */
static inline int child_end(struct child *child)
{
	int status;

	close(child->to_child);
	fclose(child->from_child);
	if (waitpid(child->pid, &status, 0) < 0 || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/* Fills argv with the command and up to five arguments, inside its root file system. */
static inline void interpreter_argv(char *argv[10], char *root, char *command, char *const args[])
{
	int cnt = 0;

	if (strcmp(root, "-") != 0) {
		argv[cnt++] = "chroot";
		argv[cnt++] = root;
	}
	argv[cnt++] = command;
	while (*args)
		argv[cnt++] = *args++;
	argv[cnt] = NULL;
}

/* Calls `check` for each; its failures (not 0) add up to the result, which is a test's exit code. */
static inline int interpreters_check(int (*check)(const char *version, char *root, char *command))
{
	char *argv[] = {PANOPY_SOURCE_DIR "/scripts/find-pythons", NULL};
	char version[64], root[512], command[512];
	struct child list;
	int failed = 0, cnt = 0;

	if (child_start(&list, argv, "/dev/null"))
		return 1;
	while (fscanf(list.from_child, "%63s %511s %511s", version, root, command) == 3) {
		failed |= check(version, root, command) != 0;
		cnt++;
	}
	child_end(&list);
	if (!cnt) {
		printf("skipped: no CPython 3.6 to 3.15 here\n");
		return INTERPRETERS_SKIPPED;
	}
	return failed;
}

#endif
