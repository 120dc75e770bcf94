/* SPDX-License-Identifier: Apache-2.0 */
/* `record -- CMD`: starts the command as the user who called sudo, held back until the recording runs. */
#ifndef PANOPY_LAUNCH_H
#define PANOPY_LAUNCH_H

#include <sys/types.h>

/* Forks the command; it runs once a byte is written to *ret_go_fd, and never if that is closed before.
 * Its standard streams are ours. When it cannot be executed it says so on stderr and exits with 127 (not
 * found) or 126. -errno of the fork. */
int launch_command(char *const *argv, pid_t *ret_pid, int *ret_go_fd);

#endif
