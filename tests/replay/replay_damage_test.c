/* SPDX-License-Identifier: Apache-2.0 */
/* Images damaged on purpose, each in one way that a target, or an interrupt between two of the interpreter's
 * stores, can bring about: what can be told apart must be told apart, and is never called exact.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "image_fixture.h"

#define ELSEWHERE 0x00006a0000000000ULL /* where no image has anything */
#define NOWHERE	  0x10ULL

static u32 bit(enum sample_reason reason)
{
	return 1u << reason;
}

/* Truncated for one of the reasons in the mask, and what there is is true. */
static void assert_cut(struct image_case *c, const struct walker_output *walk, u32 reasons, const char *what)
{
	if (walk->status != SAMPLE_TRUNCATED || !(reasons & bit(walk->reason)))
		fail_msg("%s: %s: status %d, reason %d", c->name, what, walk->status, walk->reason);
	if (walk->frame_cnt > c->frame_cnt)
		fail_msg("%s: %s: %u frames of %u", c->name, what, walk->frame_cnt, c->frame_cnt);
	for (u32 i = 0; i < walk->frame_cnt; i++) {
		assert_int_equal(walk->frames[i].code, c->frames[i].code);
		assert_int_equal(walk->frames[i].instr_off, c->frames[i].instr_off);
	}
}

static void assert_none(struct image_case *c, const struct walker_output *walk, u32 reasons)
{
	if (walk->status != SAMPLE_NONE || !(reasons & bit(walk->reason)) || walk->frame_cnt)
		fail_msg("%s: status %d, reason %d, %u frames", c->name, walk->status, walk->reason,
			 walk->frame_cnt);
}

/* Exact, and the undamaged stack without its first `skipped` frames. */
static void assert_suffix(struct image_case *c, const struct walker_output *walk, u32 skipped)
{
	if (walk->status != SAMPLE_EXACT || walk->frame_cnt != c->frame_cnt - skipped)
		fail_msg("%s: status %d, reason %d, %u frames of %u", c->name, walk->status, walk->reason,
			 walk->frame_cnt, c->frame_cnt - skipped);
	for (u32 i = 0; i < walk->frame_cnt; i++) {
		assert_int_equal(walk->frames[i].code, c->frames[skipped + i].code);
		assert_int_equal(walk->frames[i].instr_off, c->frames[skipped + i].instr_off);
	}
}

static bool is_usable(const struct image_case *c)
{
	return !(c->minor <= 0x030b && image_case_is(c, "subinterpreters"));
}

static bool has(const struct image_case *c, enum py_trait trait)
{
	return c->layout.traits & trait;
}

/* Up to its first entry frame the chain of 3.11 and 3.12 is checked against the outer cframe as well. */
static size_t first_entry(const struct image_case *c)
{
	size_t i = 0;

	while (i < c->chain_cnt && !c->chain[i].is_entry)
		i++;
	return i;
}

/* Damaged before the first entry frame, a chain of 3.11 and 3.12 may be what an earlier call left in a cframe that is
 * not filled yet: then the stack is that of the evaluation before, or none where the image lacks that one's cframe. */
static bool is_outer_evaluation(struct image_case *c, const struct walker_output *walk, size_t link)
{
	u32 skipped = 0;

	if (!has(c, PY_TRAIT_CFRAME) || link > first_entry(c))
		return false;
	if (walk->status == SAMPLE_TRUNCATED && walk->reason == SAMPLE_REASON_MID_TRANSITION &&
	    !walk->frame_cnt)
		return true;
	if (walk->status != SAMPLE_EXACT)
		return false;
	for (size_t i = 0; i <= first_entry(c); i++)
		skipped += c->chain[i].is_shown;
	assert_suffix(c, walk, skipped);
	return walk->frame_cnt > 0;
}

typedef u32 (*damage_fn)(struct image_case *c, size_t link);

/* Runs the walk with each link of every chain damaged: `damage` returns the reasons that may follow, or 0
 * where it does not apply. Long chains are tried at every 37th link. */
static void damage_every_link(damage_fn damage, const char *what)
{
	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		size_t step = c->chain_cnt > 100 ? 37 : 1;
		size_t applied = 0;

		for (size_t link = 0; link < c->chain_cnt && is_usable(c); link += step) {
			struct walker_output walk;
			u32 reasons = damage(c, link);

			if (reasons) {
				image_case_walk(c, &walk);
				if (!is_outer_evaluation(c, &walk, link))
					assert_cut(c, &walk, reasons, what);
				applied++;
			}
			patch_none(c);
		}
		if (!applied && c->chain_cnt > 5 && is_usable(c) && c->layout.frame_previous)
			print_message("%s: %s: does not apply\n", c->name, what);
	}
}

static void set_previous(struct image_case *c, size_t link, u64 previous)
{
	patch_u64(c, c->chain[link].addr + c->layout.frame_previous, previous);
}

static u32 link_to_itself(struct image_case *c, size_t link)
{
	const struct chain_link *frame = &c->chain[link];

	/* With a first entry frame that links wrongly the cframe looks unfilled: see the stale ones below. */
	if (has(c, PY_TRAIT_CFRAME) && link == first_entry(c))
		return 0;
	set_previous(c, link, frame->addr);
	if (!frame->is_shown)
		return bit(SAMPLE_REASON_MID_TRANSITION);
	if (image_case_has_objects(c))
		return bit(SAMPLE_REASON_CYCLE);
	return frame->owner ? bit(SAMPLE_REASON_BUDGET) : bit(SAMPLE_REASON_CYCLE);
}

static void frame_linked_to_itself(void **state)
{
	/* A generator's frames have no order: the visit limit ends that circle, and none of its frames is true.
	 * Frame objects have none either, but a circle of them is told. */
	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];

		for (size_t link = 0; link < c->chain_cnt && is_usable(c); link += 1 + c->chain_cnt / 64) {
			struct walker_output walk;
			u32 reasons = link_to_itself(c, link);

			if (reasons)
				image_case_walk(c, &walk);
			if (reasons && !is_outer_evaluation(c, &walk, link)) {
				assert_int_equal(walk.status, SAMPLE_TRUNCATED);
				assert_true(reasons & bit(walk.reason));
				assert_true(walk.frame_cnt <= LIMIT_SAMPLE_FRAMES);
				assert_true(walk.visit_cnt <= LIMIT_WALK_VISITS + 1);
			}
			patch_none(c);
		}
	}
}

/* To the leaf, from an ordinary frame: up in the same chunk, or into a newer one. */
static u32 link_upwards(struct image_case *c, size_t link)
{
	if (!link || c->chain[0].owner || c->chain[link].owner || !c->chain[link].is_shown ||
	    image_case_has_objects(c))
		return 0;
	if (has(c, PY_TRAIT_CFRAME) && link >= first_entry(c))
		return 0;
	set_previous(c, link, c->chain[0].addr);
	return bit(SAMPLE_REASON_CYCLE) | bit(SAMPLE_REASON_BAD_POINTER);
}

static void frame_linked_upwards(void **state)
{
	damage_every_link(link_upwards, "previous points up");
}

static u32 link_nowhere(struct image_case *c, size_t link)
{
	if (has(c, PY_TRAIT_CFRAME) && link == first_entry(c))
		return 0;
	set_previous(c, link, NOWHERE);
	return bit(SAMPLE_REASON_PAGE_FAULT);
}

static void frame_linked_nowhere(void **state)
{
	damage_every_link(link_nowhere, "previous points nowhere");
}

/* The page of one frame is not resident: resume_frame names it. */
static void frame_not_resident(void **state)
{
	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];

		for (size_t link = 1; link < c->chain_cnt && is_usable(c); link += 1 + c->chain_cnt / 40) {
			struct walker_output walk;

			/* Not its first word: that of a chunk's first frame is read with the head of the chunk. */
			patch_hole(c, c->chain[link].addr + c->layout.frame_previous, 8);
			image_case_walk(c, &walk);
			assert_cut(c, &walk, bit(SAMPLE_REASON_PAGE_FAULT), "page not resident");
			assert_int_equal(walk.resume_frame, c->chain[link].addr);
			patch_none(c);
		}
	}
}

static u32 clear_executable(struct image_case *c, size_t link)
{
	/* Without one frame 3.11 and 3.12 take the cframe for one that was not filled yet. */
	if (!c->chain[link].is_shown || (has(c, PY_TRAIT_CFRAME) && !link))
		return 0;
	patch_u64(c, c->chain[link].addr + c->layout.frame_executable, 0);
	return bit(SAMPLE_REASON_MID_TRANSITION);
}

static void frame_without_code(void **state)
{
	damage_every_link(clear_executable, "no executable");
}

static u32 end_early(struct image_case *c, size_t link)
{
	if (c->chain[link].is_entry)
		return 0;
	/* Of frame objects only a generator's tells that it is none to end with. */
	if (image_case_has_objects(c) && !c->chain[link].owner)
		return 0;
	set_previous(c, link, 0);
	return bit(SAMPLE_REASON_MID_TRANSITION);
}

static void chain_ends_early(void **state)
{
	damage_every_link(end_early, "chain ends early");
}

/* An entry frame ends a chain, in 3.15 too, where greenlets begin with one: nothing in memory tells that from
 * calls that were never made. */
static void chain_ends_at_an_entry_frame(void **state)
{
	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		u32 shown = 0;

		for (size_t link = 0; link < c->chain_cnt; link++) {
			struct walker_output walk;

			shown += c->chain[link].is_shown;
			if (!has(c, PY_TRAIT_BASE_FRAME) || c->chain[link].is_shown || !shown)
				continue;
			set_previous(c, link, 0);
			image_case_walk(c, &walk);
			assert_int_equal(walk.status, SAMPLE_EXACT);
			assert_int_equal(walk.frame_cnt, shown);
			patch_none(c);
		}
	}
}

/* Ends the chain at an ordinary frame, as greenlet does; its frame object points at `back`. */
static void cut_like_greenlet(struct image_case *c, size_t link, u64 back)
{
	set_previous(c, link, 0);
	patch_u64(c, c->chain[link].addr + c->layout.frame_instr - sizeof(u64), ELSEWHERE);
	patch_u64(c, ELSEWHERE + c->layout.bytes_size + sizeof(u64), back);
}

static void chain_cut_by_greenlet(void **state)
{
	size_t cuts = 0;

	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		u32 shown = 0;

		for (size_t link = 0; link < c->chain_cnt; link++) {
			struct walker_output walk;
			u64 addr = c->chain[link].addr;

			shown += c->chain[link].is_shown;
			if (!has(c, PY_TRAIT_OWNER_ENTRY) || has(c, PY_TRAIT_CFRAME) ||
			    !c->chain[link].is_shown || c->chain[link].owner)
				continue;
			cut_like_greenlet(c, link, addr);
			image_case_walk(c, &walk);
			assert_int_equal(walk.status, SAMPLE_EXACT);
			assert_int_equal(walk.frame_cnt, shown);
			patch_none(c);
			cut_like_greenlet(c, link, addr + 8);
			image_case_walk(c, &walk);
			assert_cut(c, &walk, bit(SAMPLE_REASON_MID_TRANSITION), "another frame's object");
			patch_none(c);
			cuts++;
		}
	}
	assert_true(cuts > 20);
}

/* Moved frames: bytes and all, to where no frame of this owner may lie. */
static u32 move_frame(struct image_case *c, size_t link)
{
	u8 bytes[PATCH_INLINE_SZ];

	if (!link || c->chain[link].owner || !c->chain[link].is_shown || image_case_has_objects(c))
		return 0;
	if (has(c, PY_TRAIT_CFRAME) && c->chain[link - 1].is_entry && link - 1 == first_entry(c))
		return 0;
	assert_int_equal(patched_read(&c->patched, c->chain[link].addr, bytes, c->layout.frame_sz), 0);
	patch_bytes(c, ELSEWHERE, bytes, c->layout.frame_sz);
	set_previous(c, link - 1, ELSEWHERE);
	return bit(SAMPLE_REASON_BAD_POINTER);
}

static void frame_outside_its_chunk(void **state)
{
	damage_every_link(move_frame, "outside the chunk");
}

static u32 own_by_generator(struct image_case *c, size_t link)
{
	u64 chunk, top;

	if (image_case_has_objects(c))
		return 0;
	chunk = image_case_u64(c, c->tstate + c->layout.tstate_datastack_chunk);
	top = image_case_u64(c, c->tstate + c->layout.tstate_datastack_top);
	if (c->chain[link].owner || !c->chain[link].is_shown || c->chain[link].addr < chunk ||
	    c->chain[link].addr >= top || (has(c, PY_TRAIT_CFRAME) && !link))
		return 0;
	patch_u8(c, c->chain[link].addr + c->layout.frame_owner, 1);
	return bit(SAMPLE_REASON_BAD_POINTER);
}

static void generator_inside_the_chunk(void **state)
{
	damage_every_link(own_by_generator, "generator in the chunk");
}

/* The leaf lies above datastack_top: popped, and something else is current. */
static void leaf_above_the_top(void **state)
{
	size_t applied = 0;

	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		struct walker_output walk;

		if (c->chain[0].owner || !is_usable(c) || has(c, PY_TRAIT_CFRAME) ||
		    image_case_has_objects(c))
			continue;
		patch_u64(c, c->tstate + c->layout.tstate_datastack_top, c->chain[0].addr - 8);
		image_case_walk(c, &walk);
		assert_cut(c, &walk, bit(SAMPLE_REASON_BAD_POINTER) | bit(SAMPLE_REASON_PAGE_FAULT),
			   "leaf above the top");
		patch_none(c);
		applied++;
	}
	assert_true(applied > 5);
}

/* Just popped and not overwritten: whole, up to 3.13. */
static void leaf_at_the_top(void **state)
{
	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		struct walker_output walk;

		if (c->chain[0].owner || !is_usable(c) || c->chain[0].is_entry || image_case_has_objects(c))
			continue;
		patch_u64(c, c->tstate + c->layout.tstate_datastack_top, c->chain[0].addr);
		image_case_walk(c, &walk);
		assert_suffix(c, &walk, 0);
		patch_none(c);
	}
}

static void base_frame_wrong(void **state)
{
	size_t applied = 0;

	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		struct walker_output walk;

		if (!has(c, PY_TRAIT_BASE_FRAME))
			continue;
		patch_u64(c, c->tstate + c->layout.tstate_base_frame, ELSEWHERE);
		image_case_walk(c, &walk);
		assert_cut(c, &walk, bit(SAMPLE_REASON_MID_TRANSITION) | bit(SAMPLE_REASON_PAGE_FAULT),
			   "wrong base_frame");
		patch_none(c);
		applied++;
	}
	assert_true(applied >= 10);
}

/* Entry frames lie above the stack pointer: below it they are of calls that returned. */
static void entry_frame_below_the_stack_pointer(void **state)
{
	size_t applied = 0;

	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		size_t entry = first_entry(c);
		struct walker_input input = image_case_input(c);
		struct walker_output walk;

		if (has(c, PY_TRAIT_IS_ENTRY) || entry == c->chain_cnt)
			continue;
		input.user_sp = c->chain[entry].addr;
		walker_walk(&input, &walk);
		assert_cut(c, &walk, bit(SAMPLE_REASON_MID_TRANSITION), "entry below the stack pointer");
		applied++;
	}
	assert_true(applied >= 10);
}

/* Neither through a search nor through a slot that still names it. */
static void assert_state_unknown(struct image_case *c)
{
	struct walker_input input = image_case_input(c);
	struct walker_output walk;

	walker_walk(&input, &walk);
	assert_none(c, &walk,
		    bit(SAMPLE_REASON_NO_THREAD_STATE) | bit(SAMPLE_REASON_STATE_FAULT) |
			    bit(SAMPLE_REASON_NOT_INITIALIZED));
	input.epoch++;
	input.tstate_hint = c->tstate;
	walker_walk(&input, &walk);
	assert_none(c, &walk,
		    bit(SAMPLE_REASON_NO_THREAD_STATE) | bit(SAMPLE_REASON_STATE_FAULT) |
			    bit(SAMPLE_REASON_NOT_INITIALIZED));
	patch_none(c);
}

static void thread_state_unlinked(void **state)
{
	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		u64 prev = image_case_u64(c, c->tstate + c->layout.tstate_prev);
		u64 next = image_case_u64(c, c->tstate + c->layout.tstate_next);
		u64 link = prev ? prev + c->layout.tstate_next
				: image_case_u64(c, c->tstate + c->layout.tstate_interp) +
					   c->layout.interp_threads_head;

		if (!is_usable(c))
			continue;
		patch_u64(c, link, next);
		assert_state_unknown(c);
	}
}

static void thread_state_of_another_interpreter_call(void **state)
{
	size_t applied = 0;

	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		u64 status_addr = c->tstate + c->layout.tstate_status;
		u32 status;

		if (!has(c, PY_TRAIT_BOUND_GILSTATE) || image_case_is(c, "subinterpreters"))
			continue;
		assert_int_equal(patched_read(&c->patched, status_addr, &status, sizeof(status)), 0);
		assert_true(status & 8);
		status &= ~8u;
		patch_bytes(c, status_addr, &status, sizeof(status));
		assert_state_unknown(c);
		applied++;
	}
	assert_true(applied > 30);
}

static u64 id_addr(const struct image_case *c)
{
	return c->tstate + (c->layout.tstate_native_thread_id ? c->layout.tstate_native_thread_id
							      : c->layout.tstate_thread_id);
}

static void thread_state_of_another_thread(void **state)
{
	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];

		if (!is_usable(c))
			continue;
		patch_u64(c, id_addr(c), c->task_id + 100000);
		assert_state_unknown(c);
	}
}

static void interpreter_not_started_or_ending(void **state)
{
	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		struct walker_output walk;

		patch_u64(c, c->runtime_addr + c->layout.runtime_interpreters_head, 0);
		image_case_walk(c, &walk);
		assert_none(c, &walk, bit(SAMPLE_REASON_NOT_INITIALIZED));
		patch_none(c);
		if (!is_usable(c))
			continue;
		patch_u64(c, c->runtime_addr + c->layout.runtime_finalizing, ELSEWHERE);
		image_case_walk(c, &walk);
		assert_cut(c, &walk, bit(SAMPLE_REASON_FINALIZING), "finalizing");
		patch_none(c);
		/* By the thread itself: its stack stays true. */
		patch_u64(c, c->runtime_addr + c->layout.runtime_finalizing, c->tstate);
		image_case_walk(c, &walk);
		assert_suffix(c, &walk, 0);
		patch_none(c);
	}
}

/* Thread lists that go in circles, and no thread of ours on them. */
static void thread_list_without_end(void **state)
{
	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		struct walker_output walk;

		if (image_case_is(c, "subinterpreters"))
			continue;
		patch_u64(c, id_addr(c), c->task_id + 100000);
		patch_u64(c, c->tstate + c->layout.tstate_next, c->tstate);
		image_case_walk(c, &walk);
		assert_none(c, &walk, bit(SAMPLE_REASON_THREAD_SCAN));
		patch_none(c);
	}
}

/* 5,000 frames made up in a chunk of their own, as the top of a real stack's. */
static void deeper_than_one_record(void **state)
{
	enum { DEPTH = 5000, FRAME_SZ = 128, HEAD_SZ = 64 };
	static u8 chunk[HEAD_SZ + DEPTH * FRAME_SZ];

	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		const struct py_layout *layout = &c->layout;
		u64 data = ELSEWHERE + HEAD_SZ, code;
		struct walker_output walk;

		if (!image_case_is(c, "deep60") || image_case_has_objects(c))
			continue;
		memset(chunk, 0, sizeof(chunk));
		code = image_case_u64(c, c->chain[0].addr + layout->frame_executable);
		for (u64 level = 0; level < DEPTH; level++) {
			u64 previous = level ? data + (level - 1) * FRAME_SZ : c->chain[0].addr;
			u8 *frame = chunk + HEAD_SZ + level * FRAME_SZ;

			memcpy(frame + layout->frame_executable, &code, sizeof(code));
			memcpy(frame + layout->frame_previous, &previous, sizeof(previous));
		}
		patch_region(c, ELSEWHERE, chunk, sizeof(chunk));
		patch_u64(c, c->tstate + layout->tstate_datastack_chunk, ELSEWHERE);
		patch_u64(c, c->tstate + layout->tstate_datastack_top, data + DEPTH * FRAME_SZ);
		patch_u64(c, c->leaf_slot, data + (DEPTH - 1) * FRAME_SZ);
		image_case_walk(c, &walk);
		assert_int_equal(walk.status, SAMPLE_TRUNCATED);
		assert_int_equal(walk.reason, SAMPLE_REASON_BUDGET);
		assert_int_equal(walk.frame_cnt, LIMIT_SAMPLE_FRAMES);
		assert_int_equal(walk.resume_frame, data + (DEPTH - 1 - LIMIT_SAMPLE_FRAMES) * FRAME_SZ);
		patch_none(c);
	}
}

/* Links that make circles of frame objects of every length, behind beginnings of every length. */
static void frame_objects_in_a_circle(void **state)
{
	size_t applied = 0;

	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		size_t last = c->chain_cnt - 1;

		if (!image_case_has_objects(c) || !is_usable(c))
			continue;
		for (size_t to = 0; to <= last; to += 1 + last / 20) {
			struct walker_output walk;

			set_previous(c, last, c->chain[to].addr);
			image_case_walk(c, &walk);
			assert_int_equal(walk.status, SAMPLE_TRUNCATED);
			assert_int_equal(walk.reason, SAMPLE_REASON_CYCLE);
			assert_true(walk.visit_cnt <= 4 * c->chain_cnt + 4);
			patch_none(c);
			applied++;
		}
	}
	assert_true(applied > 100);
}

/* What the chain leads to is no frame: an object of another type, readable. */
static u32 change_type(struct image_case *c, size_t link)
{
	if (!image_case_has_objects(c) || !link)
		return 0;
	patch_u64(c, c->chain[link].addr + c->layout.object_type, c->chain[0].addr);
	return bit(SAMPLE_REASON_BAD_POINTER);
}

static void object_of_another_type(void **state)
{
	damage_every_link(change_type, "no frame object");
}

/* CPython 3.9 makes a generator's frame current without its f_back, as long as gen.throw() is on its way to
 * an inner generator. */
static void thrown_into_a_generator(void **state)
{
	size_t applied = 0;

	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		size_t root = c->chain_cnt - 1;
		struct walker_output walk;

		if (!image_case_has_objects(c) || !is_usable(c))
			continue;
		patch_u64(c, c->chain[root].addr + c->layout.frame_owner, ELSEWHERE);
		image_case_walk(c, &walk);
		assert_cut(c, &walk, bit(SAMPLE_REASON_MID_TRANSITION), "ends with a generator's frame");
		assert_int_equal(walk.frame_cnt, c->frame_cnt);
		patch_none(c);
		applied++;
	}
	assert_true(applied > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frame_linked_to_itself),
		cmocka_unit_test(frame_linked_upwards),
		cmocka_unit_test(frame_linked_nowhere),
		cmocka_unit_test(frame_not_resident),
		cmocka_unit_test(frame_without_code),
		cmocka_unit_test(chain_ends_early),
		cmocka_unit_test(chain_ends_at_an_entry_frame),
		cmocka_unit_test(chain_cut_by_greenlet),
		cmocka_unit_test(frame_outside_its_chunk),
		cmocka_unit_test(generator_inside_the_chunk),
		cmocka_unit_test(leaf_above_the_top),
		cmocka_unit_test(leaf_at_the_top),
		cmocka_unit_test(base_frame_wrong),
		cmocka_unit_test(entry_frame_below_the_stack_pointer),
		cmocka_unit_test(thread_state_unlinked),
		cmocka_unit_test(thread_state_of_another_interpreter_call),
		cmocka_unit_test(thread_state_of_another_thread),
		cmocka_unit_test(interpreter_not_started_or_ending),
		cmocka_unit_test(thread_list_without_end),
		cmocka_unit_test(deeper_than_one_record),
		cmocka_unit_test(frame_objects_in_a_circle),
		cmocka_unit_test(object_of_another_type),
		cmocka_unit_test(thrown_into_a_generator),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
