/* SPDX-License-Identifier: Apache-2.0 */
/* Prefix tree of stacks: (parent node, frame) -> node, shared by all processes and threads. Node 0 is
 * the empty stack.
 */
#ifndef PANOPY_AGGREGATE_STACK_TREE_H
#define PANOPY_AGGREGATE_STACK_TREE_H

#include <stddef.h>

#include "shared_types.h"

struct stack_tree;

enum { STACK_TREE_ROOT = 0 };

int stack_tree_new(struct stack_tree **ret_tree, size_t max_nodes);
void stack_tree_free(struct stack_tree *tree);

/* Where a node is found follows from the frames above it alone, so that a whole stack can be asked for
 * ahead: the key of a child, from that of its parent. The root's is 0. */
u64 stack_tree_key(const struct stack_tree *tree, u64 parent_key, u32 frame_id);
void stack_tree_prefetch(const struct stack_tree *tree, u64 key);

/* `key` is the child's. -ENOSPC: the tree is full and has no such child. -ENOMEM. */
int stack_tree_child(struct stack_tree *tree, u32 parent, u32 frame_id, u64 key, u32 *ret_node);

u32 stack_tree_parent(const struct stack_tree *tree, u32 node); /* of the root: the root */
u32 stack_tree_frame(const struct stack_tree *tree, u32 node);
size_t stack_tree_depth(const struct stack_tree *tree, u32 node);
size_t stack_tree_count(const struct stack_tree *tree);

#endif
