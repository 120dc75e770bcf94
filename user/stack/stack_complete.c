/* SPDX-License-Identifier: Apache-2.0 */
/* A sample's life on this side:
 *
 *   exact -------------------------------------------------> named
 *   truncated (budget, page fault) -> read on, chain ends --> late
 *                                  -> read on fails --------> truncated, as it came
 *   truncated (anything else) -----------------------------> truncated: nothing to read on from
 *
 * Reading on: the frame cache says where the frames lay last time, so their memory is asked for at once;
 * what came is then followed link by link, and where it leads elsewhere, the surroundings are read. Names
 * come last, and only for frames that are not what they were (frame_cache.h has the rule).
 *
 * A chain that does not end where chains end (at an entry frame from CPython 3.12 on, in front of one
 * before) was being relinked while it was read: it counts as not readable.
 */
#include "stack/stack_complete.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cpython_facts.h"
#include "stack/bytecode_copy.h"
#include "stack/frame_cache.h"
#include "stack/frame_reader.h"

enum {
	MAX_THREADS_DEFAULT = 1024,
	/* Seven stacks of 100,000 frames. */
	MAX_CACHED_FRAMES_DEFAULT = 1 << 20,
	/* What is asked for first where the rest may be taken over. */
	JOIN_EXPECTED = 16 * STACK_JOIN_FRAMES,
	/* A read that failed after so many fetches is not tried again at once. */
	COSTLY_FETCHES = 32,
};

#define DEEP_INTERVAL_NS 1000000000LL

struct walked_frame {
	u64 addr;
	u64 code;
	u64 instr;
	u64 previous;
	size_t cached; /* place of the frame at this address in the cached stack, or CACHED_FRAME_NONE */
	u32 code_idx;
	u32 tlbc_index;
	s32 instr_off;
	u8 owner;
	bool is_entry;
	bool is_same; /* holds what the cached one held */
	bool is_named;
};

/* The code objects of one stack: those of the cached one first, in its order. */
struct code_list {
	u64 *codes;
	u32 *fingerprints;
	bool *is_used;
	struct bytecode_copy *copies; /* of the bytecode; free-threaded 3.14+ */
	size_t cnt;
	struct id_map index;
	u64 *wanted; /* scratch: those to be read, and what was */
	u32 *answers;
};

struct stack_completer {
	size_t max_frames;
	size_t max_walked;
	struct frame_cache *cache;
	struct frame_reader *reader;
	struct bytecode_reader *bytecodes;
	struct stack_stats stats;
	/* Of the stack at hand. */
	const struct stack_request *request;
	struct cached_stack *cached;
	struct walked_frame *walked; /* leaf first */
	size_t walked_cnt;
	size_t shown_cnt;
	size_t expect_next; /* cached frames below this place were not asked for yet */
	size_t taken_over;  /* cached frames nearest the root that were not read */
	bool may_join;
	struct code_list codes;
	struct py_frame *frames;
	u32 *frame_ids;
	size_t cnt;
};

static int alloc_scratch(struct stack_completer *completer)
{
	struct code_list *codes = &completer->codes;
	size_t max_walked = completer->max_walked;

	completer->walked = calloc(max_walked, sizeof(*completer->walked));
	completer->frames = calloc(completer->max_frames, sizeof(*completer->frames));
	completer->frame_ids = calloc(completer->max_frames, sizeof(*completer->frame_ids));
	codes->codes = calloc(max_walked, sizeof(*codes->codes));
	codes->fingerprints = calloc(max_walked, sizeof(*codes->fingerprints));
	codes->is_used = calloc(max_walked, sizeof(*codes->is_used));
	codes->copies = calloc(max_walked, sizeof(*codes->copies));
	codes->wanted = calloc(max_walked, sizeof(*codes->wanted));
	codes->answers = calloc(max_walked, sizeof(*codes->answers));
	id_map_init(&codes->index, max_walked);
	return completer->walked && completer->frames && completer->frame_ids && codes->codes &&
			       codes->fingerprints && codes->is_used && codes->copies && codes->wanted &&
			       codes->answers
		       ? 0
		       : -ENOMEM;
}

int stack_completer_new(struct stack_completer **ret_completer, const struct stack_completer_config *config)
{
	struct stack_completer *completer = calloc(1, sizeof(*completer));
	int err;

	if (!completer)
		return -ENOMEM;
	completer->max_frames = config->max_frames;
	/* Between any two frames there may be an entry frame. */
	completer->max_walked = 2 * config->max_frames + CACHED_CODES_MAX;
	err = alloc_scratch(completer);
	if (!err)
		err = frame_cache_new(
			&completer->cache, config->max_threads ? config->max_threads : MAX_THREADS_DEFAULT,
			config->max_cached_frames ? config->max_cached_frames : MAX_CACHED_FRAMES_DEFAULT,
			&completer->stats);
	if (!err)
		err = frame_reader_new(&completer->reader, &completer->stats);
	if (!err)
		err = bytecode_reader_new(&completer->bytecodes);
	if (err) {
		stack_completer_free(completer);
		return err;
	}
	*ret_completer = completer;
	return 0;
}

void stack_completer_free(struct stack_completer *completer)
{
	if (!completer)
		return;
	bytecode_reader_free(completer->bytecodes);
	frame_reader_free(completer->reader);
	frame_cache_free(completer->cache);
	id_map_release(&completer->codes.index);
	free(completer->codes.codes);
	free(completer->codes.fingerprints);
	free(completer->codes.is_used);
	free(completer->codes.copies);
	free(completer->codes.wanted);
	free(completer->codes.answers);
	free(completer->walked);
	free(completer->frames);
	free(completer->frame_ids);
	free(completer);
}

const struct stack_stats *stack_completer_stats(const struct stack_completer *completer)
{
	return &completer->stats;
}

/* The cached frames from here to the root are the best guess; where the root's part need not be read, a few
 * of them. With the last of them go the code objects. */
static int fetch(struct stack_completer *completer, u64 addr)
{
	const struct cached_stack *cached = completer->cached;
	size_t at = cached_stack_find(cached, addr);
	size_t room = completer->may_join && !completer->walked_cnt ? JOIN_EXPECTED : SIZE_MAX;

	if (at != CACHED_FRAME_NONE && at < completer->expect_next)
		completer->expect_next = at + 1;
	while (completer->expect_next && room-- &&
	       frame_reader_expect(completer->reader, cached->frames[completer->expect_next - 1].addr))
		completer->expect_next--;
	if ((!completer->expect_next || completer->may_join) &&
	    (completer->request->layout->traits & PY_TRAIT_CODE_VERSION)) {
		for (size_t i = 0; i < cached->code_cnt; i++)
			(void)frame_reader_expect_code(completer->reader, cached->codes[i]);
	}
	return frame_reader_fetch(completer->reader, addr);
}

static u64 load_u64(const u8 *bytes)
{
	u64 value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static u32 load_u32(const u8 *bytes)
{
	u32 value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* The instruction as the frame has it: an address, or f_lasti. */
static u64 load_instr(const struct py_layout *layout, const u8 *bytes)
{
	s32 lasti;

	if (!(layout->traits & PY_TRAIT_FRAME_OBJECT))
		return load_u64(bytes + layout->frame_instr);
	memcpy(&lasti, bytes + layout->frame_instr, sizeof(lasti));
	return (u64)(s64)lasti;
}

/* From there: bytes from the first instruction. */
static s32 instr_off(const struct py_layout *layout, u64 code, u64 instr)
{
	if (layout->traits & PY_TRAIT_FRAME_OBJECT)
		return (s32)((u32)instr << (layout->traits & PY_TRAIT_LASTI_UNITS ? 1 : 0));
	return (s32)(instr - code - layout->code_code_adaptive);
}

/* Whose the frame is: enum _frameowner, or 1 for a frame object of a generator. */
static u8 load_owner(const struct py_layout *layout, const u8 *bytes)
{
	if (layout->traits & PY_TRAIT_FRAME_OBJECT)
		return load_u64(bytes + layout->frame_owner) != 0;
	return bytes[layout->frame_owner];
}

/* Whether a chain may end with this frame: 3.11 says so in the last one, from 3.12 on an entry frame is, and
 * before, a generator's only is while it does not run. */
static bool may_end(const struct py_layout *layout, const struct walked_frame *frame, const u8 *bytes)
{
	if (layout->traits & PY_TRAIT_FRAME_OBJECT)
		return !frame->owner;
	if (layout->traits & PY_TRAIT_IS_ENTRY)
		return bytes[layout->frame_is_entry];
	return frame->is_entry;
}

static bool is_same(const struct cached_stack *cached, const struct walked_frame *frame)
{
	const struct cached_frame *was;

	if (frame->cached == CACHED_FRAME_NONE)
		return false;
	was = &cached->frames[frame->cached];
	return was->code == frame->code && was->instr == frame->instr && was->owner == frame->owner &&
	       frame->previous == (frame->cached ? was[-1].addr : 0);
}

/* Mostly the next one on the way to the root. */
static size_t find_cached(const struct stack_completer *completer, u64 addr)
{
	size_t last = completer->walked_cnt ? completer->walked[completer->walked_cnt - 1].cached : 0;

	if (last != CACHED_FRAME_NONE && last > 0 && last - 1 < completer->cached->cnt &&
	    completer->cached->frames[last - 1].addr == addr)
		return last - 1;
	return cached_stack_find(completer->cached, addr);
}

static int walk_frame(struct stack_completer *completer, u64 addr, struct walked_frame *ret_frame)
{
	const struct py_layout *layout = completer->request->layout;
	const u8 *bytes = frame_reader_bytes(completer->reader, addr);

	if (!bytes) {
		int err = fetch(completer, addr);

		if (err)
			return err;
		bytes = frame_reader_bytes(completer->reader, addr);
		if (!bytes)
			return -EFAULT;
	}
	ret_frame->addr = addr;
	ret_frame->code = load_u64(bytes + layout->frame_executable);
	ret_frame->previous = load_u64(bytes + layout->frame_previous);
	ret_frame->instr = load_instr(layout, bytes);
	ret_frame->tlbc_index = layout->code_tlbc ? load_u32(bytes + layout->frame_tlbc_index) : 0;
	ret_frame->owner = load_owner(layout, bytes);
	ret_frame->is_entry =
		(layout->traits & PY_TRAIT_OWNER_ENTRY) && ret_frame->owner >= layout->owner_entry;
	if (layout->traits & PY_TRAIT_TAGGED_EXECUTABLE)
		ret_frame->code &= ~(u64)PY_EXECUTABLE_TAG_BITS;
	ret_frame->cached = find_cached(completer, addr);
	ret_frame->is_same = is_same(completer->cached, ret_frame);
	if (!ret_frame->is_entry && !ret_frame->code)
		return -EFAULT;
	if (!ret_frame->previous && !may_end(layout, ret_frame, bytes))
		return -EFAULT;
	return 0;
}

/* How many frames in a row, up to this one, are what they were and called each other. */
static size_t joined(const struct walked_frame *frame, const struct walked_frame *before, size_t cnt)
{
	if (!frame->is_same)
		return 0;
	return cnt && frame->cached + 1 == before->cached ? cnt + 1 : 1;
}

/* Whether the cached frames that called this one stand for those that would have to be read. */
static bool may_take_over(const struct stack_completer *completer, const struct walked_frame *frame,
			  size_t run)
{
	return completer->may_join && run >= STACK_JOIN_FRAMES &&
	       completer->walked_cnt + frame->cached > STACK_DEEP_FRAMES &&
	       completer->shown_cnt + frame->cached <= completer->max_frames;
}

static int walk(struct stack_completer *completer)
{
	size_t run = 0;
	u64 addr = completer->request->resume_frame;

	while (addr) {
		struct walked_frame *frame = &completer->walked[completer->walked_cnt];
		int err;

		if (completer->walked_cnt == 2 * completer->max_frames)
			return -ELOOP;
		if (completer->may_join && completer->walked_cnt == STACK_DEEP_FRAMES)
			return -EAGAIN;
		err = walk_frame(completer, addr, frame);
		if (err)
			return err;
		if (!frame->is_entry && completer->shown_cnt == completer->max_frames)
			return -ELOOP;
		run = joined(frame, run ? frame - 1 : frame, run);
		completer->walked_cnt++;
		completer->shown_cnt += !frame->is_entry;
		if (may_take_over(completer, frame, run)) {
			completer->taken_over = frame->cached;
			return 0;
		}
		addr = frame->previous;
	}
	return 0;
}

static void codes_begin(struct stack_completer *completer)
{
	const struct cached_stack *cached = completer->cached;
	struct code_list *codes = &completer->codes;

	id_map_clear(&codes->index);
	codes->cnt = 0;
	for (size_t i = 0; i < cached->code_cnt; i++) {
		if (id_map_put(&codes->index, cached->codes[i], (u32)i))
			break;
		codes->codes[i] = cached->codes[i];
		codes->fingerprints[i] = frame_reader_version(completer->reader, i);
		codes->is_used[i] = false;
		codes->cnt++;
	}
}

/* Gives each frame its code object's place in the list. */
static int codes_collect(struct stack_completer *completer)
{
	struct code_list *codes = &completer->codes;
	const struct walked_frame *last = NULL;

	for (size_t i = 0; i < completer->walked_cnt; i++) {
		struct walked_frame *frame = &completer->walked[i];

		if (frame->is_entry)
			continue;
		frame->code_idx = last && last->code == frame->code ? last->code_idx
								    : id_map_find(&codes->index, frame->code);
		if (frame->code_idx == ID_MAP_NONE) {
			int err = id_map_put(&codes->index, frame->code, (u32)codes->cnt);

			if (err)
				return err;
			frame->code_idx = (u32)codes->cnt;
			codes->codes[codes->cnt] = frame->code;
			codes->fingerprints[codes->cnt] = 0;
			codes->cnt++;
		}
		codes->is_used[frame->code_idx] = true;
		last = frame;
	}
	return 0;
}

static void codes_read(struct stack_completer *completer, const struct stack_namer *namer)
{
	struct code_list *codes = &completer->codes;
	size_t cnt = 0, at = 0;

	for (size_t i = 0; i < codes->cnt; i++) {
		completer->stats.fingerprints_read += codes->is_used[i];
		if (codes->is_used[i] && !codes->fingerprints[i])
			codes->wanted[cnt++] = codes->codes[i];
	}
	memset(codes->answers, 0, cnt * sizeof(*codes->answers));
	/* What cannot be read stays 0: the frames are unnamed then. */
	if (!cnt || namer->read_fingerprints(namer->ctx, codes->wanted, cnt, codes->answers))
		return;
	for (size_t i = 0; i < codes->cnt; i++) {
		if (codes->is_used[i] && !codes->fingerprints[i])
			codes->fingerprints[i] = codes->answers[at++];
	}
}

/* Frames of one thread run one copy of each code object, or the code object's own; one that runs another
 * copy gets no line. */
static void copies_find(struct stack_completer *completer)
{
	struct code_list *codes = &completer->codes;

	for (size_t i = 0; i < codes->cnt; i++)
		codes->copies[i] = (struct bytecode_copy){.code = codes->codes[i]};
	for (size_t i = 0; i < completer->walked_cnt; i++) {
		const struct walked_frame *frame = &completer->walked[i];

		if (!frame->is_entry && frame->tlbc_index)
			codes->copies[frame->code_idx].index = frame->tlbc_index;
	}
	/* What cannot be read has no line. */
	if (bytecode_reader_find(completer->bytecodes, completer->request->mem, completer->request->layout,
				 codes->copies, codes->cnt)) {
		for (size_t i = 0; i < codes->cnt; i++)
			codes->copies[i].sz = 0;
	}
}

/* Gives each frame the place of its instruction in the bytecode. */
static void instructions_place(struct stack_completer *completer)
{
	const struct py_layout *layout = completer->request->layout;

	if (layout->code_tlbc)
		copies_find(completer);
	for (size_t i = 0; i < completer->walked_cnt; i++) {
		struct walked_frame *frame = &completer->walked[i];

		if (frame->is_entry)
			continue;
		frame->instr_off = layout->code_tlbc
					   ? bytecode_copy_offset(&completer->codes.copies[frame->code_idx],
								  layout, frame->instr)
					   : instr_off(layout, frame->code, frame->instr);
	}
}

/* Whether its name may be remembered. */
static bool give_frame(struct stack_completer *completer, const struct stack_namer *namer,
		       const struct cached_frame *frame, bool is_named)
{
	struct py_frame *out = &completer->frames[completer->cnt];
	u32 *id = &completer->frame_ids[completer->cnt];

	out->code = frame->code;
	out->instr_off = frame->instr_off;
	out->fingerprint = frame->fingerprint;
	*id = frame->frame_id;
	completer->cnt++;
	if (is_named)
		return true;
	return namer->name(namer->ctx, out, id) && out->instr_off != BYTECODE_NOWHERE;
}

/* Finishes the frames that were read: with the cached one's name where it is proven to be the same frame. */
static void name_walked(struct stack_completer *completer, const struct stack_namer *namer)
{
	for (size_t i = 0; i < completer->walked_cnt; i++) {
		struct walked_frame *frame = &completer->walked[i];
		struct cached_frame finished = {.code = frame->code, .instr_off = frame->instr_off};
		const struct cached_frame *was;
		bool is_named = false;

		if (frame->is_entry)
			continue;
		finished.fingerprint = completer->codes.fingerprints[frame->code_idx];
		if (frame->is_same && finished.fingerprint) {
			was = &completer->cached->frames[frame->cached];
			is_named = was->fingerprint == finished.fingerprint &&
				   was->frame_id != CACHED_FRAME_UNNAMED;
			finished.frame_id = was->frame_id;
		}
		completer->stats.frames_reused += is_named;
		frame->is_named = give_frame(completer, namer, &finished, is_named);
	}
}

static bool is_entry(const struct py_layout *layout, const struct cached_frame *frame)
{
	return (layout->traits & PY_TRAIT_OWNER_ENTRY) && frame->owner >= layout->owner_entry;
}

static void name_taken_over(struct stack_completer *completer, const struct stack_namer *namer)
{
	for (size_t i = completer->taken_over; i > 0 && completer->cnt < completer->max_frames; i--) {
		const struct cached_frame *frame = &completer->cached->frames[i - 1];

		if (is_entry(completer->request->layout, frame))
			continue;
		(void)give_frame(completer, namer, frame, frame->frame_id != CACHED_FRAME_UNNAMED);
		completer->stats.frames_by_identity++;
	}
}

/* Frames that still lie where they lay are overwritten in place; from the first other one on, the leaf's
 * part is new. `named` are the finished frames of the walked ones, leaf first. */
static void keep(struct stack_completer *completer)
{
	struct cached_stack *cached = completer->cached;
	size_t place = completer->taken_over, shown = completer->shown_cnt;
	int err = 0;

	for (size_t i = completer->walked_cnt; i > 0 && !err; i--) {
		const struct walked_frame *walked = &completer->walked[i - 1];
		struct cached_frame frame = {
			.addr = walked->addr,
			.code = walked->code,
			.instr = walked->instr,
			.instr_off = walked->instr_off,
			.owner = walked->owner,
			.frame_id = CACHED_FRAME_UNNAMED,
		};

		if (!walked->is_entry) {
			shown--;
			frame.fingerprint = completer->frames[shown].fingerprint;
			if (walked->is_named)
				frame.frame_id = completer->frame_ids[shown];
		}
		if (place < cached->cnt && cached->frames[place].addr == frame.addr) {
			cached->frames[place++] = frame;
			continue;
		}
		cached_stack_cut(cached, place);
		err = frame_cache_push(completer->cache, cached, &frame);
		place += !err;
	}
	cached_stack_cut(cached, place);
}

/* The code objects that this stack named are those to read next time. */
static void keep_codes(struct stack_completer *completer)
{
	struct code_list *codes = &completer->codes;
	size_t cnt = 0;

	for (size_t i = 0; i < codes->cnt && cnt < CACHED_CODES_MAX; i++) {
		if (codes->is_used[i])
			codes->wanted[cnt++] = codes->codes[i];
	}
	(void)cached_stack_set_codes(completer->cached, codes->wanted, cnt);
}

static void count_result(struct stack_completer *completer, u64 reused_before)
{
	struct stack_stats *stats = &completer->stats;
	u64 reused = stats->frames_reused - reused_before;

	stats->frames_read += completer->shown_cnt;
	if (completer->taken_over)
		stats->by_identity++;
	else if (reused && reused == completer->cnt)
		stats->hits++;
	else if (reused)
		stats->partial++;
	else
		stats->misses++;
}

static void begin(struct stack_completer *completer, const struct stack_request *request)
{
	struct cached_stack *cached = frame_cache_get(completer->cache, request->epoch, request->tid);

	completer->request = request;
	completer->cached = cached;
	completer->walked_cnt = 0;
	completer->shown_cnt = 0;
	completer->cnt = 0;
	completer->taken_over = 0;
	completer->expect_next = cached->cnt;
	completer->may_join = cached->deep_ns && (s64)(request->time_ns - cached->deep_ns) < DEEP_INTERVAL_NS;
	frame_reader_begin(completer->reader, request->mem, request->layout);
	/* One very deep stack of many code objects must not make clearing slow for all that follow. */
	if (completer->codes.index.cap > 64 * (completer->codes.cnt + CACHED_CODES_MAX)) {
		id_map_release(&completer->codes.index);
		id_map_init(&completer->codes.index, completer->max_walked);
	}
}

int stack_complete(struct stack_completer *completer, const struct stack_request *request,
		   const struct stack_namer *namer, struct completed_stack *ret_stack)
{
	u64 reused = completer->stats.frames_reused;
	int err;

	begin(completer, request);
	err = walk(completer);
	codes_begin(completer);
	err = err ?: codes_collect(completer);
	if (err) {
		completer->stats.postponed += err == -EAGAIN;
		completer->stats.failed += err != -EAGAIN;
		if (frame_reader_fetches(completer->reader) > COSTLY_FETCHES)
			completer->cached->deep_ns = request->time_ns;
		return err;
	}
	instructions_place(completer);
	codes_read(completer, namer);
	name_walked(completer, namer);
	name_taken_over(completer, namer);
	if (completer->walked_cnt > STACK_DEEP_FRAMES)
		completer->cached->deep_ns = request->time_ns;
	keep(completer);
	keep_codes(completer);
	count_result(completer, reused);
	*ret_stack = (struct completed_stack){
		.frames = completer->frames,
		.frame_ids = completer->frame_ids,
		.cnt = completer->cnt,
	};
	return 0;
}
