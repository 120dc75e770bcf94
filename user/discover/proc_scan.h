/* SPDX-License-Identifier: Apache-2.0 */
/* One walk over /proc. */
#ifndef PANOPY_DISCOVER_PROC_SCAN_H
#define PANOPY_DISCOVER_PROC_SCAN_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether /proc is mounted. */
bool proc_scan_is_possible(void);

/* Calls on_pid for every process (not thread) of this pid namespace, ascending; stops at the first
 * non-zero return and returns it. -errno when /proc cannot be read. */
int proc_scan(int (*on_pid)(void *ctx, pid_t pid), void *ctx);

/* The same for the threads of one process. */
int proc_scan_threads(pid_t pid, int (*on_tid)(void *ctx, pid_t tid), void *ctx);

#endif
