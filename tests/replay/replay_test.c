/* SPDX-License-Identifier: Apache-2.0 */
/* The walker over memory of real interpreters: what it says is what the program said of itself. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "image_fixture.h"
#include "stack/stack_complete.h"
#include "stack/thread_list.h"
#include "symbolize/code_object.h"
#include "symbolize/fingerprint_batch.h"
#include "symbolize/line_table.h"
#include "symbolize/py_string.h"

enum { SHARED_SLOTS_MAX = 4 };

/* Up to 3.11 with a sub-interpreter: nobody can tell which state is current while no thread holds the GIL. */
static bool is_ambiguous(const struct image_case *c)
{
	return c->minor <= 0x030b && image_case_is(c, "subinterpreters");
}

static void decode(struct byte_buf *text, const void *chars, size_t sz, unsigned char_sz)
{
	byte_buf_clear(text);
	assert_int_equal(py_string_decode(text, chars, sz, char_sz), 0);
	assert_int_equal(byte_buf_add(text, "", 1), 0);
}

/* CPython's own frames, which sys._getframe() does not show either: see symbolize/code_cache.c. */
static bool is_shim(const char *function, const char *file)
{
	return (strcmp(function, "__init__") == 0 && strcmp(file, "__init__") == 0) ||
	       (strcmp(function, "<interpreter trampoline>") == 0 && !*file);
}

struct named {
	struct byte_buf function;
	struct byte_buf file;
	s32 line;
};

static void named_init(struct named *named)
{
	byte_buf_init(&named->function, 1 << 16);
	byte_buf_init(&named->file, 1 << 16);
}

static void named_release(struct named *named)
{
	byte_buf_release(&named->function);
	byte_buf_release(&named->file);
}

static void name_frame(struct image_case *c, const struct py_frame *frame, struct named *ret_named)
{
	struct code_object object;
	struct byte_buf *table;
	u32 fingerprint;

	code_object_init(&object);
	assert_int_equal(code_object_fingerprint(c->mem, &c->layout, frame->code, &fingerprint), 0);
	if (frame->fingerprint != fingerprint)
		fail_msg("%s: fingerprint %08x of code 0x%llx, in user space %08x", c->name,
			 frame->fingerprint, (unsigned long long)frame->code, fingerprint);
	assert_int_equal(code_object_read(c->mem, &c->layout, frame->code, fingerprint, &object), 0);
	assert_int_equal(object.flags, 0);
	decode(&ret_named->function, object.parts[CODE_PART_QUALNAME].data,
	       object.parts[CODE_PART_QUALNAME].sz, object.char_sz[CODE_PART_QUALNAME]);
	decode(&ret_named->file, object.parts[CODE_PART_FILENAME].data, object.parts[CODE_PART_FILENAME].sz,
	       object.char_sz[CODE_PART_FILENAME]);
	table = &object.parts[CODE_PART_LINETABLE];
	ret_named->line = 0;
	if (!is_shim(ret_named->function.data, ret_named->file.data))
		assert_int_equal(line_table_decode(line_table_form(&c->layout), (const u8 *)table->data,
						   table->sz, object.firstlineno, frame->instr_off,
						   &ret_named->line),
				 0);
	code_object_release(&object);
}

static void assert_true_frames(struct image_case *c, const struct py_frame *frames, size_t cnt)
{
	struct named named;
	size_t shown = 0;

	named_init(&named);
	for (size_t i = 0; i < cnt; i++) {
		name_frame(c, &frames[i], &named);
		if (is_shim(named.function.data, named.file.data))
			continue;
		assert_true(shown < c->truth_cnt);
		if (strcmp(named.file.data, c->truth[shown].file) != 0 ||
		    strcmp(named.function.data, c->truth[shown].function) != 0 ||
		    named.line != c->truth[shown].line)
			fail_msg("%s: frame %zu is %s (%s:%d), in truth %s (%s:%d)", c->name, shown,
				 named.function.data, named.file.data, named.line, c->truth[shown].function,
				 c->truth[shown].file, c->truth[shown].line);
		shown++;
	}
	assert_int_equal(shown, c->truth_cnt);
	named_release(&named);
}

static void every_version_is_there(void **state)
{
	for (u32 minor = 0x0306; minor <= 0x030f; minor++) {
		size_t cnt = 0;

		for (size_t i = 0; i < case_cnt; i++)
			cnt += cases[i].minor == minor;
		if (cnt < 10)
			fail_msg("only %zu images of 3.%u", cnt, minor & 0xff);
	}
}

static void stacks_are_exact_and_true(void **state)
{
	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		struct walker_output walk;

		image_case_walk(c, &walk);
		if (is_ambiguous(c)) {
			assert_int_equal(walk.status, SAMPLE_TRUNCATED);
			assert_int_equal(walk.reason, SAMPLE_REASON_AMBIGUOUS_STATE);
			continue;
		}
		if (walk.status != SAMPLE_EXACT)
			fail_msg("%s: status %d, reason %d", c->name, walk.status, walk.reason);
		assert_int_equal(walk.reason, SAMPLE_REASON_NONE);
		assert_int_equal(walk.resume_frame, 0);
		assert_true_frames(c, walk.frames, walk.frame_cnt);
	}
}

/* A code record's names are those that user space reads itself, or marked as cut. */
static void assert_record_is_true(struct image_case *c, const struct code_record *record)
{
	struct code_object object;
	const u8 *bytes = record->bytes;

	code_object_init(&object);
	assert_int_equal(code_object_read(c->mem, &c->layout, record->code, record->fingerprint, &object), 0);
	assert_int_equal(record->hdr.kind, RECORD_CODE);
	assert_int_equal(record->firstlineno, object.firstlineno);
	for (int part = 0; part < CODE_PART_COUNT; part++) {
		const struct byte_buf *whole = &object.parts[part];

		assert_int_equal(record->char_sz[part], object.char_sz[part]);
		if (record->flags & (1u << part))
			assert_true(whole->sz > record->sz[part]);
		else
			assert_int_equal(whole->sz, record->sz[part]);
		if (record->sz[part])
			assert_memory_equal(bytes, whole->data, record->sz[part]);
		bytes += record->sz[part];
	}
	assert_int_equal(bytes - (const u8 *)record, record->hdr.size);
	code_object_release(&object);
}

static void code_records_carry_the_same_names(void **state)
{
	size_t cnt = 0;

	for (size_t i = 0; i < case_cnt; i++) {
		struct walker_output walk;

		image_case_walk(&cases[i], &walk);
		assert_true(walk.code_cnt > 0);
		for (size_t code = 0; code < walk.code_cnt; code++)
			assert_record_is_true(&cases[i], walk.codes[code]);
		cnt += walk.code_cnt;
	}
	assert_true(cnt > case_cnt);
}

/* Every code object of a frame is sent once, until the limit of one sample. */
static void code_records_are_complete(void **state)
{
	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		struct walker_output walk;

		image_case_walk(c, &walk);
		for (size_t a = 0; a < walk.code_cnt; a++) {
			for (size_t b = a + 1; b < walk.code_cnt; b++)
				assert_true(walk.codes[a]->code != walk.codes[b]->code);
		}
		if (walk.code_cnt == LIMIT_NEW_CODES)
			continue;
		for (u32 frame = 0; frame < walk.frame_cnt; frame++) {
			bool sent = !walk.frames[frame].fingerprint;

			for (size_t code = 0; code < walk.code_cnt && !sent; code++)
				sent = walk.codes[code]->code == walk.frames[frame].code;
			assert_true(sent);
		}
	}
}

/* The second sample of a process finds its code objects known: nothing is sent again, and where the
 * interpreter counts code objects none is read. */
static void second_sample_is_cached(void **state)
{
	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		struct walker_input input = image_case_input(c);
		struct walker_output first, second;
		bool all_versioned = true;

		walker_walk(&input, &first);
		for (u32 frame = 0; frame < first.frame_cnt; frame++)
			all_versioned &= first.frames[frame].fingerprint != 0;
		input.tstate_hint = first.tstate;
		walker_walk(&input, &second);
		assert_int_equal(second.status, first.status);
		assert_int_equal(second.frame_cnt, c->frame_cnt);
		assert_memory_equal(second.frames, c->frames, c->frame_cnt * sizeof(*c->frames));
		if (first.code_cnt < LIMIT_NEW_CODES)
			assert_int_equal(second.code_cnt, 0);
		/* A few code objects may share a slot of the walker's table. */
		if (all_versioned && c->minor >= 0x030d)
			assert_true(second.fingerprint_reads <= SHARED_SLOTS_MAX);
		assert_true(second.read_cnt < first.read_cnt);
	}
}

/* An interpreter whose id cannot be read may be another one than that of the sample before. */
static void counter_of_an_unknown_interpreter_proves_nothing(void **state)
{
	size_t applied = 0;

	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		struct py_layout layout = c->layout;
		struct walker_input input = image_case_input(c);
		struct walker_output walk;
		size_t first_cnt;

		if (c->minor < 0x030d)
			continue;
		layout.interp_id = 0x7ffffff8;
		input.layout = &layout;
		walker_walk(&input, &walk);
		first_cnt = walk.fingerprint_reads;
		walker_walk(&input, &walk);
		assert_int_equal(walk.frame_cnt, c->frame_cnt);
		assert_int_equal(walk.fingerprint_reads, first_cnt);
		applied += first_cnt != 0;
	}
	assert_true(applied >= 10);
}

static size_t distinct_codes(const struct py_frame *frames, size_t cnt)
{
	size_t distinct = 0;

	for (size_t i = 0; i < cnt; i++) {
		size_t at = 0;

		while (at < i && frames[at].code != frames[i].code)
			at++;
		distinct += at == i;
	}
	return distinct;
}

/* A recursion of several functions reads each of them once a sample, wherever their keys put them in the table. */
static void code_objects_are_read_once(void **state)
{
	size_t recursions = 0;

	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		size_t distinct = distinct_codes(c->frames, c->frame_cnt);

		if (distinct > 4 || distinct == c->frame_cnt || c->frame_cnt < 16)
			continue;
		recursions++;
		for (size_t key = 0; key < 1000; key++) {
			struct walker_input input = image_case_input(c); /* a new epoch, so new keys */
			struct walker_output walk;

			walker_walk(&input, &walk);
			assert_int_equal(walk.frame_cnt, c->frame_cnt);
			assert_int_equal(walk.fingerprint_reads, distinct);
		}
	}
	assert_true(recursions > 4);
}

/* Memory without the code objects of a stack. */
struct codeless {
	struct image_case *image;
	size_t asked;
};

static int read_codeless(void *ctx, u64 addr, void *ret_buf, size_t sz)
{
	struct codeless *codeless = ctx;
	struct image_case *c = codeless->image;

	for (u32 i = 0; i < c->frame_cnt; i++) {
		if (addr - c->frames[i].code < c->layout.code_sz) {
			codeless->asked++;
			return -EFAULT;
		}
	}
	return patched_read(&c->patched, addr, ret_buf, sz);
}

/* The frames are known all the same; how often a fault is paid for is bounded. */
static void code_objects_that_are_not_there_are_soon_left_alone(void **state)
{
	size_t most = 0;

	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		struct walker_input input = image_case_input(c);
		struct codeless codeless = {.image = c};
		struct walker_output walk;
		enum sample_status status;

		image_case_walk(c, &walk);
		status = walk.status;
		input.read = read_codeless;
		input.ctx = &codeless;
		walker_walk(&input, &walk);
		assert_int_equal(walk.status, status);
		assert_int_equal(walk.frame_cnt, c->frame_cnt);
		assert_int_equal(walk.identity, 0);
		for (u32 frame = 0; frame < walk.frame_cnt; frame++) {
			assert_int_equal(walk.frames[frame].code, c->frames[frame].code);
			assert_int_equal(walk.frames[frame].fingerprint, 0);
		}
		assert_true(codeless.asked <= LIMIT_UNREAD_CODES);
		most = codeless.asked > most ? codeless.asked : most;
	}
	assert_int_equal(most, LIMIT_UNREAD_CODES);
}

/* Many at a time, with addresses among them where no code object is. */
static void fingerprints_read_in_batches_are_the_same(void **state)
{
	struct fingerprint_batch *batch;
	u32 fingerprints[CHAIN_MAX + 1];
	u64 codes[CHAIN_MAX + 1];

	assert_int_equal(fingerprint_batch_new(&batch), 0);
	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];

		for (u32 frame = 0; frame < c->frame_cnt; frame++)
			codes[frame] = frame % 7 == 6 ? frame : c->frames[frame].code;
		assert_int_equal(
			fingerprint_batch_read(batch, c->mem, &c->layout, codes, c->frame_cnt, fingerprints),
			0);
		for (u32 frame = 0; frame < c->frame_cnt; frame++)
			assert_int_equal(fingerprints[frame],
					 frame % 7 == 6 ? 0 : c->frames[frame].fingerprint);
	}
	assert_int_equal(fingerprint_batch_stats(batch)->system_calls, 0);
	fingerprint_batch_free(batch);
}

static int read_no_fingerprints(void *ctx, const u64 *codes, size_t cnt, u32 *ret_fingerprints)
{
	return 0;
}

static bool name_by_code(void *ctx, const struct py_frame *frame, u32 *ret_id)
{
	*ret_id = (u32)frame->code;
	return true;
}

/* The image with zeros where it has nothing: between frame objects that lie close together user space reads what
 * no walk does. */
static size_t read_without_holes(void *ctx, remote_addr_t addr, void *ret_buf, size_t sz)
{
	struct image_case *c = ctx;
	u8 *bytes = ret_buf;

	if (remote_mem_read(c->mem, addr, bytes, sz) == 0)
		return sz;
	for (size_t i = 0; i < sz; i++) {
		if (remote_mem_read(c->mem, addr + i, bytes + i, 1))
			bytes[i] = 0;
	}
	return sz;
}

/* What the kernel's budget leaves over is read on in user space. */
static void budget_is_kept_and_the_rest_found(void **state)
{
	const struct stack_completer_config config = {.max_frames = 4096};
	const struct stack_namer namer = {NULL, read_no_fingerprints, name_by_code};
	struct stack_completer *completer;

	assert_int_equal(stack_completer_new(&completer, &config), 0);
	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		struct walker_input input = image_case_input(c);
		struct walker_output walk;
		struct stack_request request = {.layout = &c->layout, .epoch = i};
		struct completed_stack rest;
		size_t shown = 0, at = 0;

		if (c->frame_cnt <= 8 || is_ambiguous(c))
			continue;
		assert_int_equal(remote_mem_open_view(&request.mem, read_without_holes, c), 0);
		input.kernel_frames = 8;
		walker_walk(&input, &walk);
		assert_int_equal(walk.status, SAMPLE_TRUNCATED);
		assert_int_equal(walk.reason, SAMPLE_REASON_BUDGET);
		assert_int_equal(walk.frame_cnt, 8);
		assert_memory_equal(walk.frames, c->frames, 8 * sizeof(*c->frames));
		while (shown < 8 || !c->chain[at].is_shown)
			shown += c->chain[at++].is_shown;
		assert_int_equal(walk.resume_frame, c->chain[at].addr);
		request.resume_frame = walk.resume_frame;
		/* The second time from the frame cache. */
		for (int time = 0; time < 2; time++) {
			int err = stack_complete(completer, &request, &namer, &rest);

			if (err)
				fail_msg("%s: error %d", c->name, err);
			assert_int_equal(rest.cnt, c->frame_cnt - 8);
			for (size_t frame = 0; frame < rest.cnt; frame++) {
				assert_int_equal(rest.frames[frame].code, c->frames[8 + frame].code);
				assert_int_equal(rest.frames[frame].instr_off,
						 c->frames[8 + frame].instr_off);
				assert_int_equal(rest.frame_ids[frame], (u32)c->frames[8 + frame].code);
			}
		}
		remote_mem_close(request.mem);
	}
	stack_completer_free(completer);
}

static u64 id_addr(const struct image_case *c)
{
	return c->tstate + (c->layout.tstate_native_thread_id ? c->layout.tstate_native_thread_id
							      : c->layout.tstate_thread_id);
}

static void walk_again(struct image_case *c, struct walker_input *input, u64 time_ms,
		       struct walker_output *ret_walk)
{
	input->time_ns = time_ms * 1000000;
	walker_walk(input, ret_walk);
	input->keep_slot = 1;
}

/* A state that is linked before it has its thread's id is found soon; at once where the list that it is in is not
 * the one that is looked at. */
static void vain_searches_stand_for_a_moment(void **state)
{
	size_t stood = 0;

	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		struct walker_input input = image_case_input(c);
		struct walker_output walk;

		if (is_ambiguous(c))
			continue;
		patch_u64(c, id_addr(c), 0x1234);
		walk_again(c, &input, 1000, &walk);
		assert_int_equal(walk.status, SAMPLE_NONE);
		assert_int_equal(walk.reason, SAMPLE_REASON_NO_THREAD_STATE);
		patch_none(c);
		walk_again(c, &input, 1001, &walk);
		stood += walk.status == SAMPLE_NONE;
		if (image_case_is(c, "subinterpreters"))
			assert_int_equal(walk.tstate, c->tstate);
		walk_again(c, &input, 1101, &walk);
		assert_int_equal(walk.tstate, c->tstate);
	}
	assert_true(stood > 0);
}

/* What cannot be read may hide the thread's own state: the search was not in vain. */
static void states_that_cannot_be_read_are_told(void **state)
{
	size_t hidden = 0;

	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		struct walker_input input = image_case_input(c);
		struct walker_output walk;
		u64 previous = image_case_u64(c, c->tstate + c->layout.tstate_prev);

		if (!previous || is_ambiguous(c))
			continue;
		patch_hole(c, previous, c->layout.tstate_sz);
		walk_again(c, &input, 1000, &walk);
		assert_int_equal(walk.status, SAMPLE_NONE);
		assert_int_equal(walk.reason, SAMPLE_REASON_STATE_FAULT);
		patch_none(c);
		walk_again(c, &input, 1001, &walk);
		assert_int_equal(walk.tstate, c->tstate);
		hidden++;
	}
	assert_true(hidden > 0);
}

struct thread_search {
	u64 native_id;
	u64 tstate;
	size_t cnt;
	size_t found;
};

static void on_thread(void *ctx, u64 native_id, remote_addr_t tstate)
{
	struct thread_search *search = ctx;

	search->cnt++;
	search->found += native_id == search->native_id && tstate == search->tstate;
}

static void thread_lists_name_the_thread(void **state)
{
	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		struct thread_search search = {.native_id = c->tid, .tstate = c->tstate};

		assert_int_equal(
			thread_list_walk(c->mem, &c->layout, c->runtime_addr, 100, on_thread, &search), 0);
		assert_int_equal(search.found, 1);
		assert_int_equal(search.cnt, strncmp(strchr(c->name, '-') + 1, "threads", 7) == 0 ? 4
					     : image_case_is(c, "subinterpreters")		  ? 2
												  : 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_version_is_there),
		cmocka_unit_test(stacks_are_exact_and_true),
		cmocka_unit_test(code_records_carry_the_same_names),
		cmocka_unit_test(code_records_are_complete),
		cmocka_unit_test(second_sample_is_cached),
		cmocka_unit_test(counter_of_an_unknown_interpreter_proves_nothing),
		cmocka_unit_test(code_objects_are_read_once),
		cmocka_unit_test(code_objects_that_are_not_there_are_soon_left_alone),
		cmocka_unit_test(fingerprints_read_in_batches_are_the_same),
		cmocka_unit_test(budget_is_kept_and_the_rest_found),
		cmocka_unit_test(vain_searches_stand_for_a_moment),
		cmocka_unit_test(states_that_cannot_be_read_are_told),
		cmocka_unit_test(thread_lists_name_the_thread),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
