/* SPDX-License-Identifier: Apache-2.0 */
/* `record -- CMD`: starts the command as the user who called sudo, held back until the recording runs. */
#ifndef PANOPY_LAUNCH_H
#define PANOPY_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct launched {
	pid_t pid;
	int go_fd;	/* a byte written here lets it run; it never does if this is closed before */
	int failure_fd; /* for launch_has_failed */
};

/* Forks the command and holds it back. Its standard streams are ours. When it cannot be executed it exits with 127
 * (not found) or 126. -errno of the fork. */
int launch_command(char *const *argv, struct launched *ret_launched);

/* True, with the reason in `ret_message`, if the command was let run and could not be executed. */
bool launch_has_failed(const struct launched *launched, char *const *argv, char *ret_message, size_t sz);

#endif
