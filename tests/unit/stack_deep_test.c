/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of many thousand frames, over flat memory: data stack chunks of 16 KiB, each mapped below the last,
 * as CPython's are.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stack/stack_complete.h"
#include "stack_fixture.h"

enum {
	DEPTH_MAX = 100000,
	FRAME_SZ = 96,
	CHUNK_SZ = 16384,
	CHUNK_FRAMES = (CHUNK_SZ - 24) / FRAME_SZ,
	CHUNKS = DEPTH_MAX / CHUNK_FRAMES + 2,
	MEMORY_SZ = CHUNKS * CHUNK_SZ,
	CODES = 8,
	CODE_SZ = 256,
};

#define MEMORY 0x7f0000000000ULL
#define CODE   0x5500000000ULL
#define SECOND 1000000000ULL

struct state {
	struct remote_mem *mem;
	struct py_layout layout;
	struct stack_completer *completer;
	struct completed_stack stack;
	u8 *memory;
	u64 hole; /* a page that is not there; 0: none */
	u8 codes[CODES * CODE_SZ];
	size_t named;
};

/* The frame at `depth`, 0 being the entry frame at the root. */
static u64 addr_of(size_t depth)
{
	size_t chunk = CHUNKS - 1 - depth / CHUNK_FRAMES;

	return MEMORY + chunk * CHUNK_SZ + 24 + depth % CHUNK_FRAMES * FRAME_SZ;
}

static size_t view(void *ctx, remote_addr_t addr, void *ret_buf, size_t sz)
{
	struct state *state = ctx;

	if (addr - CODE < sizeof(state->codes)) {
		size_t room = sizeof(state->codes) - (addr - CODE);

		sz = sz < room ? sz : room;
		memcpy(ret_buf, state->codes + (addr - CODE), sz);
		return sz;
	}
	if (addr - MEMORY >= MEMORY_SZ)
		return 0;
	if (sz > MEMORY_SZ - (addr - MEMORY))
		sz = MEMORY_SZ - (addr - MEMORY);
	if (state->hole && addr + sz > state->hole)
		sz = addr >= state->hole + 4096 ? sz : addr >= state->hole ? 0 : state->hole - addr;
	memcpy(ret_buf, state->memory + (addr - MEMORY), sz);
	return sz;
}

static void put(struct state *state, size_t depth, u64 code, u64 instr)
{
	u64 addr = addr_of(depth), executable = CODE + code * CODE_SZ;
	u64 words[4] = {executable, depth ? addr_of(depth - 1) : 0,
			executable + state->layout.code_code_adaptive + instr, 0};

	if (!depth)
		words[3] = state->layout.owner_entry;
	memcpy(state->memory + (addr - MEMORY), words, sizeof(words));
}

static int read_fingerprints(void *ctx, const u64 *codes, size_t cnt, u32 *ret_fingerprints)
{
	struct state *state = ctx;

	for (size_t i = 0; i < cnt; i++)
		remote_mem_read(state->mem, codes[i] + state->layout.code_version, &ret_fingerprints[i],
				sizeof(u32));
	return 0;
}

static bool name(void *ctx, const struct py_frame *frame, u32 *ret_id)
{
	struct state *state = ctx;

	state->named++;
	*ret_id = (u32)((frame->code - CODE) / CODE_SZ) * 1000 + (u32)frame->instr_off;
	return true;
}

static int setup(void **ret_state)
{
	struct state *state = calloc(1, sizeof(*state));
	struct stack_completer_config config = {.max_frames = DEPTH_MAX};

	if (!state || stack_completer_new(&state->completer, &config) != 0)
		return -1;
	state->layout = fake_layout();
	state->layout.traits |= PY_TRAIT_CODE_VERSION;
	state->layout.code_version = 100;
	state->memory = calloc(1, MEMORY_SZ);
	for (u32 code = 0; code < CODES; code++)
		state->codes[code * CODE_SZ + state->layout.code_version] = (u8)(code + 1);
	for (size_t depth = 0; depth <= DEPTH_MAX; depth++)
		put(state, depth, depth % CODES, depth % 50);
	*ret_state = state;
	return state->memory ? remote_mem_open_view(&state->mem, view, state) : -1;
}

static int teardown(void **ret_state)
{
	struct state *state = *ret_state;

	remote_mem_close(state->mem);
	stack_completer_free(state->completer);
	free(state->memory);
	free(state);
	return 0;
}

static int complete(struct state *state, size_t depth, u64 time_ns)
{
	const struct stack_request request = {
		.mem = state->mem,
		.layout = &state->layout,
		.epoch = 1,
		.tid = 1,
		.time_ns = time_ns,
		.resume_frame = addr_of(depth),
	};
	const struct stack_namer namer = {state, read_fingerprints, name};

	state->named = 0;
	return stack_complete(state->completer, &request, &namer, &state->stack);
}

static void assert_frame(const struct state *state, size_t depth, size_t at)
{
	assert_int_equal(state->stack.frame_ids[depth - at], at % CODES * 1000 + at % 50);
}

static void assert_whole(const struct state *state, size_t depth)
{
	assert_int_equal(state->stack.cnt, depth);
	for (size_t at = depth; at > 0; at--)
		assert_frame(state, depth, at);
}

static const struct stack_stats *stats(const struct state *state)
{
	return stack_completer_stats(state->completer);
}

static void hundred_thousand_frames_come_whole(void **ret_state)
{
	struct state *state = *ret_state;
	u64 calls;

	assert_int_equal(complete(state, DEPTH_MAX, SECOND), 0);
	assert_whole(state, DEPTH_MAX);
	assert_true(stats(state)->remote_calls < 60);
	calls = stats(state)->remote_calls;
	assert_int_equal(complete(state, DEPTH_MAX, 3 * SECOND), 0);
	assert_whole(state, DEPTH_MAX);
	assert_int_equal(state->named, 0);
	assert_int_equal(stats(state)->hits, 1);
	assert_true(stats(state)->remote_calls - calls <= 12);
}

static void shallow_ones_are_read_every_time(void **ret_state)
{
	struct state *state = *ret_state;
	u64 calls;

	for (u64 i = 0; i < 20; i++) {
		calls = stats(state)->remote_calls;
		assert_int_equal(complete(state, STACK_DEEP_FRAMES - 50 + i, SECOND + i), 0);
		assert_whole(state, STACK_DEEP_FRAMES - 50 + i);
		if (i)
			assert_int_equal(stats(state)->remote_calls, calls + 1);
	}
	assert_int_equal(stats(state)->by_identity, 0);
}

static void deep_ones_are_read_once_a_second(void **ret_state)
{
	struct state *state = *ret_state;
	u64 calls;

	assert_int_equal(complete(state, 10000, SECOND), 0);
	calls = stats(state)->remote_calls;
	for (u64 i = 1; i < 100; i++) {
		/* The leaf's part moves. */
		size_t depth = 10000 - i % 7;

		put(state, depth, i % CODES, i % 50);
		assert_int_equal(complete(state, depth, SECOND + i * SECOND / 100), 0);
		assert_int_equal(state->stack.cnt, depth);
		assert_int_equal(state->stack.frame_ids[0], i % CODES * 1000 + i % 50);
		for (size_t at = 9990; at > 0; at--)
			assert_frame(state, depth, at);
	}
	assert_int_equal(stats(state)->by_identity, 99);
	assert_true(stats(state)->remote_calls - calls <= 2 * 99);
	assert_true(stats(state)->frames_read < 10000 + 99 * 100);
	assert_int_equal(stats(state)->frames_by_identity + stats(state)->frames_read,
			 10000 + 99 * 10000 - stats(state)->postponed - 99 / 7 * 21 - 1);
}

/* The root's part is that of the last whole read for a second, and then the new one: never a mixture. */
static void what_is_taken_over_is_a_second_old_at_most(void **ret_state)
{
	struct state *state = *ret_state;

	assert_int_equal(complete(state, 10000, SECOND), 0);
	put(state, 5, 7, 49);
	assert_int_equal(complete(state, 10000, 2 * SECOND - 1), 0);
	assert_whole(state, 10000);
	assert_int_equal(complete(state, 10000, 2 * SECOND), 0);
	assert_int_equal(state->stack.frame_ids[9995], 7049);
	assert_int_equal(state->named, 1);
	/* A sample of another CPU, older than the last whole read. */
	put(state, 5, 6, 48);
	assert_int_equal(complete(state, 10000, 2 * SECOND - 5), 0);
	assert_int_equal(state->stack.frame_ids[9995], 7049);
}

static void another_stack_is_not_tied_to_the_last(void **ret_state)
{
	struct state *state = *ret_state;

	assert_int_equal(complete(state, 10000, SECOND), 0);
	/* Everything but the root's part is another function. */
	for (size_t at = 100; at <= 10000; at++)
		put(state, at, (at + 1) % CODES, at % 50);
	assert_int_equal(complete(state, 10000, SECOND + 1), -EAGAIN);
	assert_int_equal(stats(state)->postponed, 1);
	assert_int_equal(complete(state, 10000, 2 * SECOND), 0);
	assert_int_equal(state->stack.frame_ids[0], (10000 + 1) % CODES * 1000);
	/* Fewer frames than make a deep one are read at any time. */
	assert_int_equal(complete(state, 3000, 2 * SECOND + 1), 0);
	assert_int_equal(state->stack.cnt, 3000);
}

/* Fewer unchanged frames in a row than are asked for. */
static void a_few_equal_frames_tie_nothing(void **ret_state)
{
	struct state *state = *ret_state;

	assert_int_equal(complete(state, 10000, SECOND), 0);
	for (size_t at = 0; at < 10000; at += STACK_JOIN_FRAMES)
		put(state, at + 1, 0, 60);
	assert_int_equal(complete(state, 10000, SECOND + 1), -EAGAIN);
}

static void a_hole_is_a_failure_and_soon_forgotten(void **ret_state)
{
	struct state *state = *ret_state;

	assert_int_equal(complete(state, 10000, SECOND), 0);
	state->hole = addr_of(3000) & ~4095ULL;
	assert_int_equal(complete(state, 10000, 3 * SECOND), -EFAULT);
	assert_int_equal(stats(state)->failed, 1);
	state->hole = 0;
	assert_int_equal(complete(state, 10000, 3 * SECOND + 1), 0);
	assert_whole(state, 10000);
}

/* Every frame on a page of its own, far from the last, in an order that no guess meets. */
static void a_chain_made_to_be_costly_is_cut(void **ret_state)
{
	struct state *state = *ret_state;
	u64 last = 0;

	for (size_t i = 0; i < 2000; i++) {
		u64 page = (i * 7919) % (MEMORY_SZ / 4096);
		u64 words[4] = {CODE, last, CODE + state->layout.code_code_adaptive, last ? 1 : 3};

		last = MEMORY + page * 4096 + 128;
		memcpy(state->memory + (last - MEMORY), words, sizeof(words));
	}
	const struct stack_request request = {
		.mem = state->mem,
		.layout = &state->layout,
		.epoch = 1,
		.tid = 1,
		.time_ns = SECOND,
		.resume_frame = last,
	};
	const struct stack_namer namer = {state, read_fingerprints, name};
	u64 calls;

	assert_int_equal(stack_complete(state->completer, &request, &namer, &state->stack), -E2BIG);
	calls = stats(state)->remote_calls;
	assert_true(calls <= 512);
	/* And not tried again at once, as long as it comes to that many frames. */
	assert_int_not_equal(stack_complete(state->completer, &request, &namer, &state->stack), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(hundred_thousand_frames_come_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(shallow_ones_are_read_every_time, setup, teardown),
		cmocka_unit_test_setup_teardown(deep_ones_are_read_once_a_second, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_taken_over_is_a_second_old_at_most, setup, teardown),
		cmocka_unit_test_setup_teardown(another_stack_is_not_tied_to_the_last, setup, teardown),
		cmocka_unit_test_setup_teardown(a_few_equal_frames_tie_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(a_hole_is_a_failure_and_soon_forgotten, setup, teardown),
		cmocka_unit_test_setup_teardown(a_chain_made_to_be_costly_is_cut, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
