/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/state_check.h"
#include "stack_fixture.h"

#define RUNTIME 0x1000ULL
#define INTERP	0x2000ULL
#define TSTATE	0x3000ULL
#define FRAME	0x4000ULL
#define CFRAME	0x4800ULL
#define CODE	0x5000ULL
#define TYPES	0x6000ULL
#define TEXTS	0x7000ULL

struct state {
	struct fake_memory memory;
	struct py_layout layout;
	int read_cnt;
	int right_from; /* the read from which on the memory is right; 0: at once */
};

static void put_words(struct state *state, u64 addr, u64 a, u64 b, u64 c, u64 d)
{
	const u64 words[4] = {a, b, c, d};

	fake_memory_put(&state->memory, addr, words, sizeof(words));
}

static void put_right(struct state *state)
{
	const u64 frame_type[4] = {1, 0, 0, TEXTS}, code_type[4] = {1, 0, 0, TEXTS + 16};

	put_words(state, RUNTIME, 0, INTERP, 0, 0);
	put_words(state, INTERP, 0, TSTATE, 0, 0);
	put_words(state, TSTATE, 0, 0, INTERP, FRAME);
	put_words(state, FRAME, 1, TYPES, CODE, 0);
	put_words(state, CODE, 1, TYPES + 64, 0, 0);
	fake_memory_put(&state->memory, TYPES, frame_type, sizeof(frame_type));
	fake_memory_put(&state->memory, TYPES + 64, code_type, sizeof(code_type));
	fake_memory_put(&state->memory, TEXTS, "frame", 6);
	fake_memory_put(&state->memory, TEXTS + 16, "code", 5);
}

static void on_read(void *ctx)
{
	struct state *state = ctx;

	if (++state->read_cnt == state->right_from)
		put_right(state);
}

static int setup(void **ret_state)
{
	struct state *state = calloc(1, sizeof(*state));

	if (!state)
		return -1;
	state->layout = (struct py_layout){
		.traits = PY_TRAIT_FRAME_OBJECT,
		.runtime_interpreters_head = 8,
		.interp_threads_head = 8,
		.tstate_next = 8,
		.tstate_interp = 16,
		.tstate_frame = 24,
		.tstate_sz = 32,
		.object_type = 8,
		.frame_executable = 16,
	};
	state->memory.on_read = on_read;
	state->memory.ctx = state;
	put_right(state);
	*ret_state = state;
	return 0;
}

static int teardown(void **ret_state)
{
	struct state *state = *ret_state;

	fake_memory_release(&state->memory);
	free(state);
	return 0;
}

static bool check(struct state *state)
{
	return state_check(fake_memory_open(&state->memory), &state->layout, RUNTIME);
}

static void what_fits_passes(void **ret_state)
{
	assert_true(check(*ret_state));
}

static void nothing_to_see_is_no_evidence(void **ret_state)
{
	struct state *state = *ret_state;

	put_words(state, TSTATE, 0, 0, INTERP, 0);
	assert_true(check(state));
	put_words(state, INTERP, 0, 0, 0, 0);
	assert_true(check(state));
	put_words(state, RUNTIME, 0, 0, 0, 0);
	assert_true(check(state));
}

static void another_build_does_not_pass(void **ret_state)
{
	struct state *state = *ret_state;

	put_words(state, TSTATE, 0, 0, INTERP + 8, FRAME);
	assert_false(check(state));
	put_words(state, TSTATE, INTERP, 0, INTERP, FRAME);
	assert_false(check(state));
	put_right(state);
	put_words(state, FRAME, 1, TYPES + 64, CODE, 0); /* a code object for a frame */
	assert_false(check(state));
	put_right(state);
	put_words(state, FRAME, 1, TYPES, FRAME, 0);
	assert_false(check(state));
	put_right(state);
	fake_memory_put(&state->memory, TEXTS, "frames", 6); /* without an end */
	assert_false(check(state));
	put_right(state);
	put_words(state, RUNTIME, 0, 0x99000, 0, 0);
	assert_false(check(state));
}

/* 3.11 and 3.12: the thread state leads to a cframe, and that to the frame, which is no object. */
static void put_cframe(struct state *state)
{
	state->layout.traits = PY_TRAIT_CFRAME;
	state->layout.cframe_current_frame = 8;
	state->layout.frame_executable = 0;
	put_words(state, TSTATE, 0, 0, INTERP, CFRAME);
	put_words(state, CFRAME, 0, FRAME, 0, 0);
	put_words(state, FRAME, CODE, 0, 0, 0);
}

static void a_frame_of_a_cframe(void **ret_state)
{
	struct state *state = *ret_state;

	put_cframe(state);
	assert_true(check(state));
	put_words(state, CFRAME, 0, 0, 0, 0); /* runs nothing */
	assert_true(check(state));
	put_words(state, TSTATE, 0, 0, INTERP, 0x99000);
	assert_false(check(state));
}

/* --with-trace-refs: two words stand in front of each object's head. */
static void longer_heads_of_objects_do_not_pass(void **ret_state)
{
	struct state *state = *ret_state;

	put_cframe(state);
	put_words(state, CODE, CODE, CODE, 1, TYPES + 64);
	assert_false(check(state));
}

static void a_process_that_runs_is_looked_at_again(void **ret_state)
{
	struct state *state = *ret_state;

	put_words(state, TSTATE, 0, 0, 0, FRAME);
	state->right_from = 20;
	assert_true(check(state));
	assert_true(state->read_cnt >= 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_fits_passes, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_to_see_is_no_evidence, setup, teardown),
		cmocka_unit_test_setup_teardown(another_build_does_not_pass, setup, teardown),
		cmocka_unit_test_setup_teardown(a_frame_of_a_cframe, setup, teardown),
		cmocka_unit_test_setup_teardown(longer_heads_of_objects_do_not_pass, setup, teardown),
		cmocka_unit_test_setup_teardown(a_process_that_runs_is_looked_at_again, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
