/* SPDX-License-Identifier: Apache-2.0 */
/* Who descends from whom, from one look at /proc. */
#ifndef PANOPY_DISCOVER_PROC_TREE_H
#define PANOPY_DISCOVER_PROC_TREE_H

#include <stddef.h>
#include <sys/types.h>

/* Calls on_pid for every living descendant of the `cnt` roots, parents before children, the roots
 * themselves not. Processes that come or go meanwhile may be missed. 0 or -errno. */
int proc_tree_descendants(const pid_t *roots, size_t cnt, void (*on_pid)(void *ctx, pid_t pid), void *ctx);

/* A child belongs to the thread that made it; so many threads are asked. */
enum { PROC_TREE_MAX_THREADS = 4096 };

/* The children of a process. Needs CONFIG_PROC_CHILDREN; none are told without. */
void proc_tree_children(pid_t pid, void (*on_pid)(void *ctx, pid_t pid), void *ctx);

#endif
