/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks over made-up memory, which changes between the reads of one stack where a test says so. Names are
 * made of what they must tell: the version of the code object and the instruction.
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
	FRAMES_MAX = 100,
	CODE_SZ = 256,
	CODES_MAX = 128,
	INSTR_MAX = 1000,
};

#define DATA  0x10000ULL
#define HEAP  0x50ff8ULL /* frames here cross a page */
#define ENTRY 0x7ff000ULL
#define CODE  0x900000ULL

struct level {
	u64 addr;
	u64 code; /* number of the code object */
	u32 instr;
	u8 owner;
};

struct state {
	struct fake_memory memory;
	struct py_layout layout;
	struct stack_completer *completer;
	struct completed_stack stack;
	u32 versions[CODES_MAX];
	u32 next_version;
	size_t name_cnt;
	size_t unnamed_cnt;
	size_t fingerprint_cnt;
	size_t read_cnt;
	size_t act_at; /* on_read number at which `act` happens */
	void (*act)(struct state *state);
};

static u64 code_addr(u64 code)
{
	return CODE + code * CODE_SZ;
}

/* Makes the code object, or frees it and makes another at its place. */
static void make_code(struct state *state, u64 code)
{
	u32 version = state->next_version++;

	state->versions[code] = version;
	fake_memory_put(&state->memory, code_addr(code) + state->layout.code_version, &version,
			sizeof(version));
}

static int read_fingerprints(void *ctx, const u64 *codes, size_t cnt, u32 *ret_fingerprints)
{
	struct state *state = ctx;

	for (size_t i = 0; i < cnt; i++) {
		state->fingerprint_cnt++;
		if (remote_mem_read(state->memory.mem, codes[i] + state->layout.code_version,
				    &ret_fingerprints[i], sizeof(u32)))
			ret_fingerprints[i] = 0;
	}
	return 0;
}

static u32 id_of(u32 version, s32 instr)
{
	return version * INSTR_MAX + (u32)instr;
}

static bool name(void *ctx, const struct py_frame *frame, u32 *ret_id)
{
	struct state *state = ctx;

	state->name_cnt++;
	state->unnamed_cnt += !frame->fingerprint;
	*ret_id = id_of(frame->fingerprint, frame->instr_off);
	return frame->fingerprint != 0;
}

static void on_read(void *ctx)
{
	struct state *state = ctx;

	if (++state->read_cnt == state->act_at && state->act)
		state->act(state);
}

static int setup(void **ret_state)
{
	struct state *state = calloc(1, sizeof(*state));
	struct stack_completer_config config = {.max_frames = FRAMES_MAX};

	if (!state || stack_completer_new(&state->completer, &config) != 0)
		return -1;
	state->layout = fake_layout();
	state->layout.traits |= PY_TRAIT_CODE_VERSION;
	state->layout.code_version = 100;
	state->memory.on_read = on_read;
	state->memory.ctx = state;
	state->next_version = 1;
	for (u64 code = 0; code < CODES_MAX; code++)
		make_code(state, code);
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

static int complete_at(struct state *state, u64 frame, u32 tid, u64 time_ns)
{
	const struct stack_request request = {
		.mem = fake_memory_open(&state->memory),
		.layout = &state->layout,
		.epoch = 1,
		.tid = tid,
		.time_ns = time_ns,
		.resume_frame = frame,
	};
	const struct stack_namer namer = {state, read_fingerprints, name};

	state->name_cnt = 0;
	state->unnamed_cnt = 0;
	state->fingerprint_cnt = 0;
	state->read_cnt = 0;
	return stack_complete(state->completer, &request, &namer, &state->stack);
}

static int complete(struct state *state, u64 frame)
{
	return complete_at(state, frame, 1, 1);
}

static void put_frame(struct state *state, u64 addr, u64 previous, u64 executable, u64 instr, u8 owner)
{
	u64 words[4] = {executable, previous, instr, owner};

	fake_memory_put(&state->memory, addr, words, sizeof(words));
}

static void put_level(struct state *state, const struct level *level, u64 previous)
{
	u64 executable = code_addr(level->code);

	put_frame(state, level->addr, previous, executable,
		  executable + state->layout.code_code_adaptive + level->instr, level->owner);
}

/* Leaf first; behind the last comes the entry frame. */
static void put_chain(struct state *state, const struct level *levels, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		put_level(state, &levels[i], i + 1 < cnt ? levels[i + 1].addr : ENTRY);
	put_frame(state, ENTRY, 0, 0, 0, state->layout.owner_entry);
}

static void assert_stack(const struct state *state, const struct level *levels, size_t cnt)
{
	assert_int_equal(state->stack.cnt, cnt);
	for (size_t i = 0; i < cnt; i++) {
		assert_int_equal(state->stack.frames[i].code, code_addr(levels[i].code));
		assert_int_equal(state->stack.frames[i].instr_off, levels[i].instr);
		assert_int_equal(state->stack.frame_ids[i],
				 id_of(state->versions[levels[i].code], (s32)levels[i].instr));
	}
	assert_int_equal(state->unnamed_cnt, 0);
}

/* Each frame above the last, as on the data stack; leaf first. */
static void make_levels(struct level *levels, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		levels[i] =
			(struct level){.addr = DATA + (cnt - 1 - i) * 32, .code = cnt - 1 - i, .instr = 6};
}

/* Completes the chain and expects exactly it. */
static void complete_chain(struct state *state, const struct level *levels, size_t cnt)
{
	put_chain(state, levels, cnt);
	assert_int_equal(complete(state, levels[0].addr), 0);
	assert_stack(state, levels, cnt);
}

static const struct stack_stats *stats(const struct state *state)
{
	return stack_completer_stats(state->completer);
}

static void frames_come_leaf_first(void **ret_state)
{
	struct state *state = *ret_state;
	struct level levels[50];

	make_levels(levels, 50);
	complete_chain(state, levels, 50);
	assert_int_equal(state->stack.frames[0].fingerprint, state->versions[49]);
	assert_int_equal(stats(state)->misses, 1);
	assert_int_equal(stats(state)->frames_read, 50);
	assert_int_equal(stats(state)->frames_reused, 0);
}

static void nothing_to_resume_is_an_empty_stack(void **ret_state)
{
	struct state *state = *ret_state;

	assert_int_equal(complete(state, 0), 0);
	assert_int_equal(state->stack.cnt, 0);
}

static void heap_frames_and_entry_frames(void **ret_state)
{
	struct state *state = *ret_state;
	struct level levels[3] = {{HEAP, 9, 4, 1}, {DATA + 32, 1, 6, 0}, {DATA, 0, 8, 0}};

	put_chain(state, levels, 3);
	/* An entry frame between the first two. */
	put_level(state, &levels[0], 0x70000);
	put_frame(state, 0x70000, levels[1].addr, 0, 0, state->layout.owner_entry);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(complete(state, HEAP), 0);
		assert_stack(state, levels, 3);
	}
	assert_int_equal(stats(state)->hits, 1);
}

static void tagged_executables(void **ret_state)
{
	struct state *state = *ret_state;
	struct level level = {DATA, 3, 6, 0};

	put_chain(state, &level, 1);
	put_frame(state, DATA, ENTRY, code_addr(3) | 1,
		  code_addr(3) + state->layout.code_code_adaptive + level.instr, 0);
	state->layout.traits |= PY_TRAIT_TAGGED_EXECUTABLE;
	assert_int_equal(complete(state, DATA), 0);
	assert_stack(state, &level, 1);
}

static void assert_fails(struct state *state, u64 frame, int err)
{
	struct completed_stack before = state->stack;
	u64 failed = stats(state)->failed;

	assert_int_equal(complete(state, frame), err);
	assert_memory_equal(&state->stack, &before, sizeof(before));
	assert_int_equal(stats(state)->failed, failed + 1);
}

static void unreadable_frame(void **ret_state)
{
	struct state *state = *ret_state;

	put_frame(state, HEAP, 0x123000, code_addr(0), 0, 1);
	assert_fails(state, 0x123000, -EFAULT);
	assert_fails(state, HEAP, -EFAULT);
	assert_fails(state, ~0ULL - 4, -EFAULT);
	assert_fails(state, 1, -EFAULT);
}

static void frame_without_code(void **ret_state)
{
	struct state *state = *ret_state;

	put_frame(state, DATA, ENTRY, 0, 0, 0);
	assert_fails(state, DATA, -EFAULT);
}

/* A generator's `previous` is cleared before its resumer becomes current: not the end of the chain. */
static void chain_that_ends_nowhere(void **ret_state)
{
	struct state *state = *ret_state;
	struct level levels[3];

	make_levels(levels, 3);
	put_chain(state, levels, 3);
	put_level(state, &levels[2], 0);
	assert_fails(state, levels[0].addr, -EFAULT);
	state->layout.traits = PY_TRAIT_IS_ENTRY;
	state->layout.frame_is_entry = 25;
	assert_fails(state, levels[0].addr, -EFAULT);
	put_frame(state, levels[2].addr, 0, code_addr(0), code_addr(0) + state->layout.code_code_adaptive + 6,
		  0);
	state->memory.segments[0].bytes[25] = 1;
	assert_int_equal(state->memory.segments[0].addr, levels[2].addr);
	assert_int_equal(complete(state, levels[0].addr), 0);
	assert_int_equal(state->stack.cnt, 3);
}

/* CPython 3.6 to 3.10: f_lasti in the place of an address, the generator in that of an owner. */
static void frame_objects(void **ret_state)
{
	const u64 root[4] = {code_addr(0), 0, 6, 0x700000000000ULL};
	struct state *state = *ret_state;

	state->layout.traits = PY_TRAIT_FRAME_OBJECT | PY_TRAIT_CODE_VERSION;
	put_frame(state, DATA, 0, code_addr(0), 0xbad00000006ULL, 0);
	put_frame(state, HEAP, DATA, code_addr(1), 8, 0);
	put_frame(state, DATA + 4096, HEAP, code_addr(2), 0xffffffffULL, 0);
	assert_int_equal(complete(state, DATA + 4096), 0);
	assert_int_equal(state->stack.cnt, 3);
	assert_int_equal(state->stack.frames[0].instr_off, -1);
	assert_int_equal(state->stack.frames[1].instr_off, 8);
	assert_int_equal(state->stack.frames[2].instr_off, 6);
	/* The same again, by the cache. */
	assert_int_equal(complete(state, DATA + 4096), 0);
	assert_int_equal(state->name_cnt, 0);
	/* 3.10 counts units of two bytes. */
	state->layout.traits |= PY_TRAIT_LASTI_UNITS;
	assert_int_equal(complete_at(state, DATA + 4096, 2, 1), 0);
	assert_int_equal(state->stack.frames[0].instr_off, -2);
	assert_int_equal(state->stack.frames[1].instr_off, 16);
	/* A generator's frame is no root: it was suspended while this was read. */
	fake_memory_put(&state->memory, DATA, root, sizeof(root));
	assert_fails(state, DATA + 4096, -EFAULT);
}

static void loops_end(void **ret_state)
{
	struct state *state = *ret_state;

	put_frame(state, DATA, DATA, code_addr(0), 0, 0);
	assert_fails(state, DATA, -ELOOP);
	put_frame(state, HEAP, 0x70000, code_addr(0), 0, 1);
	put_frame(state, 0x70000, HEAP, code_addr(0), 0, 1);
	assert_fails(state, HEAP, -ELOOP);
	/* Entry frames only: no frame is ever counted. */
	put_frame(state, 0x80000, 0x80000, 0, 0, state->layout.owner_entry);
	assert_fails(state, 0x80000, -ELOOP);
}

static void deeper_than_the_limit(void **ret_state)
{
	struct state *state = *ret_state;
	struct level levels[FRAMES_MAX + 1];

	make_levels(levels, FRAMES_MAX + 1);
	put_chain(state, levels, FRAMES_MAX + 1);
	assert_int_equal(complete(state, levels[1].addr), 0);
	assert_stack(state, levels + 1, FRAMES_MAX);
	assert_fails(state, levels[0].addr, -ELOOP);
	/* What failed cost nothing of what is known. */
	assert_int_equal(complete(state, levels[1].addr), 0);
	assert_stack(state, levels + 1, FRAMES_MAX);
	assert_int_equal(stats(state)->hits, 1);
}

static void unchanged_stack_is_one_read_and_no_name(void **ret_state)
{
	struct state *state = *ret_state;
	struct level levels[60];
	u64 calls;

	make_levels(levels, 60);
	complete_chain(state, levels, 60);
	calls = stats(state)->remote_calls;
	assert_int_equal(complete(state, levels[0].addr), 0);
	assert_stack(state, levels, 60);
	assert_int_equal(state->name_cnt, 0);
	assert_int_equal(state->fingerprint_cnt, 0);
	assert_int_equal(stats(state)->remote_calls, calls + 1);
	assert_int_equal(stats(state)->hits, 1);
	assert_int_equal(stats(state)->frames_reused, 60);
}

static void leaf_that_moves_is_named_alone(void **ret_state)
{
	struct state *state = *ret_state;
	struct level levels[60];

	make_levels(levels, 60);
	complete_chain(state, levels, 60);
	/* Returned from three, called four others. */
	for (size_t i = 0; i < 3; i++)
		levels[i].code = 100 + i;
	complete_chain(state, levels, 60);
	assert_int_equal(state->name_cnt, 3);
	assert_int_equal(stats(state)->partial, 1);
	/* Only popped. */
	assert_int_equal(complete(state, levels[10].addr), 0);
	assert_stack(state, levels + 10, 50);
	assert_int_equal(state->name_cnt, 0);
	assert_int_equal(stats(state)->hits, 1);
	/* And pushed again, the same. */
	assert_int_equal(complete(state, levels[0].addr), 0);
	assert_stack(state, levels, 60);
	assert_int_equal(state->name_cnt, 10);
}

/* The children are byte for byte what they were; only the parent's line moved. */
static void same_children_from_two_lines_of_the_parent(void **ret_state)
{
	struct state *state = *ret_state;
	struct level levels[30];

	make_levels(levels, 30);
	complete_chain(state, levels, 30);
	levels[20].instr = 40;
	complete_chain(state, levels, 30);
	assert_int_equal(state->name_cnt, 1);
	levels[29].instr = 44;
	complete_chain(state, levels, 30);
	assert_int_equal(state->name_cnt, 1);
}

static void recursion_that_reenters_at_equal_depth(void **ret_state)
{
	struct state *state = *ret_state;
	struct level levels[30];

	make_levels(levels, 30);
	for (size_t i = 0; i < 20; i++)
		levels[i].code = 5;
	complete_chain(state, levels, 30);
	/* The whole recursion returned; another caller called the same one, as deep as before. */
	levels[20].code = 77;
	levels[21].code = 78;
	complete_chain(state, levels, 30);
	assert_int_equal(state->name_cnt, 2);
	/* Entered one deeper: every frame of it lies elsewhere. */
	for (size_t i = 0; i < 20; i++)
		levels[i].addr += 32;
	complete_chain(state, levels, 30);
	/* Through one caller less. */
	memmove(&levels[20], &levels[21], 9 * sizeof(levels[0]));
	complete_chain(state, levels, 29);
}

static void generator_resumed_by_different_callers(void **ret_state)
{
	struct state *state = *ret_state;
	struct level one[4] = {{HEAP, 9, 4, 1}, {DATA + 64, 2, 6, 0}, {DATA + 32, 1, 6, 0}, {DATA, 0, 6, 0}};
	struct level other[3] = {{HEAP, 9, 4, 1}, {DATA + 32, 3, 8, 0}, {DATA, 0, 6, 0}};

	for (int i = 0; i < 5; i++) {
		complete_chain(state, one, 4);
		complete_chain(state, other, 3);
	}
}

/* Two C stacks with data stack chunks of their own; the leaf is shared by both in turn. */
static void switched_stacks(void **ret_state)
{
	struct state *state = *ret_state;
	struct level one[20], other[20];

	make_levels(one, 20);
	make_levels(other, 20);
	for (size_t i = 1; i < 20; i++) {
		other[i].addr += 0x8000;
		other[i].code += 40;
	}
	for (int i = 0; i < 5; i++) {
		complete_chain(state, one, 20);
		complete_chain(state, other, 20);
	}
}

static void frame_address_reused_by_another_function(void **ret_state)
{
	struct state *state = *ret_state;
	struct level levels[20];

	make_levels(levels, 20);
	complete_chain(state, levels, 20);
	levels[4].code = 90;
	complete_chain(state, levels, 20);
	assert_int_equal(state->name_cnt, 1);
}

/* Not a byte of any frame changes. */
static void code_object_replaced_at_its_address(void **ret_state)
{
	struct state *state = *ret_state;
	struct level levels[20];

	make_levels(levels, 20);
	complete_chain(state, levels, 20);
	for (int i = 0; i < 10; i++) {
		make_code(state, 7);
		assert_int_equal(complete(state, levels[0].addr), 0);
		assert_stack(state, levels, 20);
		assert_int_equal(state->name_cnt, 1);
		assert_int_equal(state->fingerprint_cnt, 0);
	}
}

static void replace_code(struct state *state)
{
	make_code(state, 7);
}

/* The fingerprint is read behind the frames: what is named is the old one or the new one, and once it
 * changed never the old one again. */
static void code_object_replaced_while_it_is_read(void **ret_state)
{
	struct state *state = *ret_state;
	struct level levels[20];

	make_levels(levels, 20);
	state->act = replace_code;
	for (size_t at = 1; at < 30; at++) {
		u32 before, id;

		state->act_at = 0;
		complete_chain(state, levels, 20);
		before = state->versions[7];
		state->act_at = at;
		assert_int_equal(complete(state, levels[0].addr), 0);
		id = state->stack.frame_ids[12];
		assert_true(id == id_of(before, 6) || id == id_of(state->versions[7], 6));
		state->act_at = 0;
		complete_chain(state, levels, 20);
	}
}

static void code_without_fingerprint_is_never_remembered(void **ret_state)
{
	struct state *state = *ret_state;
	struct level levels[5];
	u32 none = 0;

	make_levels(levels, 5);
	fake_memory_put(&state->memory, code_addr(2) + state->layout.code_version, &none, sizeof(none));
	put_chain(state, levels, 5);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(complete(state, levels[0].addr), 0);
		assert_int_equal(state->stack.cnt, 5);
		assert_int_equal(state->unnamed_cnt, 1);
		assert_int_equal(state->stack.frame_ids[2], id_of(0, 6));
		assert_int_equal(state->name_cnt, i ? 1 : 5);
	}
	make_code(state, 2);
	complete_chain(state, levels, 5);
}

/* Content fingerprints (before 3.12) come from the namer alone. */
static void fingerprints_by_content(void **ret_state)
{
	struct state *state = *ret_state;
	struct level levels[20];

	state->layout.traits &= ~(u32)PY_TRAIT_CODE_VERSION;
	make_levels(levels, 20);
	complete_chain(state, levels, 20);
	assert_int_equal(complete(state, levels[0].addr), 0);
	assert_int_equal(state->name_cnt, 0);
	assert_int_equal(state->fingerprint_cnt, 20);
	make_code(state, 7);
	assert_int_equal(complete(state, levels[0].addr), 0);
	assert_stack(state, levels, 20);
	assert_int_equal(state->name_cnt, 1);
}

static void forget_memory(struct state *state)
{
	state->memory.cnt = 0;
}

/* The process ends, or unmaps it all, in front of any of the segments. */
static void memory_that_goes_while_it_is_read(void **ret_state)
{
	struct state *state = *ret_state;
	size_t failed = 0, cnt = state->memory.cnt;
	struct level levels[20];

	make_levels(levels, 20);
	for (size_t i = 0; i < 20; i += 3)
		levels[i].addr += 0x100000 * i;
	complete_chain(state, levels, 20);
	cnt = state->memory.cnt;
	state->act = forget_memory;
	for (size_t at = 1; at < 60; at++) {
		state->act_at = at;
		if (complete(state, levels[0].addr)) {
			failed++;
		} else {
			/* Every frame came; what went are fingerprints. */
			assert_int_equal(state->stack.cnt, 20);
			for (size_t i = 0; i < 20; i++)
				assert_true(state->stack.frame_ids[i] == id_of(0, 6) ||
					    state->stack.frame_ids[i] ==
						    id_of(state->versions[levels[i].code], 6));
		}
		state->memory.cnt = cnt;
		state->act_at = 0;
		assert_int_equal(complete(state, levels[0].addr), 0);
		assert_stack(state, levels, 20);
	}
	assert_true(failed > 5);
}

static void threads_are_kept_apart(void **ret_state)
{
	struct state *state = *ret_state;
	struct level one[20], other[20];

	make_levels(one, 20);
	make_levels(other, 20);
	for (size_t i = 0; i < 20; i++)
		other[i].addr += 0x8000;
	put_chain(state, other, 20);
	put_chain(state, one, 20);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(complete_at(state, one[0].addr, 1, 1), 0);
		assert_stack(state, one, 20);
		assert_int_equal(state->name_cnt, i ? 0 : 20);
		assert_int_equal(complete_at(state, other[0].addr, 2, 1), 0);
		assert_stack(state, other, 20);
		assert_int_equal(state->name_cnt, i ? 0 : 20);
	}
}

static u64 next_random(u64 *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* Whatever the frames point at, a call ends, and what it gives is a chain that stood in memory. */
static void hostile_pointers(void **ret_state)
{
	struct state *state = *ret_state;
	u64 seed = 0x9e3779b97f4a7c15ULL;
	size_t completed = 0;

	for (int round = 0; round < 3000; round++) {
		u64 addrs[16];

		for (int i = 0; i < 16; i++)
			addrs[i] = DATA + (u64)i * 40;
		for (int i = 0; i < 16; i++) {
			u64 kind = next_random(&seed) % 16;
			u64 previous = kind == 0   ? next_random(&seed)
				       : kind == 1 ? ~0ULL - next_random(&seed) % 64
				       : kind == 2 ? ENTRY
				       : kind == 3 ? addrs[next_random(&seed) % 16] + 1
						   : addrs[next_random(&seed) % 16];

			put_frame(state, addrs[i], previous,
				  next_random(&seed) % 8 ? code_addr(next_random(&seed) % CODES_MAX)
							 : next_random(&seed),
				  next_random(&seed), next_random(&seed) % 4 == 0 ? 1 : 0);
		}
		put_frame(state, ENTRY, 0, 0, 0, state->layout.owner_entry);
		if (complete_at(state, addrs[round % 16], 1, (u64)round * 2000000000))
			continue;
		completed++;
		assert_true(state->stack.cnt <= 16);
	}
	assert_true(completed > 100);
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
		cmocka_unit_test_setup_teardown(chain_that_ends_nowhere, setup, teardown),
		cmocka_unit_test_setup_teardown(frame_objects, setup, teardown),
		cmocka_unit_test_setup_teardown(loops_end, setup, teardown),
		cmocka_unit_test_setup_teardown(deeper_than_the_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(unchanged_stack_is_one_read_and_no_name, setup, teardown),
		cmocka_unit_test_setup_teardown(leaf_that_moves_is_named_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(same_children_from_two_lines_of_the_parent, setup, teardown),
		cmocka_unit_test_setup_teardown(recursion_that_reenters_at_equal_depth, setup, teardown),
		cmocka_unit_test_setup_teardown(generator_resumed_by_different_callers, setup, teardown),
		cmocka_unit_test_setup_teardown(switched_stacks, setup, teardown),
		cmocka_unit_test_setup_teardown(frame_address_reused_by_another_function, setup, teardown),
		cmocka_unit_test_setup_teardown(code_object_replaced_at_its_address, setup, teardown),
		cmocka_unit_test_setup_teardown(code_object_replaced_while_it_is_read, setup, teardown),
		cmocka_unit_test_setup_teardown(code_without_fingerprint_is_never_remembered, setup,
						teardown),
		cmocka_unit_test_setup_teardown(fingerprints_by_content, setup, teardown),
		cmocka_unit_test_setup_teardown(memory_that_goes_while_it_is_read, setup, teardown),
		cmocka_unit_test_setup_teardown(threads_are_kept_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(hostile_pointers, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
