/* SPDX-License-Identifier: Apache-2.0 */
#include "discover/proc_tree.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text_file.h"
#include "discover/proc_scan.h"

struct node {
	pid_t pid;
	pid_t parent;
	bool found;
};

struct tree {
	struct node *nodes;
	size_t cnt;
	size_t cap;
};

/* Field 4 of stat, behind the name, which may hold anything: the last ")" counts. 0 when gone. */
static pid_t parent_of(pid_t pid)
{
	char path[64], text[512];
	const char *end;
	int parent = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (text_file_read(path, text, sizeof(text)) < 0)
		return 0;
	end = strrchr(text, ')');
	if (!end || sscanf(end + 1, " %*c %d", &parent) != 1)
		return 0;
	return parent;
}

static int on_pid_collect(void *ctx, pid_t pid)
{
	struct tree *tree = ctx;

	if (tree->cnt == tree->cap) {
		size_t cap = tree->cap ? 2 * tree->cap : 256;
		struct node *nodes = reallocarray(tree->nodes, cap, sizeof(*nodes));

		if (!nodes)
			return -ENOMEM;
		tree->nodes = nodes;
		tree->cap = cap;
	}
	tree->nodes[tree->cnt++] = (struct node){.pid = pid, .parent = parent_of(pid)};
	return 0;
}

static bool is_among(const pid_t *pids, size_t cnt, pid_t pid)
{
	for (size_t i = 0; i < cnt; i++) {
		if (pids[i] == pid)
			return true;
	}
	return false;
}

int proc_tree_descendants(const pid_t *roots, size_t cnt, void (*on_pid)(void *ctx, pid_t pid), void *ctx)
{
	struct tree tree = {0};
	pid_t *known;
	size_t known_cnt = 0;
	int err = proc_scan(on_pid_collect, &tree);

	known = calloc(tree.cnt + cnt, sizeof(*known));
	if (!err && !known)
		err = -ENOMEM;
	for (size_t i = 0; !err && i < cnt; i++)
		known[known_cnt++] = roots[i];
	/* Breadth first: each known process hands on to the children not yet found. */
	for (size_t at = 0; !err && at < known_cnt; at++) {
		for (size_t i = 0; i < tree.cnt; i++) {
			struct node *node = &tree.nodes[i];

			if (node->found || node->parent != known[at] || is_among(roots, cnt, node->pid))
				continue;
			node->found = true;
			known[known_cnt++] = node->pid;
			on_pid(ctx, node->pid);
		}
	}
	free(known);
	free(tree.nodes);
	return err;
}

void proc_tree_children(pid_t pid, void (*on_pid)(void *ctx, pid_t pid), void *ctx)
{
	char path[64];
	CLEANUP_FILE FILE *file = NULL;
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	file = fopen(path, "re");
	while (file && fscanf(file, "%d", &child) == 1)
		on_pid(ctx, child);
}
