/* SPDX-License-Identifier: Apache-2.0 */
/* Threads are few (only those whose stacks the kernel side could not read whole), so the one used longest ago
 * is searched for. A thread that loses its frames keeps its place, and with it the time of its last deep read.
 */
#include "stack/frame_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { FIRST_CAP = 64 };

struct frame_cache {
	struct cached_stack *stacks;
	size_t cnt;
	size_t max_threads;
	size_t frame_cap; /* of all stacks */
	size_t max_frames;
	u64 clock;
	struct id_map by_thread; /* hash of epoch and tid -> stack; a collision is an eviction */
	u64 seed;
	struct stack_stats *stats;
};

int frame_cache_new(struct frame_cache **ret_cache, size_t max_threads, size_t max_frames,
		    struct stack_stats *stats)
{
	struct frame_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return -ENOMEM;
	cache->stacks = calloc(max_threads, sizeof(*cache->stacks));
	cache->max_threads = max_threads;
	cache->max_frames = max_frames;
	cache->seed = hash_seed();
	cache->stats = stats;
	id_map_init(&cache->by_thread, max_threads);
	if (!cache->stacks) {
		frame_cache_free(cache);
		return -ENOMEM;
	}
	*ret_cache = cache;
	return 0;
}

static void drop_frames(struct frame_cache *cache, struct cached_stack *stack)
{
	cache->frame_cap -= stack->cap;
	free(stack->frames);
	free(stack->codes);
	id_map_release(&stack->index);
	stack->frames = NULL;
	stack->cnt = 0;
	stack->cap = 0;
	stack->codes = NULL;
	stack->code_cnt = 0;
}

void frame_cache_free(struct frame_cache *cache)
{
	if (!cache)
		return;
	for (size_t i = 0; i < cache->cnt; i++)
		drop_frames(cache, &cache->stacks[i]);
	id_map_release(&cache->by_thread);
	free(cache->stacks);
	free(cache);
}

static u64 thread_key(const struct frame_cache *cache, u64 epoch, u32 tid)
{
	return hash_mix(epoch ^ cache->seed, tid);
}

/* Of those with frames, where `with_frames`; NULL: there is none but `but`. */
static struct cached_stack *least_used(struct frame_cache *cache, const struct cached_stack *but,
				       bool with_frames)
{
	struct cached_stack *least = NULL;

	for (size_t i = 0; i < cache->cnt; i++) {
		struct cached_stack *stack = &cache->stacks[i];

		if (stack != but && (stack->cap || !with_frames) && (!least || stack->used < least->used))
			least = stack;
	}
	return least;
}

static struct cached_stack *take_place(struct frame_cache *cache)
{
	struct cached_stack *stack;

	if (cache->cnt < cache->max_threads)
		return &cache->stacks[cache->cnt++];
	stack = least_used(cache, NULL, false);
	cache->stats->evicted_threads++;
	id_map_remove(&cache->by_thread, thread_key(cache, stack->epoch, stack->tid));
	return stack;
}

struct cached_stack *frame_cache_get(struct frame_cache *cache, u64 epoch, u32 tid)
{
	u64 key = thread_key(cache, epoch, tid);
	u32 idx = id_map_find(&cache->by_thread, key);
	struct cached_stack *stack = idx == ID_MAP_NONE ? take_place(cache) : &cache->stacks[idx];

	if (idx == ID_MAP_NONE || stack->epoch != epoch || stack->tid != tid) {
		drop_frames(cache, stack);
		*stack = (struct cached_stack){.epoch = epoch, .tid = tid};
		id_map_init(&stack->index, ID_MAP_NONE - 1);
		/* Without memory for it the thread is not found again, and its place is evicted in time. */
		(void)id_map_put(&cache->by_thread, key, (u32)(stack - cache->stacks));
	}
	stack->used = ++cache->clock;
	return stack;
}

static int grow(struct frame_cache *cache, struct cached_stack *stack)
{
	size_t cap = stack->cap ? stack->cap * 2 : FIRST_CAP;
	struct cached_frame *frames;

	if (cap > cache->max_frames)
		cap = cache->max_frames;
	if (cap <= stack->cap)
		return -ENOSPC;
	while (cache->frame_cap - stack->cap + cap > cache->max_frames) {
		struct cached_stack *other = least_used(cache, stack, true);

		cache->stats->evicted_frames += other->cnt;
		drop_frames(cache, other);
		id_map_init(&other->index, ID_MAP_NONE - 1);
	}
	frames = realloc(stack->frames, cap * sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	cache->frame_cap += cap - stack->cap;
	stack->frames = frames;
	stack->cap = cap;
	return 0;
}

/* Places of frames that went are left in the index until they are the greater part. */
static int index_renew(struct cached_stack *stack)
{
	id_map_clear(&stack->index);
	for (size_t i = 0; i < stack->cnt; i++) {
		int err = id_map_put(&stack->index, stack->frames[i].addr, (u32)i);

		if (err)
			return err;
	}
	return 0;
}

int frame_cache_push(struct frame_cache *cache, struct cached_stack *stack, const struct cached_frame *frame)
{
	int err = 0;

	if (stack->cnt == stack->cap)
		err = grow(cache, stack);
	if (!err && stack->index.cnt > 2 * stack->cnt + FIRST_CAP)
		err = index_renew(stack);
	err = err ?: id_map_put(&stack->index, frame->addr, (u32)stack->cnt);
	if (!err)
		stack->frames[stack->cnt++] = *frame;
	return err;
}

int cached_stack_set_codes(struct cached_stack *stack, const u64 *codes, size_t cnt)
{
	u64 *copy;

	if (cnt > CACHED_CODES_MAX)
		cnt = CACHED_CODES_MAX;
	stack->code_cnt = 0;
	copy = realloc(stack->codes, (cnt + 1) * sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	memcpy(copy, codes, cnt * sizeof(*copy));
	stack->codes = copy;
	stack->code_cnt = cnt;
	return 0;
}

void cached_stack_cut(struct cached_stack *stack, size_t cnt)
{
	if (cnt < stack->cnt)
		stack->cnt = cnt;
}

size_t cached_stack_find(const struct cached_stack *stack, u64 addr)
{
	u32 at = id_map_find(&stack->index, addr);

	return at < stack->cnt && stack->frames[at].addr == addr ? at : CACHED_FRAME_NONE;
}
