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
	bool is_dead; /* a zombie, or its main thread is one */
};

struct tree {
	struct node *nodes;
	size_t cnt;
	size_t cap;
};

/* Fields 3 and 4 of stat, behind the name, which may hold anything: the last ")" counts. No parent when gone. */
static struct node node_of(pid_t pid)
{
	struct node node = {.pid = pid};
	char path[64], text[512], state;
	const char *end;
	int parent;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (text_file_read(path, text, sizeof(text)) < 0)
		return node;
	end = strrchr(text, ')');
	if (!end || sscanf(end + 1, " %c %d", &state, &parent) != 2)
		return node;
	node.parent = parent;
	node.is_dead = state == 'Z' || state == 'X';
	return node;
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
	tree->nodes[tree->cnt++] = node_of(pid);
	return 0;
}

static int compare_pids(const void *left, const void *right)
{
	const struct node *a = left, *b = right;

	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

static int compare_parents(const void *left, const void *right)
{
	const struct node *a = left, *b = right;

	return a->parent != b->parent ? (a->parent < b->parent ? -1 : 1) : compare_pids(left, right);
}

/* Puts the nodes in the order of their parents, the roots marked as found. */
static void tree_order(struct tree *tree, const pid_t *roots, size_t cnt)
{
	qsort(tree->nodes, tree->cnt, sizeof(*tree->nodes), compare_pids);
	for (size_t i = 0; i < cnt; i++) {
		struct node wanted = {.pid = roots[i]};
		struct node *root =
			bsearch(&wanted, tree->nodes, tree->cnt, sizeof(*tree->nodes), compare_pids);

		if (root)
			root->found = true;
	}
	qsort(tree->nodes, tree->cnt, sizeof(*tree->nodes), compare_parents);
}

/* Index of the first node with this parent, or of the first behind where it would be. */
static size_t first_child(const struct tree *tree, pid_t parent)
{
	size_t low = 0, high = tree->cnt;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (tree->nodes[middle].parent < parent)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
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
	if (!err && tree.cnt)
		tree_order(&tree, roots, cnt);
	for (size_t i = 0; !err && i < cnt; i++)
		known[known_cnt++] = roots[i];
	/* Breadth first: each known process hands on to the children not yet found. */
	for (size_t at = 0; !err && at < known_cnt; at++) {
		for (size_t i = first_child(&tree, known[at]);
		     i < tree.cnt && tree.nodes[i].parent == known[at]; i++) {
			struct node *node = &tree.nodes[i];

			if (node->found)
				continue;
			node->found = true;
			known[known_cnt++] = node->pid;
			if (!node->is_dead)
				on_pid(ctx, node->pid);
		}
	}
	free(known);
	free(tree.nodes);
	return err;
}

struct child_walk {
	pid_t pid;
	size_t thread_cnt;
	void (*on_pid)(void *ctx, pid_t pid);
	void *ctx;
};

static int on_thread(void *ctx, pid_t tid)
{
	struct child_walk *walk = ctx;
	char path[64];
	CLEANUP_FILE FILE *file = NULL;
	int child;

	if (walk->thread_cnt++ == PROC_TREE_MAX_THREADS)
		return -E2BIG;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)walk->pid, (int)tid);
	file = fopen(path, "re");
	while (file && fscanf(file, "%d", &child) == 1)
		walk->on_pid(walk->ctx, child);
	return 0;
}

void proc_tree_children(pid_t pid, void (*on_pid)(void *ctx, pid_t pid), void *ctx)
{
	struct child_walk walk = {.pid = pid, .on_pid = on_pid, .ctx = ctx};

	(void)proc_scan_threads(pid, on_thread, &walk);
}
