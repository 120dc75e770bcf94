/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "stack/frame_cache.h"

static struct stack_stats g_stats;

static struct frame_cache *open_cache(size_t max_threads, size_t max_frames)
{
	struct frame_cache *cache;

	memset(&g_stats, 0, sizeof(g_stats));
	assert_int_equal(frame_cache_new(&cache, max_threads, max_frames, &g_stats), 0);
	return cache;
}

static int push(struct frame_cache *cache, struct cached_stack *stack, u64 addr)
{
	const struct cached_frame frame = {.addr = addr, .code = addr + 1};

	return frame_cache_push(cache, stack, &frame);
}

static void frames_are_found_by_address(void **state)
{
	struct frame_cache *cache = open_cache(4, 1000);
	struct cached_stack *stack = frame_cache_get(cache, 1, 1);

	assert_int_equal(stack->cnt, 0);
	assert_int_equal(cached_stack_find(stack, 0), CACHED_FRAME_NONE);
	for (u64 i = 0; i < 500; i++)
		assert_int_equal(push(cache, stack, i * 64), 0);
	assert_ptr_equal(frame_cache_get(cache, 1, 1), stack);
	for (u64 i = 0; i < 500; i++) {
		assert_int_equal(cached_stack_find(stack, i * 64), i);
		assert_int_equal(stack->frames[i].code, i * 64 + 1);
	}
	assert_int_equal(cached_stack_find(stack, 32), CACHED_FRAME_NONE);
	cached_stack_cut(stack, 100);
	assert_int_equal(cached_stack_find(stack, 99 * 64), 99);
	assert_int_equal(cached_stack_find(stack, 100 * 64), CACHED_FRAME_NONE);
	/* Another frame now has the place; the old address is not it. */
	assert_int_equal(push(cache, stack, 7), 0);
	assert_int_equal(cached_stack_find(stack, 7), 100);
	assert_int_equal(cached_stack_find(stack, 100 * 64), CACHED_FRAME_NONE);
	frame_cache_free(cache);
}

static void index_does_not_grow_without_end(void **state)
{
	struct frame_cache *cache = open_cache(4, 1000);
	struct cached_stack *stack = frame_cache_get(cache, 1, 1);

	for (u64 round = 0; round < 20000; round++) {
		cached_stack_cut(stack, 3);
		for (u64 i = stack->cnt; i < 10; i++)
			assert_int_equal(push(cache, stack, round * 1000 + i), 0);
		assert_true(stack->index.cap <= 512);
		assert_int_equal(cached_stack_find(stack, round * 1000 + 9), 9);
		assert_int_equal(cached_stack_find(stack, 2), 2);
	}
	frame_cache_free(cache);
}

static void processes_and_threads_are_kept_apart(void **state)
{
	struct frame_cache *cache = open_cache(8, 1000);

	for (u64 epoch = 1; epoch <= 2; epoch++) {
		for (u32 tid = 1; tid <= 3; tid++)
			assert_int_equal(push(cache, frame_cache_get(cache, epoch, tid), epoch * 10 + tid),
					 0);
	}
	for (u64 epoch = 1; epoch <= 2; epoch++) {
		for (u32 tid = 1; tid <= 3; tid++) {
			struct cached_stack *stack = frame_cache_get(cache, epoch, tid);

			assert_int_equal(stack->cnt, 1);
			assert_int_equal(stack->frames[0].addr, epoch * 10 + tid);
		}
	}
	assert_int_equal(g_stats.evicted_threads, 0);
	frame_cache_free(cache);
}

static void the_thread_used_longest_ago_goes(void **state)
{
	struct frame_cache *cache = open_cache(3, 1000);

	for (u32 tid = 1; tid <= 3; tid++)
		assert_int_equal(push(cache, frame_cache_get(cache, 1, tid), tid), 0);
	frame_cache_get(cache, 1, 1);
	assert_int_equal(frame_cache_get(cache, 1, 4)->cnt, 0); /* instead of 2 */
	assert_int_equal(g_stats.evicted_threads, 1);
	assert_int_equal(frame_cache_get(cache, 1, 1)->cnt, 1);
	assert_int_equal(frame_cache_get(cache, 1, 3)->cnt, 1);
	assert_int_equal(frame_cache_get(cache, 1, 2)->cnt, 0);
	assert_int_equal(g_stats.evicted_threads, 2);
	frame_cache_free(cache);
}

static void frames_of_all_threads_are_bounded(void **state)
{
	struct frame_cache *cache = open_cache(3, 1024);
	struct cached_stack *first = frame_cache_get(cache, 1, 1), *second;

	first->deep_ns = 42;
	for (u64 i = 0; i < 512; i++)
		assert_int_equal(push(cache, first, i), 0);
	second = frame_cache_get(cache, 1, 2);
	for (u64 i = 0; i < 512; i++)
		assert_int_equal(push(cache, second, i), 0);
	assert_int_equal(g_stats.evicted_frames, 0);
	assert_int_equal(push(cache, second, 512), 0);
	assert_int_equal(g_stats.evicted_frames, 512);
	/* The thread is still known, without its frames. */
	first = frame_cache_get(cache, 1, 1);
	assert_int_equal(first->cnt, 0);
	assert_int_equal(first->deep_ns, 42);
	assert_int_equal(cached_stack_find(first, 3), CACHED_FRAME_NONE);
	for (u64 i = 513; i < 1024; i++)
		assert_int_equal(push(cache, second, i), 0);
	assert_int_equal(push(cache, second, 1024), -ENOSPC);
	assert_int_equal(second->cnt, 1024);
	assert_int_equal(push(cache, first, 1), 0);
	assert_int_equal(second->cnt, 0);
	assert_int_equal(g_stats.evicted_threads, 0);
	frame_cache_free(cache);
}

static void codes_are_cut_at_their_limit(void **state)
{
	struct frame_cache *cache = open_cache(3, 1024);
	struct cached_stack *stack = frame_cache_get(cache, 1, 1);
	u64 codes[CACHED_CODES_MAX + 5];

	for (u64 i = 0; i < CACHED_CODES_MAX + 5; i++)
		codes[i] = i * 3;
	assert_int_equal(cached_stack_set_codes(stack, codes, 2), 0);
	assert_int_equal(stack->code_cnt, 2);
	assert_int_equal(cached_stack_set_codes(stack, codes, CACHED_CODES_MAX + 5), 0);
	assert_int_equal(stack->code_cnt, CACHED_CODES_MAX);
	assert_memory_equal(stack->codes, codes, CACHED_CODES_MAX * sizeof(codes[0]));
	assert_int_equal(cached_stack_set_codes(stack, codes, 0), 0);
	assert_int_equal(stack->code_cnt, 0);
	frame_cache_free(cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_found_by_address),
		cmocka_unit_test(index_does_not_grow_without_end),
		cmocka_unit_test(processes_and_threads_are_kept_apart),
		cmocka_unit_test(the_thread_used_longest_ago_goes),
		cmocka_unit_test(frames_of_all_threads_are_bounded),
		cmocka_unit_test(codes_are_cut_at_their_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
