/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stack/stack_complete.h"
#include "stack_fixture.h"

enum { FRAMES_MAX = 100 };

#define DATA 0x10000ULL
#define HEAP 0x50ff8ULL /* frames here cross a page */
#define CODE 0x900000ULL

struct state {
	struct fake_memory memory;
	struct py_layout layout;
	struct stack_completer *completer;
	const struct py_frame *frames;
	size_t cnt;
};

static int setup(void **ret_state)
{
	struct state *state = calloc(1, sizeof(*state));

	if (!state || stack_completer_new(&state->completer, FRAMES_MAX) != 0)
		return -1;
	state->layout = fake_layout();
	state->cnt = 77;
	*ret_state = state;
	return 0;
}

static int teardown(void **ret_state)
{
	struct state *state = *ret_state;

	fake_memory_release(&state->memory);
	stack_completer_free(state->completer);
	free(state);
	return 0;
}

static int complete(struct state *state, u64 frame)
{
	return stack_complete(state->completer, fake_memory_open(&state->memory), &state->layout, frame,
			      &state->frames, &state->cnt);
}

static void put_frame(struct state *state, u64 addr, u64 previous, u64 code, u8 owner)
{
	u64 words[4] = {code, previous, code + state->layout.code_code_adaptive + 6, owner};

	fake_memory_put(&state->memory, addr, words, sizeof(words));
}

/* Each frame below the last, as on the data stack. */
static void put_stack(struct state *state, u64 depth)
{
	for (u64 i = 0; i < depth; i++)
		put_frame(state, DATA + i * 32, i ? DATA + (i - 1) * 32 : 0, CODE + i * 256, 0);
}

static u64 top(u64 depth)
{
	return DATA + (depth - 1) * 32;
}

static void frames_come_leaf_first(void **ret_state)
{
	struct state *state = *ret_state;

	put_stack(state, 50);
	assert_int_equal(complete(state, top(50)), 0);
	assert_int_equal(state->cnt, 50);
	assert_int_equal(stack_completer_stats(state->completer)->misses, 1);
	assert_int_equal(stack_completer_stats(state->completer)->frames_read, 50);
	for (size_t i = 0; i < 50; i++) {
		assert_int_equal(state->frames[i].code, CODE + (49 - i) * 256);
		assert_int_equal(state->frames[i].instr_off, 6);
		assert_int_equal(state->frames[i].fingerprint, 0);
	}
}

static void nothing_to_resume_is_an_empty_stack(void **ret_state)
{
	struct state *state = *ret_state;

	assert_int_equal(complete(state, 0), 0);
	assert_int_equal(state->cnt, 0);
}

static void heap_frames_and_entry_frames(void **ret_state)
{
	struct state *state = *ret_state;

	put_stack(state, 2);
	put_frame(state, 0x70000, top(2), 0, 3);	 /* entry frame */
	put_frame(state, HEAP, 0x70000, CODE + 4096, 1); /* generator, over a page's end */
	assert_int_equal(complete(state, HEAP), 0);
	assert_int_equal(state->cnt, 3);
	assert_int_equal(state->frames[0].code, CODE + 4096);
	assert_int_equal(state->frames[1].code, CODE + 256);
}

static void tagged_executables(void **ret_state)
{
	struct state *state = *ret_state;

	put_frame(state, DATA, 0, CODE | 1, 0);
	state->layout.traits |= PY_TRAIT_TAGGED_EXECUTABLE;
	assert_int_equal(complete(state, DATA), 0);
	assert_int_equal(state->frames[0].code, CODE);
}

static void assert_fails(struct state *state, u64 frame, int err)
{
	const struct py_frame *before = state->frames;

	assert_int_equal(complete(state, frame), err);
	assert_ptr_equal(state->frames, before);
	assert_int_equal(state->cnt, 77);
}

static void unreadable_frame(void **ret_state)
{
	struct state *state = *ret_state;

	put_stack(state, 5);
	put_frame(state, HEAP, 0x123000, CODE, 1);
	assert_fails(state, 0x123000, -EFAULT);
	assert_fails(state, HEAP, -EFAULT);
	assert_fails(state, ~0ULL - 4, -EFAULT);
}

static void frame_without_code(void **ret_state)
{
	struct state *state = *ret_state;

	put_frame(state, DATA, 0, 0, 0);
	assert_fails(state, DATA, -EFAULT);
}

static void loops_end(void **ret_state)
{
	struct state *state = *ret_state;

	put_frame(state, DATA, DATA, CODE, 0);
	assert_fails(state, DATA, -ELOOP);
	put_frame(state, HEAP, 0x70000, CODE, 1);
	put_frame(state, 0x70000, HEAP, CODE, 1);
	assert_fails(state, HEAP, -ELOOP);
	/* Entry frames only: no frame is ever counted. */
	put_frame(state, 0x80000, 0x80000, CODE, 3);
	assert_fails(state, 0x80000, -ELOOP);
}

static void deeper_than_the_limit(void **ret_state)
{
	struct state *state = *ret_state;

	put_stack(state, FRAMES_MAX + 1);
	assert_int_equal(complete(state, top(FRAMES_MAX)), 0);
	assert_int_equal(state->cnt, FRAMES_MAX);
	state->cnt = 77;
	assert_fails(state, top(FRAMES_MAX + 1), -ELOOP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(frames_come_leaf_first, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_to_resume_is_an_empty_stack, setup, teardown),
		cmocka_unit_test_setup_teardown(heap_frames_and_entry_frames, setup, teardown),
		cmocka_unit_test_setup_teardown(tagged_executables, setup, teardown),
		cmocka_unit_test_setup_teardown(unreadable_frame, setup, teardown),
		cmocka_unit_test_setup_teardown(frame_without_code, setup, teardown),
		cmocka_unit_test_setup_teardown(loops_end, setup, teardown),
		cmocka_unit_test_setup_teardown(deeper_than_the_limit, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
