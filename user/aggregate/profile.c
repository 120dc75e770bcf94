/* SPDX-License-Identifier: Apache-2.0 */
/* A leaf is one distinct (thread, status, reason, stack) with its weights; leaves point into one tree
 * shared by all. Each thread's last stack is kept in a small table, so that the part it shares with
 * the next one, root first, costs a comparison per frame and no look-up.
 */
#include "aggregate/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/hot_functions.h"
#include "aggregate/stack_tree.h"
#include "base/hash.h"
#include "base/id_map.h"

/* In the name of a stack: its leaf end found no room in the tree, and the rest stands for it. */
#define NODE_FOLDED 0x80000000u

enum {
	MAX_NODES = 1 << 30, /* below NODE_FOLDED */
	MAX_NODES_DEFAULT = 4 << 20,
	MAX_FRAMES_DEFAULT = 1 << 20,
	MAX_THREADS_DEFAULT = 1 << 20,
	MAX_PROCESSES = 1 << 24,
	LAST_STACKS = 256,	/* threads whose last stack is kept; others cost a look-up per frame */
	LAST_STACK_DEPTH = 512, /* frames of it: 8 KiB a thread */
	AHEAD = 32,		/* frames that the tree is asked for ahead */
};

struct thread {
	u32 process_id;
	u32 tid;
	char name[LIMIT_COMM_SZ];
};

struct leaf {
	u32 thread_idx;
	u32 node;
	u8 status;
	u8 reason;
	bool folded;
	bool has_folded_frame;
	u64 samples;
	u64 weight_ns;
};

struct last_stack {
	u32 thread_idx;
	u32 cnt;
	u32 frame_ids[LAST_STACK_DEPTH]; /* root first */
	u32 nodes[LAST_STACK_DEPTH];
	u64 keys[LAST_STACK_DEPTH]; /* of the nodes, in the tree */
};

struct profile {
	struct frame_table *frames;
	struct stack_tree *tree;
	struct id_map thread_ids; /* hash of process and tid -> thread */
	struct thread *threads;
	size_t thread_cnt, thread_cap, max_threads;
	struct id_map leaf_ids; /* hash of all that tells leaves apart -> leaf */
	struct leaf *leaves;
	size_t leaf_cnt, leaf_cap, max_leaves;
	struct profile_totals totals;
	struct profile_totals *processes; /* by process id */
	size_t process_cap;
	size_t process_cnt; /* with samples */
	struct last_stack *last_stacks[LAST_STACKS];
	u64 seed;
};

int profile_new(struct profile **ret_profile, const struct profile_config *config)
{
	struct profile *profile = calloc(1, sizeof(*profile));
	int err;

	if (!profile)
		return -ENOMEM;
	profile->seed = hash_seed();
	profile->max_leaves = config->max_nodes > MAX_NODES ? MAX_NODES
			      : config->max_nodes	    ? config->max_nodes
							    : MAX_NODES_DEFAULT;
	profile->max_threads = config->max_threads ? config->max_threads : MAX_THREADS_DEFAULT;
	id_map_init(&profile->thread_ids, ID_MAP_NONE);
	id_map_init(&profile->leaf_ids, ID_MAP_NONE);
	err = frame_table_new(&profile->frames, config->max_frames ? config->max_frames : MAX_FRAMES_DEFAULT);
	if (!err)
		err = stack_tree_new(&profile->tree, profile->max_leaves);
	if (err) {
		profile_free(profile);
		return err;
	}
	*ret_profile = profile;
	return 0;
}

void profile_free(struct profile *profile)
{
	if (!profile)
		return;
	for (size_t i = 0; i < LAST_STACKS; i++)
		free(profile->last_stacks[i]);
	id_map_release(&profile->thread_ids);
	id_map_release(&profile->leaf_ids);
	free(profile->threads);
	free(profile->leaves);
	free(profile->processes);
	stack_tree_free(profile->tree);
	frame_table_free(profile->frames);
	free(profile);
}

struct frame_table *profile_frames(struct profile *profile)
{
	return profile->frames;
}

/* Makes room for one more of `cnt` elements. */
static int reserve(void **array, size_t cnt, size_t *cap, size_t element_sz)
{
	size_t new_cap = *cap ? *cap * 2 : 64;
	void *grown;

	if (cnt < *cap)
		return 0;
	grown = reallocarray(*array, new_cap, element_sz);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*cap = new_cap;
	return 0;
}

static int find_process(struct profile *profile, u32 process_id, struct profile_totals **ret_totals)
{
	size_t cap = profile->process_cap ? profile->process_cap : 64;
	struct profile_totals *processes;

	if (process_id >= MAX_PROCESSES)
		return -EINVAL;
	if (process_id >= profile->process_cap) {
		while (cap <= process_id)
			cap *= 2;
		processes = reallocarray(profile->processes, cap, sizeof(*processes));
		if (!processes)
			return -ENOMEM;
		memset(processes + profile->process_cap, 0,
		       (cap - profile->process_cap) * sizeof(*processes));
		profile->processes = processes;
		profile->process_cap = cap;
	}
	*ret_totals = &profile->processes[process_id];
	return 0;
}

static int add_thread(struct profile *profile, u64 key, u32 process_id, u32 tid, u32 *ret_idx)
{
	int err = reserve((void **)&profile->threads, profile->thread_cnt, &profile->thread_cap,
			  sizeof(*profile->threads));

	if (!err)
		err = id_map_put(&profile->thread_ids, key, (u32)profile->thread_cnt);
	if (err)
		return err;
	profile->threads[profile->thread_cnt] = (struct thread){.process_id = process_id, .tid = tid};
	*ret_idx = (u32)profile->thread_cnt++;
	return 0;
}

static int find_thread(struct profile *profile, u32 process_id, u32 tid, u32 *ret_idx)
{
	u64 key = hash_mix(profile->seed, (u64)process_id << 32 | tid);

	for (;; key = hash_mix(key, profile->seed)) {
		u32 idx = id_map_find(&profile->thread_ids, key);

		if (idx == ID_MAP_NONE) {
			/* The thread of tid 0 takes the rest; there are no more of those than processes. */
			if (profile->thread_cnt >= profile->max_threads && tid)
				return find_thread(profile, process_id, 0, ret_idx);
			return add_thread(profile, key, process_id, tid, ret_idx);
		}
		if (profile->threads[idx].process_id == process_id && profile->threads[idx].tid == tid) {
			*ret_idx = idx;
			return 0;
		}
	}
}

/* NULL without memory: the stack is then looked up frame by frame. */
static struct last_stack *last_stack_of(struct profile *profile, u32 thread_idx)
{
	struct last_stack **slot = &profile->last_stacks[thread_idx % LAST_STACKS];

	if (!*slot) {
		*slot = malloc(sizeof(**slot));
		if (!*slot)
			return NULL;
		(*slot)->cnt = 0;
	}
	if (!(*slot)->cnt || (*slot)->thread_idx != thread_idx) {
		(*slot)->thread_idx = thread_idx;
		(*slot)->cnt = 0;
	}
	return *slot;
}

/* A stack on its way down the tree, from the root. */
struct descent {
	const u32 *leaf_first;
	size_t cnt;
	size_t depth;
	u32 node; /* at `depth`, and its key */
	u64 key;
};

/* Goes down as far as the thread's last stack is the same. */
static void descend_known(struct descent *descent, struct last_stack *last)
{
	size_t known = last->cnt < descent->cnt ? last->cnt : descent->cnt;
	size_t depth = 0;

	while (depth < known && last->frame_ids[depth] == descent->leaf_first[descent->cnt - 1 - depth])
		depth++;
	if (depth) {
		descent->node = last->nodes[depth - 1];
		descent->key = last->keys[depth - 1];
	}
	descent->depth = depth;
	last->cnt = (u32)depth;
}

/* Goes down by up to AHEAD frames. Their nodes lie anywhere in a large table: asked for all at once, the
 * waits for memory overlap. */
static int descend(struct profile *profile, struct descent *descent, struct last_stack *last)
{
	size_t left = descent->cnt - descent->depth;
	size_t steps = left < AHEAD ? left : AHEAD;
	const u32 *next = descent->leaf_first + left - 1;
	u64 keys[AHEAD];
	u64 key = descent->key;

	for (size_t i = 0; i < steps; i++) {
		key = stack_tree_key(profile->tree, key, *(next - i));
		stack_tree_prefetch(profile->tree, key);
		keys[i] = key;
	}
	for (size_t i = 0; i < steps; i++, descent->depth++) {
		u32 frame_id = *(next - i);
		int err = stack_tree_child(profile->tree, descent->node, frame_id, keys[i], &descent->node);

		if (err)
			return err;
		descent->key = keys[i];
		if (last && descent->depth < LAST_STACK_DEPTH) {
			last->frame_ids[descent->depth] = frame_id;
			last->nodes[descent->depth] = descent->node;
			last->keys[descent->depth] = keys[i];
			last->cnt = (u32)descent->depth + 1;
		}
	}
	return 0;
}

/* Walks the frames from the root, and names the stack: by the deepest node there is, folded, where the
 * tree has no room. Nodes stay, so it would be the same one again. */
static int find_node(struct profile *profile, u32 thread_idx, const struct profile_sample *sample,
		     u32 *ret_node)
{
	struct descent descent = {
		.leaf_first = sample->frame_ids, .cnt = sample->frame_cnt, .node = STACK_TREE_ROOT};
	struct last_stack *last = last_stack_of(profile, thread_idx);
	int err = 0;

	if (last)
		descend_known(&descent, last);
	while (!err && descent.depth < descent.cnt)
		err = descend(profile, &descent, last);
	if (err && err != -ENOSPC)
		return err;
	*ret_node = err ? descent.node | NODE_FOLDED : descent.node;
	return 0;
}

static bool leaf_equal(const struct leaf *a, const struct leaf *b)
{
	return a->thread_idx == b->thread_idx && a->node == b->node && a->status == b->status &&
	       a->reason == b->reason && a->folded == b->folded;
}

static bool has_folded_frame(const struct stack_tree *tree, u32 node)
{
	for (; node != STACK_TREE_ROOT; node = stack_tree_parent(tree, node)) {
		if (stack_tree_frame(tree, node) == FRAME_ID_FOLDED)
			return true;
	}
	return false;
}

/* -ENOSPC when it is not there and there is no room. */
static int find_leaf(struct profile *profile, const struct leaf *wanted, struct leaf **ret_leaf)
{
	u64 key = hash_mix(profile->seed ^ ((u64)wanted->thread_idx << 32 | wanted->node),
			   (u64)wanted->status << 16 | (u64)wanted->reason << 8 | wanted->folded);
	int err;

	for (;; key = hash_mix(key, profile->seed)) {
		u32 idx = id_map_find(&profile->leaf_ids, key);

		if (idx == ID_MAP_NONE)
			break;
		if (leaf_equal(&profile->leaves[idx], wanted)) {
			*ret_leaf = &profile->leaves[idx];
			return 0;
		}
	}
	/* The folded leaf at the root always finds room: it is the last resort of a thread. */
	if (profile->leaf_cnt >= profile->max_leaves && !(wanted->folded && wanted->node == STACK_TREE_ROOT))
		return -ENOSPC;
	err = reserve((void **)&profile->leaves, profile->leaf_cnt, &profile->leaf_cap,
		      sizeof(*profile->leaves));
	if (!err)
		err = id_map_put(&profile->leaf_ids, key, (u32)profile->leaf_cnt);
	if (err)
		return err;
	*ret_leaf = &profile->leaves[profile->leaf_cnt++];
	**ret_leaf = *wanted;
	(*ret_leaf)->has_folded_frame = has_folded_frame(profile->tree, wanted->node);
	return 0;
}

/* The leaf of a stack by its name, or where there is no room for it, that of an ancestor, folded. */
static int place_leaf(struct profile *profile, u32 thread_idx, const struct profile_sample *sample, u32 node,
		      struct leaf **ret_leaf)
{
	struct leaf wanted = {
		.thread_idx = thread_idx,
		.node = node & ~NODE_FOLDED,
		.status = sample->status,
		.reason = sample->reason,
		.folded = node & NODE_FOLDED,
	};

	for (;;) {
		int err = find_leaf(profile, &wanted, ret_leaf);

		if (err != -ENOSPC)
			return err;
		if (wanted.folded)
			wanted.node = stack_tree_parent(profile->tree, wanted.node);
		wanted.folded = true;
	}
}

static void count(struct profile_totals *totals, const struct profile_sample *sample, const struct leaf *leaf,
		  bool is_own_thread)
{
	totals->samples++;
	totals->weight_ns += sample->weight_ns;
	totals->by_status[sample->status]++;
	if (sample->status != SAMPLE_LATE)
		totals->by_reason[sample->reason]++;
	else if (sample->reason < SAMPLE_REASON_NO_FRAMES)
		totals->late_by_reason[sample->reason]++;
	totals->unnamed_samples += sample->unnamed_cnt > 0;
	totals->unnamed_frames += sample->unnamed_cnt;
	totals->lineless_samples += sample->lineless_cnt > 0;
	totals->lineless_frames += sample->lineless_cnt;
	totals->folded_samples += leaf->folded;
	totals->folded_frame_samples += leaf->has_folded_frame;
	totals->folded_thread_samples += !is_own_thread;
	totals->flawed_samples += sample->status == SAMPLE_LATE || sample->status == SAMPLE_TRUNCATED ||
				  sample->unnamed_cnt > 0 || leaf->folded || leaf->has_folded_frame;
}

static void rename_thread(struct thread *thread, const char *name)
{
	if (strncmp(thread->name, name, LIMIT_COMM_SZ - 1) != 0)
		snprintf(thread->name, LIMIT_COMM_SZ, "%s", name);
}

/* Adds to a leaf, and to all that is counted along with it. */
static void credit(struct profile *profile, struct profile_totals *process, struct leaf *leaf,
		   const struct profile_sample *sample)
{
	struct thread *thread = &profile->threads[leaf->thread_idx];
	bool is_own_thread = thread->tid == sample->tid;

	profile->process_cnt += process->samples == 0;
	leaf->samples++;
	leaf->weight_ns += sample->weight_ns;
	if (sample->thread_comm)
		rename_thread(thread, sample->thread_comm);
	count(process, sample, leaf, is_own_thread);
	count(&profile->totals, sample, leaf, is_own_thread);
}

/* Counts one more sample of a stack. */
static int add_to(struct profile *profile, const struct profile_sample *sample,
		  struct profile_totals *process, u32 thread_idx, u32 node)
{
	struct leaf *leaf;
	int err = place_leaf(profile, thread_idx, sample, node, &leaf);

	if (!err)
		credit(profile, process, leaf, sample);
	return err;
}

int profile_add(struct profile *profile, const struct profile_sample *sample, u32 *ret_node)
{
	struct profile_totals *process;
	u32 thread_idx, node;
	int err;

	if (sample->status >= SAMPLE_STATUS_COUNT || sample->reason >= SAMPLE_REASON_COUNT)
		return -EINVAL;
	err = find_process(profile, sample->process_id, &process);
	err = err ?: find_thread(profile, sample->process_id, sample->tid, &thread_idx);
	err = err ?: find_node(profile, thread_idx, sample, &node);
	err = err ?: add_to(profile, sample, process, thread_idx, node);
	if (!err && ret_node)
		*ret_node = node;
	return err;
}

int profile_place(struct profile *profile, const struct profile_sample *sample, u32 *ret_node)
{
	struct profile_totals *process;
	u32 thread_idx;
	int err = find_process(profile, sample->process_id, &process);

	err = err ?: find_thread(profile, sample->process_id, sample->tid, &thread_idx);
	return err ?: find_node(profile, thread_idx, sample, ret_node);
}

int profile_repeat(struct profile *profile, const struct profile_sample *sample, u32 node)
{
	struct profile_totals *process;
	u32 thread_idx;
	int err = find_process(profile, sample->process_id, &process);

	err = err ?: find_thread(profile, sample->process_id, sample->tid, &thread_idx);
	return err ?: add_to(profile, sample, process, thread_idx, node);
}

const struct profile_totals *profile_totals(const struct profile *profile)
{
	return &profile->totals;
}

const struct profile_totals *profile_process_totals(const struct profile *profile, u32 process_id)
{
	if (process_id >= profile->process_cap || !profile->processes[process_id].samples)
		return NULL;
	return &profile->processes[process_id];
}

size_t profile_process_count(const struct profile *profile)
{
	return profile->process_cnt;
}

size_t profile_thread_count(const struct profile *profile)
{
	return profile->thread_cnt;
}

static int deliver(const struct profile *profile, const struct leaf *leaf, u32 *frame_ids, size_t frame_cnt,
		   int (*on_stack)(void *ctx, const struct profile_stack *stack), void *ctx)
{
	const struct thread *thread = &profile->threads[leaf->thread_idx];
	u32 node = leaf->node;

	for (size_t i = frame_cnt; i-- > 0; node = stack_tree_parent(profile->tree, node))
		frame_ids[i] = stack_tree_frame(profile->tree, node);
	return on_stack(ctx, &(struct profile_stack){
				     .process_id = thread->process_id,
				     .tid = thread->tid,
				     .thread_name = thread->name,
				     .status = leaf->status,
				     .reason = leaf->reason,
				     .folded = leaf->folded,
				     .frame_ids = frame_ids,
				     .frame_cnt = frame_cnt,
				     .samples = leaf->samples,
				     .weight_ns = leaf->weight_ns,
			     });
}

int profile_for_each_stack(const struct profile *profile,
			   int (*on_stack)(void *ctx, const struct profile_stack *stack), void *ctx)
{
	u32 *frame_ids = NULL;
	size_t cap = 0;
	int result = 0;

	for (size_t i = 0; i < profile->leaf_cnt && !result; i++) {
		const struct leaf *leaf = &profile->leaves[i];
		size_t depth = stack_tree_depth(profile->tree, leaf->node);

		if (depth > cap) {
			u32 *grown = reallocarray(frame_ids, depth, sizeof(*grown));

			if (!grown) {
				result = -ENOMEM;
				break;
			}
			frame_ids = grown;
			cap = depth;
		}
		result = deliver(profile, leaf, frame_ids, depth, on_stack, ctx);
	}
	free(frame_ids);
	return result;
}

size_t profile_hottest(const struct profile *profile, struct profile_function *ret_functions, size_t cap)
{
	struct hot_functions hot;
	size_t cnt;

	hot_functions_init(&hot, profile->frames);
	for (size_t i = 0; i < profile->leaf_cnt; i++) {
		const struct leaf *leaf = &profile->leaves[i];

		/* A folded stack's last frame is not the one that ran. */
		if (leaf->node != STACK_TREE_ROOT && !leaf->folded)
			hot_functions_add(&hot, stack_tree_frame(profile->tree, leaf->node), leaf->samples,
					  leaf->weight_ns);
	}
	cnt = hot_functions_take(&hot, ret_functions, cap);
	hot_functions_release(&hot);
	return cnt;
}
