/* SPDX-License-Identifier: Apache-2.0 */
#include "followed_tree.h"

#include <errno.h>
#include <stdlib.h>

#include "discover/proc_tree.h"
#include "kernel/process_publish.h"

/* Each that is found new may have forked before: /proc is looked at until nothing is new, so many times at most. */
enum { LOOKS_MAX = 16 };

int followed_tree_add(struct followed_tree *tree, pid_t pid)
{
	struct process_config config;
	struct process *process;
	int err;

	/* The fork hook may have been there first. */
	if (!process_publish_get(tree->processes_fd, pid, &config))
		return process_table_add(tree->processes, pid, &process);
	err = tree->follow(tree->ctx, pid);
	tree->new_cnt += !err;
	return err;
}

int followed_tree_add_all(struct followed_tree *tree, const pid_t *pids, size_t cnt, pid_t *ret_failed)
{
	for (size_t i = 0; i < cnt; i++) {
		int err = followed_tree_add(tree, pids[i]);

		if (err) {
			*ret_failed = pids[i];
			return err;
		}
	}
	return 0;
}

static void on_descendant(void *ctx, pid_t pid)
{
	(void)followed_tree_add(ctx, pid);
}

/* The kernel side takes an entry away only at an exit: whoever has the pid without one is somebody else. */
static size_t list_followed(const struct followed_tree *tree, pid_t *pids)
{
	struct process_config config;
	size_t cnt = 0;

	for (size_t id = 0; id < process_table_count(tree->processes); id++) {
		const struct process *process = process_table_at(tree->processes, (u32)id);

		if (!process->ended && !process_publish_get(tree->processes_fd, process->pid, &config))
			pids[cnt++] = process->pid;
	}
	return cnt;
}

int followed_tree_descend(struct followed_tree *tree)
{
	size_t before;
	int err;

	for (int look = 0; look < LOOKS_MAX; look++) {
		pid_t *pids = calloc(process_table_count(tree->processes) + 1, sizeof(*pids));

		if (!pids)
			return -ENOMEM;
		before = tree->new_cnt;
		err = proc_tree_descendants(pids, list_followed(tree, pids), on_descendant, tree);
		free(pids);
		if (err || tree->new_cnt == before)
			return err;
	}
	return 0;
}
