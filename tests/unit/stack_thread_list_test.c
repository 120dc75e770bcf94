/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "stack/thread_list.h"
#include "stack_fixture.h"

#define RUNTIME 0x1000ULL
#define MAIN	0x2000ULL
#define SUB	0x3000ULL
#define STATES	0x10000ULL

struct state {
	struct fake_memory memory;
	struct py_layout layout;
	size_t cnt;
	u64 ids[64];
	u64 addrs[64];
};

static int setup(void **ret_state)
{
	struct state *state = calloc(1, sizeof(*state));

	if (!state)
		return -1;
	state->layout = fake_layout();
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

static void note(void *ctx, u64 native_id, remote_addr_t tstate)
{
	struct state *state = ctx;

	assert_true(state->cnt < 64);
	state->ids[state->cnt] = native_id;
	state->addrs[state->cnt++] = tstate;
}

static int list(struct state *state, size_t max_threads)
{
	state->cnt = 0;
	return thread_list_walk(fake_memory_open(&state->memory), &state->layout, RUNTIME, max_threads, note,
				state);
}

static void put_runtime(struct state *state, u64 head)
{
	u64 words[2] = {0, head};

	fake_memory_put(&state->memory, RUNTIME, words, sizeof(words));
}

static void put_interp(struct state *state, u64 addr, u64 next, u64 threads)
{
	u64 words[2] = {next, threads};

	fake_memory_put(&state->memory, addr, words, sizeof(words));
}

static u64 put_thread(struct state *state, u64 number, u64 next)
{
	u64 words[3] = {0, next, 100 + number};

	fake_memory_put(&state->memory, STATES + number * 64, words, sizeof(words));
	return STATES + number * 64;
}

static void every_thread_of_every_interpreter(void **ret_state)
{
	struct state *state = *ret_state;

	put_runtime(state, MAIN);
	put_interp(state, MAIN, SUB, put_thread(state, 0, put_thread(state, 1, 0)));
	put_interp(state, SUB, 0, put_thread(state, 2, 0));
	assert_int_equal(list(state, 64), 0);
	assert_int_equal(state->cnt, 3);
	assert_int_equal(state->ids[0], 100);
	assert_int_equal(state->ids[1], 101);
	assert_int_equal(state->ids[2], 102);
	assert_int_equal(state->addrs[2], STATES + 2 * 64);
}

static void no_interpreter_yet(void **ret_state)
{
	struct state *state = *ret_state;

	put_runtime(state, 0);
	assert_int_equal(list(state, 64), 0);
	assert_int_equal(state->cnt, 0);
	put_runtime(state, MAIN);
	put_interp(state, MAIN, 0, 0);
	assert_int_equal(list(state, 64), 0);
	assert_int_equal(state->cnt, 0);
}

static void unreadable_parts(void **ret_state)
{
	struct state *state = *ret_state;

	assert_int_equal(list(state, 64), -EFAULT);
	put_runtime(state, MAIN);
	assert_int_equal(list(state, 64), -EFAULT);
	put_interp(state, MAIN, 0xdead000, put_thread(state, 0, 0));
	assert_int_equal(list(state, 64), -EFAULT);
	assert_int_equal(state->cnt, 1);
	put_interp(state, MAIN, 0, put_thread(state, 0, 0xdead000));
	assert_int_equal(list(state, 64), -EFAULT);
	assert_int_equal(state->cnt, 1);
}

static void lists_without_end_are_cut(void **ret_state)
{
	struct state *state = *ret_state;

	put_runtime(state, MAIN);
	put_interp(state, MAIN, 0, put_thread(state, 0, STATES));
	assert_int_equal(list(state, 20), 0);
	assert_int_equal(state->cnt, 20);
	/* Interpreters without threads. */
	put_interp(state, MAIN, SUB, 0);
	put_interp(state, SUB, MAIN, 0);
	assert_int_equal(list(state, 20), 0);
	assert_int_equal(state->cnt, 0);
}

/* Up to 3.10: behind thread_id, where glibc keeps the thread's id, or where nothing is. */
static void ids_by_the_thread_descriptor(void **ret_state)
{
	struct state *state = *ret_state;
	u64 words[2] = {0xabcd00000065ULL, 0};

	state->layout.tstate_native_thread_id = 0;
	state->layout.tstate_thread_id = 16;
	put_runtime(state, MAIN);
	put_interp(state, MAIN, 0, put_thread(state, 0, put_thread(state, 1, 0)));
	fake_memory_put(&state->memory, 100 + 720, words, sizeof(words[0]));
	assert_int_equal(list(state, 64), 0);
	assert_int_equal(state->cnt, 2);
	assert_int_equal(state->ids[0], 0x65);
	assert_int_equal(state->ids[1], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_thread_of_every_interpreter, setup, teardown),
		cmocka_unit_test_setup_teardown(no_interpreter_yet, setup, teardown),
		cmocka_unit_test_setup_teardown(unreadable_parts, setup, teardown),
		cmocka_unit_test_setup_teardown(lists_without_end_are_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(ids_by_the_thread_descriptor, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
