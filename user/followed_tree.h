/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever descends from given processes has an entry of the kernel side, which hands it on at a fork. Those that were
 * forked before their parent had one are found in /proc.
 */
#ifndef PANOPY_FOLLOWED_TREE_H
#define PANOPY_FOLLOWED_TREE_H

#include <stddef.h>
#include <sys/types.h>

#include "discover/process_table.h"

struct followed_tree {
	struct process_table *processes;
	int processes_fd;
	/* Makes the entry of one that has none. */
	int (*follow)(void *ctx, pid_t pid);
	void *ctx;
	size_t new_cnt; /* so many times */
};

/* One that has an entry keeps it: it may be published, and has ticks outside. 0 or -errno. */
int followed_tree_add(struct followed_tree *tree, pid_t pid);

/* All of them; 0, or -errno and of whom. */
int followed_tree_add_all(struct followed_tree *tree, const pid_t *pids, size_t cnt, pid_t *ret_failed);

/* Adds all descendants of the processes in the table that have an entry. 0 or -errno. */
int followed_tree_descend(struct followed_tree *tree);

#endif
