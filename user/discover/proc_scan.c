/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "discover/proc_scan.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* /proc lists pids in ascending order (fs/proc/base.c proc_pid_readdir, proc_task_readdir). */
static int scan_numbers(const char *path, int (*on_number)(void *ctx, pid_t number), void *ctx)
{
	DIR *dir = opendir(path);
	int result = 0;

	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	for (;;) {
		const struct dirent *entry;

		errno = 0;
		entry = readdir(dir);
		if (!entry) {
			result = -errno;
			break;
		}
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		result = on_number(ctx, (pid_t)strtol(entry->d_name, NULL, 10));
		if (result)
			break;
	}
	closedir(dir);
	return result;
}

bool proc_scan_is_possible(void)
{
	return access("/proc/stat", F_OK) == 0;
}

int proc_scan(int (*on_pid)(void *ctx, pid_t pid), void *ctx)
{
	/* Where it is not mounted there is a folder all the same. */
	return proc_scan_is_possible() ? scan_numbers("/proc", on_pid, ctx) : -ENOENT;
}

int proc_scan_threads(pid_t pid, int (*on_tid)(void *ctx, pid_t tid), void *ctx)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	return scan_numbers(path, on_tid, ctx);
}
