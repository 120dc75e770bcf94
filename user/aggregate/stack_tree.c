/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregate/stack_tree.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/id_map.h"

struct node {
	u32 parent;
	u32 frame_id;
};

struct stack_tree {
	struct id_map children; /* key -> node */
	u64 seed;
	struct node *nodes;
	size_t cnt;
	size_t cap;
	size_t max;
};

static int reserve(struct stack_tree *tree)
{
	size_t cap = tree->cap ? tree->cap * 2 : 256;
	struct node *nodes;

	if (tree->cnt < tree->cap)
		return 0;
	nodes = reallocarray(tree->nodes, cap, sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	tree->nodes = nodes;
	tree->cap = cap;
	return 0;
}

int stack_tree_new(struct stack_tree **ret_tree, size_t max_nodes)
{
	struct stack_tree *tree = calloc(1, sizeof(*tree));

	if (!tree)
		return -ENOMEM;
	tree->max = max_nodes < ID_MAP_NONE - 1 ? max_nodes : ID_MAP_NONE - 1;
	tree->seed = hash_seed();
	id_map_init(&tree->children, tree->max);
	if (reserve(tree)) {
		stack_tree_free(tree);
		return -ENOMEM;
	}
	tree->nodes[tree->cnt++] = (struct node){0};
	*ret_tree = tree;
	return 0;
}

void stack_tree_free(struct stack_tree *tree)
{
	if (!tree)
		return;
	id_map_release(&tree->children);
	free(tree->nodes);
	free(tree);
}

u64 stack_tree_key(const struct stack_tree *tree, u64 parent_key, u32 frame_id)
{
	return hash_mix(parent_key ^ frame_id, tree->seed);
}

void stack_tree_prefetch(const struct stack_tree *tree, u64 key)
{
	id_map_prefetch(&tree->children, key);
}

static int add(struct stack_tree *tree, u64 key, const struct node *node, u32 *ret_node)
{
	int err = reserve(tree);

	if (!err)
		err = id_map_put(&tree->children, key, (u32)tree->cnt);
	if (err)
		return err;
	tree->nodes[tree->cnt] = *node;
	*ret_node = (u32)tree->cnt++;
	return 0;
}

int stack_tree_child(struct stack_tree *tree, u32 parent, u32 frame_id, u64 key, u32 *ret_node)
{
	/* Another stack's key may be the same: then the next of a fixed sequence. */
	for (;; key = hash_mix(key, tree->seed)) {
		u32 node = id_map_find(&tree->children, key);

		if (node == ID_MAP_NONE)
			return add(tree, key, &(struct node){.parent = parent, .frame_id = frame_id},
				   ret_node);
		if (tree->nodes[node].parent == parent && tree->nodes[node].frame_id == frame_id) {
			*ret_node = node;
			return 0;
		}
	}
}

u32 stack_tree_parent(const struct stack_tree *tree, u32 node)
{
	return tree->nodes[node].parent;
}

u32 stack_tree_frame(const struct stack_tree *tree, u32 node)
{
	return tree->nodes[node].frame_id;
}

size_t stack_tree_depth(const struct stack_tree *tree, u32 node)
{
	size_t depth = 0;

	for (; node != STACK_TREE_ROOT; node = tree->nodes[node].parent)
		depth++;
	return depth;
}

size_t stack_tree_count(const struct stack_tree *tree)
{
	return tree->cnt;
}
