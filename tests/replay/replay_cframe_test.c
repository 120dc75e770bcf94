/* SPDX-License-Identifier: Apache-2.0 */
/* CPython 3.11 and 3.12 make a new cframe current before they fill it, and 3.12 unlinks a generator before
 * its resumer is current. Both moments are rebuilt here over real images.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "image_fixture.h"

#define FAKE_CFRAME 0x00007ffffff00000ULL /* above every stack pointer */
#define FAKE_FRAME  0x00007ffffff10000ULL

static bool has(const struct image_case *c, enum py_trait trait)
{
	return c->layout.traits & trait;
}

static bool is_usable(const struct image_case *c)
{
	return has(c, PY_TRAIT_CFRAME) && !(c->minor == 0x030b && image_case_is(c, "subinterpreters"));
}

static u64 datastack_top(struct image_case *c)
{
	return image_case_u64(c, c->tstate + c->layout.tstate_datastack_top);
}

/* A cframe is made current that holds these. */
static void enter_cframe_of(struct image_case *c, u64 frame, u64 outer)
{
	u64 words[3] = {0};

	memcpy((u8 *)words + c->layout.cframe_current_frame, &frame, sizeof(u64));
	memcpy((u8 *)words + c->layout.cframe_previous, &outer, sizeof(u64));
	patch_bytes(c, FAKE_CFRAME, words, sizeof(words));
	patch_u64(c, c->tstate + c->layout.tstate_frame, FAKE_CFRAME);
}

/* A cframe below the real one, not filled: its current_frame is what an earlier call left there. */
static void enter_cframe(struct image_case *c, u64 stale_frame)
{
	enter_cframe_of(c, stale_frame, image_case_u64(c, c->tstate + c->layout.tstate_frame));
}

/* A frame that returned: of the code object of the stack's root, so that it shows if it is believed. */
static void put_frame(struct image_case *c, u64 addr, u64 previous, u8 owner, u8 is_entry)
{
	const struct py_layout *layout = &c->layout;
	u64 code = image_case_u64(c, c->chain[0].addr + layout->frame_executable);
	u64 instr = code + layout->code_code_adaptive + 2;

	if (owner)
		code = 0;
	patch_u64(c, addr + layout->frame_executable, code);
	patch_u64(c, addr + layout->frame_previous, previous);
	patch_u64(c, addr + layout->frame_instr, instr);
	patch_u8(c, addr + layout->frame_owner, owner);
	if (has(c, PY_TRAIT_IS_ENTRY))
		patch_u8(c, addr + layout->frame_is_entry, is_entry);
}

static void assert_outer_stack(struct image_case *c, const char *what)
{
	struct walker_output walk;

	image_case_walk(c, &walk);
	if (walk.status == SAMPLE_TRUNCATED && walk.reason == SAMPLE_REASON_MID_TRANSITION) {
		print_message("%s: %s: mid-transition\n", c->name, what);
		patch_none(c);
		return;
	}
	if (walk.status != SAMPLE_EXACT || walk.frame_cnt != c->frame_cnt)
		fail_msg("%s: %s: status %d, reason %d, %u frames of %u", c->name, what, walk.status,
			 walk.reason, walk.frame_cnt, c->frame_cnt);
	for (u32 i = 0; i < walk.frame_cnt; i++) {
		assert_int_equal(walk.frames[i].code, c->frames[i].code);
		assert_int_equal(walk.frames[i].instr_off, c->frames[i].instr_off);
	}
	patch_none(c);
}

static void put_zeros(struct image_case *c, u64 addr)
{
	static const u8 zeros[LIMIT_FRAME_SPAN];

	patch_region(c, addr, zeros, sizeof(zeros));
}

/* 3.11 leaves a returned evaluation's first frame in the cframe, popped from the data stack. */
static void stale_popped_frame(void **state)
{
	size_t applied = 0;

	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		u64 top;

		if (!is_usable(c) || !has(c, PY_TRAIT_IS_ENTRY))
			continue;
		/* Well above the top: other frames were popped since. */
		top = datastack_top(c);
		put_zeros(c, top + 256);
		put_frame(c, top + 256, c->chain[0].addr, 0, 1);
		enter_cframe(c, top + 256);
		assert_outer_stack(c, "popped frame");
		/* At the top: it was the last that was popped. */
		put_zeros(c, top);
		put_frame(c, top, c->chain[0].addr, 0, 1);
		enter_cframe(c, top);
		assert_outer_stack(c, "last popped frame");
		applied++;
	}
	assert_true(applied >= 10);
}

/* The same, called from another frame than the one that calls now. */
static void stale_frame_of_another_caller(void **state)
{
	size_t applied = 0;

	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		u64 caller, top;

		if (!is_usable(c) || c->chain_cnt < 3)
			continue;
		caller = c->chain[c->chain_cnt - 2].addr;
		top = datastack_top(c);
		if (has(c, PY_TRAIT_IS_ENTRY)) {
			put_zeros(c, top);
			put_frame(c, top, caller, 0, 1);
			enter_cframe(c, top);
		} else {
			put_zeros(c, FAKE_FRAME);
			put_frame(c, FAKE_FRAME, caller, c->layout.owner_entry, 0);
			enter_cframe(c, FAKE_FRAME);
		}
		assert_outer_stack(c, "another caller");
		applied++;
	}
	assert_true(applied >= 15);
}

/* The frame being entered is pushed and current, but not linked yet: `previous` is an older call's. */
static void stale_link_of_the_new_frame(void **state)
{
	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		u64 top;

		if (!is_usable(c) || !has(c, PY_TRAIT_IS_ENTRY) || c->chain_cnt < 3)
			continue;
		top = datastack_top(c);
		put_zeros(c, top);
		put_frame(c, top, c->chain[1].addr, 0, 0);
		patch_u64(c, c->tstate + c->layout.tstate_datastack_top, top + 200);
		enter_cframe(c, top);
		assert_outer_stack(c, "not linked yet");
	}
}

static void assert_exact_outer_stack(struct image_case *c, const char *what)
{
	struct walker_output walk;

	image_case_walk(c, &walk);
	if (walk.status != SAMPLE_EXACT)
		fail_msg("%s: %s: status %d, reason %d", c->name, what, walk.status, walk.reason);
	assert_outer_stack(c, what);
}

/* Frames that can be read, but whose callers lie where no frame does, or in no order that calls have. */
static void stale_chain_that_leads_nowhere(void **state)
{
	size_t applied = 0;

	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		u64 top;

		if (!is_usable(c))
			continue;
		top = datastack_top(c);
		put_zeros(c, top);
		put_zeros(c, FAKE_FRAME);
		put_frame(c, top, FAKE_FRAME, 0, 0);
		put_frame(c, FAKE_FRAME, c->chain[0].addr, 0, 0);
		enter_cframe(c, top);
		assert_exact_outer_stack(c, "a caller on no data stack");
		put_zeros(c, top);
		put_zeros(c, top + 200);
		put_frame(c, top, top + 200, 0, 0);
		put_frame(c, top + 200, c->chain[0].addr, 0, 0);
		patch_u64(c, c->tstate + c->layout.tstate_datastack_top, top + 400);
		enter_cframe(c, top);
		assert_exact_outer_stack(c, "a caller above its callee");
		applied++;
	}
	assert_true(applied >= 15);
}

static void cframe_names_nothing(void **state)
{
	static const u64 nothing[] = {0, 0x10, 0xffffffffffffff00ULL, 0x00006b0000000000ULL};

	for (size_t i = 0; i < case_cnt; i++) {
		for (size_t k = 0; k < sizeof(nothing) / sizeof(nothing[0]) && is_usable(&cases[i]); k++) {
			enter_cframe(&cases[i], nothing[k]);
			assert_outer_stack(&cases[i], "names nothing");
		}
	}
}

/* It is current before it is linked to the outer one: no thread without Python frames. */
static void cframe_not_linked(void **state)
{
	static const u64 links[] = {0, 0x10, 0x00006b0000000000ULL};

	for (size_t i = 0; i < case_cnt; i++) {
		for (size_t k = 0; k < sizeof(links) / sizeof(links[0]) && is_usable(&cases[i]); k++) {
			struct image_case *c = &cases[i];
			struct walker_output walk;

			enter_cframe_of(c, c->chain[0].addr, links[k]);
			image_case_walk(c, &walk);
			assert_int_equal(walk.status, SAMPLE_TRUNCATED);
			assert_int_equal(walk.reason, SAMPLE_REASON_MID_TRANSITION);
			patch_none(c);
		}
	}
}

/* A state with another thread's id is the thread's whose C stack holds its cframe, and of no other. */
static void state_that_another_thread_made(void **state)
{
	size_t applied = 0;

	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		struct walker_input input = image_case_input(c);
		struct walker_output walk;

		if (!is_usable(c) || image_case_is(c, "subinterpreters"))
			continue;
		input.id_is_native = 0;
		input.task_id = FAKE_CFRAME;
		walker_walk(&input, &walk);
		assert_int_equal(walk.status, SAMPLE_EXACT);
		assert_int_equal(walk.frame_cnt, c->frame_cnt);
		assert_memory_equal(walk.frames, c->frames, c->frame_cnt * sizeof(*c->frames));
		input.epoch += 1u << 20;
		input.task_id = image_case_u64(c, c->tstate + c->layout.tstate_frame);
		walker_walk(&input, &walk);
		assert_int_equal(walk.status, SAMPLE_NONE);
		assert_int_equal(walk.reason, SAMPLE_REASON_NO_THREAD_STATE);
		applied++;
	}
	assert_true(applied >= 10);
}

/* Two cframes in a row that cannot be believed: not one that CPython makes. */
static void two_unfilled_cframes(void **state)
{
	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		struct walker_output walk;

		if (!is_usable(c))
			continue;
		enter_cframe(c, 0x10);
		patch_u64(c, c->leaf_slot, 0x10);
		image_case_walk(c, &walk);
		assert_true(walk.status != SAMPLE_EXACT);
		patch_none(c);
	}
}

static void cframe_unreadable(void **state)
{
	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		struct walker_output walk;

		if (!is_usable(c))
			continue;
		patch_u64(c, c->tstate + c->layout.tstate_frame, 0x10);
		image_case_walk(c, &walk);
		assert_int_equal(walk.status, SAMPLE_NONE);
		assert_int_equal(walk.reason, SAMPLE_REASON_STATE_FAULT);
		patch_none(c);
	}
}

/* The leaf generator's `previous` is cleared; the frame that resumes it is in a register only. */
static void generator_just_suspended(void **state)
{
	size_t applied = 0;

	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		struct walker_input input = image_case_input(c);
		u64 registers[WALKER_REGISTERS] = {0x10, 0, ~0ULL, c->chain[0].addr};
		struct walker_output walk;

		if (!is_usable(c) || !has(c, PY_TRAIT_OWNER_ENTRY) || c->chain[0].owner != 1)
			continue;
		patch_u64(c, c->chain[0].addr + c->layout.frame_previous, 0);
		walker_walk(&input, &walk);
		assert_int_equal(walk.status, SAMPLE_TRUNCATED);
		assert_int_equal(walk.reason, SAMPLE_REASON_MID_TRANSITION);
		/* A register that names a frame, but not the resumer. */
		registers[5] = c->chain[c->chain_cnt - 2].addr;
		input.registers = registers;
		input.epoch += 1u << 20;
		walker_walk(&input, &walk);
		assert_true(walk.status == SAMPLE_TRUNCATED || c->chain_cnt == 3);
		registers[5] = 0;
		registers[7] = c->chain[1].addr;
		input.epoch += 1u << 20;
		walker_walk(&input, &walk);
		patch_none(c);
		assert_int_equal(walk.status, SAMPLE_EXACT);
		assert_int_equal(walk.frame_cnt, c->frame_cnt);
		assert_memory_equal(walk.frames, c->frames, c->frame_cnt * sizeof(*c->frames));
		applied++;
	}
	assert_true(applied >= 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stale_popped_frame),
		cmocka_unit_test(stale_frame_of_another_caller),
		cmocka_unit_test(stale_link_of_the_new_frame),
		cmocka_unit_test(stale_chain_that_leads_nowhere),
		cmocka_unit_test(cframe_names_nothing),
		cmocka_unit_test(cframe_not_linked),
		cmocka_unit_test(state_that_another_thread_made),
		cmocka_unit_test(two_unfilled_cframes),
		cmocka_unit_test(cframe_unreadable),
		cmocka_unit_test(generator_just_suspended),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
