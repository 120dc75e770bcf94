/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of free-threaded 3.14+ that run a thread's copy of the bytecode: in made-up memory of one thread with
 * three frames, of two code objects. What tells stacks of the two apart, and how often memory is read, too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "../fuzz/offsets_fixture.h"
#include "runtime/layout_select.h"
#include "walker.h"

#define BASE 0x7f0000000000ULL

enum {
	MEMORY_SZ = 64 << 10,
	RUNTIME = 0,
	INTERP = 16 << 10,
	TSTATE = 32 << 10,
	CHUNK = 36 << 10,
	ENTRY = 44 << 10, /* on the C stack, above the stack pointer */
	SP = 43 << 10,
	CODES = 48 << 10,
	CODE_SZ = 1024,
	ARRAYS = 52 << 10,
	ARRAY_SZ = 256,
	COPIES = 56 << 10,
	COPY_SZ = 128,
	UNITS = 40, /* of either code object's bytecode */
	INDEX = 3,
	FRAMES = 3,
	FRAME_SZ = 128,
	THREAD_ID = 77,
	HEAP = 62 << 10,
	LAYOUTS_MAX = 16,
};

struct memory {
	u8 bytes[MEMORY_SZ];
	size_t hole, hole_sz; /* not resident */
};

static struct py_layout layouts[LAYOUTS_MAX];
static size_t layout_cnt;
static struct memory memory;

static int read_memory(void *ctx, u64 addr, void *ret_buf, size_t sz)
{
	u64 off = addr - BASE;

	(void)ctx;
	if (off >= MEMORY_SZ || sz > MEMORY_SZ - off)
		return -EFAULT;
	if (off < memory.hole + memory.hole_sz && memory.hole < off + sz)
		return -EFAULT;
	memcpy(ret_buf, memory.bytes + off, sz);
	return 0;
}

static void put(size_t off, u64 value)
{
	memcpy(memory.bytes + off, &value, sizeof(value));
}

static void put_u32(size_t off, u32 value)
{
	memcpy(memory.bytes + off, &value, sizeof(value));
}

static u64 code_addr(int code)
{
	return BASE + CODES + (u64)code * CODE_SZ;
}

static size_t array_of(int code)
{
	return ARRAYS + (size_t)code * ARRAY_SZ;
}

static u64 copy_addr(int code)
{
	return BASE + COPIES + (u64)code * COPY_SZ;
}

/* Leaf is frame 0; frames 0 and 2 run code object 0. */
static size_t frame_off(int frame)
{
	return CHUNK + 64 + (size_t)(FRAMES - 1 - frame) * FRAME_SZ;
}

static void put_instr(const struct py_layout *layout, int frame, u32 index, u64 instr)
{
	put(frame_off(frame) + layout->frame_instr, instr);
	put_u32(frame_off(frame) + layout->frame_tlbc_index, index);
}

static s32 true_off(int frame)
{
	return 4 * (frame + 1);
}

static void make_code(const struct py_layout *layout, int code)
{
	size_t off = code_addr(code) - BASE;

	put(off + layout->bytes_size, UNITS);
	put(off + layout->code_tlbc, BASE + array_of(code));
	put_u32(off + layout->code_version, 100 + (u32)code);
	put(array_of(code), INDEX + 1);
	put(array_of(code) + 8, code_addr(code) + layout->code_code_adaptive);
	put(array_of(code) + 8 + 8 * INDEX, copy_addr(code));
}

static void make_thread(const struct py_layout *layout)
{
	memset(&memory, 0, sizeof(memory));
	put(RUNTIME + layout->runtime_interpreters_head, BASE + INTERP);
	put(INTERP + layout->interp_threads_head, BASE + TSTATE);
	put(TSTATE + layout->tstate_interp, BASE + INTERP);
	put(TSTATE + layout->tstate_thread_id, THREAD_ID);
	put_u32(TSTATE + layout->tstate_status, 1 << 3);
	put(TSTATE + layout->tstate_datastack_chunk, BASE + CHUNK);
	put(TSTATE + layout->tstate_datastack_top, BASE + frame_off(0) + FRAME_SZ);
	put(TSTATE + layout->tstate_frame, BASE + frame_off(0));
	if (layout->traits & PY_TRAIT_BASE_FRAME)
		put(TSTATE + layout->tstate_base_frame, BASE + ENTRY + 512);
	put(ENTRY + layout->frame_previous, layout->traits & PY_TRAIT_BASE_FRAME ? BASE + ENTRY + 512 : 0);
	memory.bytes[ENTRY + layout->frame_owner] = layout->owner_entry;
	for (int code = 0; code < 2; code++)
		make_code(layout, code);
	for (int frame = 0; frame < FRAMES; frame++) {
		put(frame_off(frame) + layout->frame_executable, code_addr(frame % 2) | 1);
		put(frame_off(frame) + layout->frame_previous,
		    BASE + (frame + 1 < FRAMES ? frame_off(frame + 1) : ENTRY));
		put_instr(layout, frame, INDEX, copy_addr(frame % 2) + (u64)true_off(frame));
	}
}

static void walk_in(const struct py_layout *layout, u64 epoch, struct walker_output *ret_output)
{
	struct walker_input input = {
		.layout = layout,
		.runtime_addr = BASE + RUNTIME,
		.task_id = THREAD_ID,
		.user_sp = BASE + SP,
		.epoch = epoch,
		.read = read_memory,
	};

	walker_walk(&input, ret_output);
}

static void walk(const struct py_layout *layout, struct walker_output *ret_output)
{
	static u64 epoch = 1000;

	walk_in(layout, epoch++, ret_output);
}

static void expect_exact(const struct py_layout *layout)
{
	struct walker_output output;

	walk(layout, &output);
	assert_int_equal(output.status, SAMPLE_EXACT);
	assert_int_equal(output.frame_cnt, FRAMES);
	for (int frame = 0; frame < FRAMES; frame++) {
		assert_int_equal(output.frames[frame].code, code_addr(frame % 2));
		assert_int_equal(output.frames[frame].instr_off, true_off(frame));
		assert_int_equal(output.frames[frame].fingerprint, 100 + frame % 2);
	}
}

static void expect_stopped(const struct py_layout *layout, enum sample_reason reason, u32 frame_cnt)
{
	struct walker_output output;

	walk(layout, &output);
	assert_int_equal(output.status, SAMPLE_TRUNCATED);
	assert_int_equal(output.reason, reason);
	assert_int_equal(output.frame_cnt, frame_cnt);
	assert_int_equal(output.resume_frame, BASE + frame_off((int)frame_cnt));
}

static void for_each_layout(void (*check)(const struct py_layout *layout))
{
	for (size_t i = 0; i < layout_cnt; i++) {
		make_thread(&layouts[i]);
		check(&layouts[i]);
	}
}

/* Each frame runs the thread's copy, or the code object's own. */
static void check_copies(const struct py_layout *layout)
{
	expect_exact(layout);
	for (int frame = 0; frame < FRAMES; frame++) {
		make_thread(layout);
		put_instr(layout, frame, 0,
			  code_addr(frame % 2) + layout->code_code_adaptive + (u64)true_off(frame));
		expect_exact(layout);
	}
}

static void offsets_are_those_of_the_copy_that_runs(void **state)
{
	for_each_layout(check_copies);
}

/* RESUME stored tlbc_index and not yet instr_ptr, or the other way round. */
static void check_resume(const struct py_layout *layout)
{
	put_instr(layout, 0, INDEX, code_addr(0) + layout->code_code_adaptive + (u64)true_off(0));
	expect_exact(layout);
	put_instr(layout, 0, 0, copy_addr(0) + (u64)true_off(0));
	expect_stopped(layout, SAMPLE_REASON_MID_TRANSITION, 0);
	/* A copy of another thread's that nothing is known of. */
	put_instr(layout, 0, INDEX, BASE + COPIES + 8 * COPY_SZ);
	expect_stopped(layout, SAMPLE_REASON_MID_TRANSITION, 0);
}

static void a_leaf_between_two_stores_of_resume_is_exact_or_said_to_be(void **state)
{
	for_each_layout(check_resume);
}

static void check_bounds(const struct py_layout *layout)
{
	for (int frame = 0; frame < FRAMES; frame++) {
		u64 copy = copy_addr(frame % 2), first = copy, end = copy + 2 * UNITS;

		make_thread(layout);
		put_instr(layout, frame, INDEX, end);
		expect_stopped(layout, SAMPLE_REASON_MID_TRANSITION, (u32)frame);
		put_instr(layout, frame, INDEX, first - 2);
		expect_stopped(layout, SAMPLE_REASON_MID_TRANSITION, (u32)frame);
		put_instr(layout, frame, INDEX + 1, first); /* past the array's end */
		expect_stopped(layout, SAMPLE_REASON_MID_TRANSITION, (u32)frame);
		put_instr(layout, frame, UINT32_MAX, first);
		expect_stopped(layout, SAMPLE_REASON_MID_TRANSITION, (u32)frame);
		put_instr(layout, frame, INDEX - 1, first); /* an entry that is NULL */
		expect_stopped(layout, SAMPLE_REASON_MID_TRANSITION, (u32)frame);
	}
}

static void instructions_outside_of_every_copy_are_refused(void **state)
{
	for_each_layout(check_bounds);
}

static void check_hostile(const struct py_layout *layout)
{
	static const u64 values[] = {0,		 1,	   UINT64_MAX,		UINT64_MAX - 7,
				     1ULL << 63, BASE - 8, BASE + MEMORY_SZ - 8};
	size_t code = code_addr(1) - BASE;

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct walker_output output;

		make_thread(layout);
		put(code + layout->code_tlbc, values[i]);
		expect_stopped(layout, SAMPLE_REASON_MID_TRANSITION, 1);
		make_thread(layout);
		put(array_of(1) + 8 + 8 * INDEX, values[i]);
		expect_stopped(layout, SAMPLE_REASON_MID_TRANSITION, 1);
		make_thread(layout);
		put(array_of(1), values[i]);
		walk(layout, &output);
		assert_true(output.status == SAMPLE_EXACT || output.frame_cnt == 1);
		make_thread(layout);
		put(code + layout->bytes_size, values[i]);
		walk(layout, &output);
		assert_int_not_equal(output.status, SAMPLE_EXACT);
		assert_int_equal(output.frame_cnt, 1);
	}
}

static void arrays_of_copies_are_not_believed(void **state)
{
	for_each_layout(check_hostile);
}

static void check_hole(const struct py_layout *layout)
{
	memory.hole = code_addr(1) - BASE;
	memory.hole_sz = CODE_SZ;
	expect_stopped(layout, SAMPLE_REASON_PAGE_FAULT, 1);
}

static void a_code_object_that_is_not_resident_is_a_page_fault(void **state)
{
	for_each_layout(check_hole);
}

/* The copies cost one look at each code object, however deep the stack. */
static void check_cost(const struct py_layout *layout)
{
	struct walker_output copies, own;

	walk(layout, &copies);
	for (int frame = 0; frame < FRAMES; frame++)
		put_instr(layout, frame, 0,
			  code_addr(frame % 2) + layout->code_code_adaptive + (u64)true_off(frame));
	walk(layout, &own);
	assert_int_equal(own.status, SAMPLE_EXACT);
	/* Head, size and entry of two arrays, a window more for each; the leaf's own is looked at, too. */
	assert_true(copies.read_cnt <= own.read_cnt + 6);
}

static void a_code_object_is_looked_at_once(void **state)
{
	for_each_layout(check_cost);
}

static void put_own(const struct py_layout *layout, int frame, int code, u64 off)
{
	put(frame_off(frame) + layout->frame_executable, code_addr(code) | 1);
	put_instr(layout, frame, 0, code_addr(code) + layout->code_code_adaptive + off);
}

/* Two code objects change places, and each instruction offset by the bit in which their addresses differ: what
 * adds offsets to addresses would take the one stack for the other. */
static void check_swap(const struct py_layout *layout)
{
	struct walker_output first, second;

	for (int code = 0; code < 2; code++)
		put(code_addr(code) - BASE + layout->bytes_size, CODE_SZ);
	put_own(layout, 0, 0, 8);
	put_own(layout, 1, 1, CODE_SZ + 16);
	walk_in(layout, 1, &first);
	put_own(layout, 0, 1, CODE_SZ + 8);
	put_own(layout, 1, 0, 16);
	walk_in(layout, 1, &second);
	assert_int_equal(first.status, SAMPLE_EXACT);
	assert_int_equal(second.status, SAMPLE_EXACT);
	assert_int_equal(second.frame_cnt, first.frame_cnt);
	assert_int_not_equal(first.identity, 0);
	assert_int_not_equal(second.identity, 0);
	assert_true(first.identity != second.identity);
}

static void stacks_of_swapped_code_objects_have_identities_of_their_own(void **state)
{
	for_each_layout(check_swap);
}

/* The middle frame is a generator's, in the heap: it is read by itself, and the one behind it is still at hand. */
static void check_generator(const struct py_layout *layout)
{
	struct walker_output ordinary, generator;

	walk_in(layout, 1, &ordinary); /* what it learns of code objects is for both that count */
	walk_in(layout, 1, &ordinary);
	memcpy(memory.bytes + HEAP, memory.bytes + frame_off(1), FRAME_SZ);
	memset(memory.bytes + frame_off(1), 0, FRAME_SZ);
	memory.bytes[HEAP + layout->frame_owner] = 1;
	put(frame_off(0) + layout->frame_previous, BASE + HEAP);
	walk_in(layout, 1, &generator);
	assert_int_equal(generator.status, SAMPLE_EXACT);
	assert_int_equal(generator.frame_cnt, FRAMES);
	assert_int_equal(generator.identity, ordinary.identity);
	assert_int_equal(generator.read_cnt, ordinary.read_cnt + 1);
}

static void a_window_outlives_a_generator(void **state)
{
	for_each_layout(check_generator);
}

static int load_layouts(void **state)
{
	const struct debug_offsets_format *format;
	const struct layout_row *row;
	struct debug_offsets offsets;
	u8 bytes[DEBUG_OFFSETS_MAX_SZ];

	for (size_t n = 0; layout_cnt < LAYOUTS_MAX && fixture_at(n, &format, &row); n++) {
		bool debug = row->layout.traits & PY_TRAIT_DEBUG;

		fixture_table(format, row, bytes);
		if (row->layout.code_tlbc &&
		    layout_select_by_offsets(bytes, sizeof(bytes), debug, &offsets, &layouts[layout_cnt]) ==
			    PY_REFUSAL_NONE) {
			/* The code objects here have no names to be told apart by. */
			layouts[layout_cnt].traits |= PY_TRAIT_CODE_VERSION;
			layout_cnt++;
		}
	}
	/* At least those of 3.14 and 3.15, release and debug, and none left out. */
	return layout_cnt >= 4 && layout_cnt < LAYOUTS_MAX ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offsets_are_those_of_the_copy_that_runs),
		cmocka_unit_test(a_leaf_between_two_stores_of_resume_is_exact_or_said_to_be),
		cmocka_unit_test(instructions_outside_of_every_copy_are_refused),
		cmocka_unit_test(arrays_of_copies_are_not_believed),
		cmocka_unit_test(a_code_object_that_is_not_resident_is_a_page_fault),
		cmocka_unit_test(a_code_object_is_looked_at_once),
		cmocka_unit_test(a_window_outlives_a_generator),
		cmocka_unit_test(stacks_of_swapped_code_objects_have_identities_of_their_own),
	};

	return cmocka_run_group_tests(tests, load_layouts, NULL);
}
