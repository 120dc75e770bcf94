/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Walks the interpreter frames of the interrupted thread, leaf to root, in its own context: nothing
 * moves while this runs, so what is read is one instant of the program. What can still go wrong is
 * that the interrupt fell between two stores of the interpreter. The checks below tell that apart, and
 * a walk that fails one is never called exact.
 *
 * From CPython 3.11 on; before, frames are objects (object_walk.bpf.h).
 *
 * By windows, not by frames: frames of ordinary calls lie on the thread's data stack (_PyStackChunk,
 * growing up), so one read covers the current frame and what lies below it in the same chunk, and the
 * walk steps inside that copy. Frames elsewhere (generators in the heap, entry frames on the C stack)
 * are read one at a time.
 *
 * Where a frame may lie (CPython 3.11-3.15, Include/internal/pycore_frame.h, Python/pystate.c):
 *   ordinary (owner 0)   in this thread's own chunks, below datastack_top (older chunks: below their
 *                        `top`), each strictly below the one called from it in the same chunk;
 *   generator (owner 1)  in the heap, so never inside the current chunk;
 *   entry (3.12+)        on the C stack, above the interrupted stack pointer, each above the last; not
 *                        shown. On another thread's stack: that one runs this state (a sub-interpreter's up to
 *                        3.12). 3.15's base_frame lies in the thread state and ends every chain.
 * Where a chain may end: 3.11 at a frame with is_entry, from 3.12 on at an entry frame, in 3.15 at base_frame,
 * too (greenlets begin without one), and in greenlet's hands at an ordinary frame (walk_outermost). A chain
 * that ends elsewhere was being relinked: mid-transition.
 */
#ifndef PANOPY_FRAME_WALK_BPF_H
#define PANOPY_FRAME_WALK_BPF_H

#include "code_object.bpf.h"
#include "cpython_facts.h"
#include "loops.bpf.h"
#include "object_walk.bpf.h"
#include "scratch.bpf.h"
#include "thread_bytecode.bpf.h"
#include "thread_state.bpf.h"
#include "user_mem.bpf.h"
#include "walk_emit.bpf.h"

/* An entry frame: checks where it lies, notes what it links, is not shown. 0 to go on. */
static __always_inline int walk_entry(struct walk *w, u64 frame, u64 previous)
{
	if (frame <= w->user_sp || frame <= w->last_entry) {
		walk_stop(w, SAMPLE_REASON_MID_TRANSITION);
		return 1;
	}
	if (frame >= w->stack_end) {
		walk_stop(w, SAMPLE_REASON_AMBIGUOUS_STATE);
		return 1;
	}
	w->last_entry = frame;
	if (!w->entry_seen) {
		w->entry_seen = 1;
		w->entry_previous = previous;
	}
	w->frame = previous;
	w->ended = !previous;
	return w->ended;
}

/* Whether greenlet cut the chain behind this ordinary frame. While it switches it links the ordinary frames past the
 * entry frames, which its change of C stacks overwrites, and clears `previous` of the outermost one (greenlet
 * 3.0 to 3.5, Greenlet::expose_frames); all frames are there. The interpreter never does that to a frame on the
 * current chain. That this is such a frame is proven by its frame object, which greenlet makes and which points
 * back at it: PyFrameObject.f_frame stands behind the object's head and f_back, and frame_obj before the
 * instruction pointer (CPython 3.12 to 3.15, Include/internal/pycore_frame.h and pycore_interpframe_structs.h). */
static __always_inline int is_cut_by_greenlet(const struct walk *w, const u8 *p, u64 frame)
{
	const struct py_layout *layout = &w->layout;
	u64 frame_obj = *(const u64 *)(p + ((layout->frame_instr - PY_FRAME_OBJ_BEFORE_INSTR) & FRAME_MASK));
	u64 back = 0;

	if (!(layout->traits & PY_TRAIT_OWNER_ENTRY) || !frame_obj)
		return 0;
	return !user_read(&back, sizeof(back), frame_obj + layout->bytes_size + PY_F_FRAME_BEHIND_SIZE) &&
	       back == frame;
}

/* A frame without a caller that is no entry frame. */
static __always_inline void walk_outermost(struct walk *w, const u8 *p, u64 frame, u8 owner)
{
	if (owner == PY_OWNER_GENERATOR && w->frame_cnt == 1)
		w->suspended = frame;
	if (!w->ended && owner == PY_OWNER_THREAD)
		w->ended = is_cut_by_greenlet(w, p, frame);
	if (!w->ended)
		walk_stop(w, SAMPLE_REASON_MID_TRANSITION);
}

/* RETURN_GENERATOR pops its frame before it makes the caller's current (CPython 3.11-3.13,
 * Python/bytecodes.c): the frame is whole until another one is pushed, which would raise datastack_top.
 * Not an entry frame of 3.11: those are popped only after their cframe was left, so it is stale. */
static __always_inline int is_just_popped(const struct walk *w, const u8 *p, u64 frame)
{
	if ((w->layout.traits & PY_TRAIT_IS_ENTRY) && *(p + (w->layout.frame_is_entry & FRAME_MASK)))
		return 0;
	return frame == w->chunk_hi && !w->frame_cnt && !w->entry_seen;
}

/* Where the frame's bytecode begins, free-threaded 3.14+. 0 to go on. Frames behind the leaf went through
 * RESUME: an index of 0 says that they run the code object's own. */
static __always_inline int walk_bytecode(struct walk_scratch *s, const u8 *p, u64 code, u64 instr,
					 u64 *ret_bytecode)
{
	struct walk *w = &s->walk;
	u32 index = *(const u32 *)(p + (w->layout.frame_tlbc_index & FRAME_MASK));
	const struct bytecode_slot *slot = bytecode_slot_of(s, code);
	int reason;

	if (!index && w->frame_cnt)
		return 0;
	if (!bytecode_slot_holds(s, slot, code, instr, index)) {
		reason = bytecode_find(w->scratch_id, code, instr, index);
		if (reason) {
			walk_stop(w, reason);
			return 1;
		}
	}
	*ret_bytecode = slot->base;
	return 0;
}

/* One frame whose bytes are at `p`. enum walk_next; walk.need_chunk: it lies in another chunk. */
static __always_inline int walk_frame(struct walk_scratch *s, const u8 *p, u64 frame)
{
	struct walk *w = &s->walk;
	const struct py_layout *layout = &w->layout;
	u64 code = *(const u64 *)(p + (layout->frame_executable & FRAME_MASK)) & w->code_mask;
	u64 previous = *(const u64 *)(p + (layout->frame_previous & FRAME_MASK));
	u64 instr = *(const u64 *)(p + (layout->frame_instr & FRAME_MASK));
	u8 owner = *(p + (layout->frame_owner & FRAME_MASK));
	u32 fingerprint;
	int in_chunk = frame >= w->chunk_lo && (frame < w->chunk_hi || is_just_popped(w, p, frame));
	u64 bytecode;

	if ((layout->traits & PY_TRAIT_OWNER_ENTRY) && owner >= layout->owner_entry)
		return walk_entry(w, frame, previous);
	/* Before any note is made of the frame: the walk may go on with it (resume.bpf.h). */
	if (w->frame_cnt >= w->frame_limit || w->frame_cnt >= LIMIT_SAMPLE_FRAMES) {
		walk_stop(w, SAMPLE_REASON_BUDGET);
		return WALK_OVER;
	}
	if (owner == PY_OWNER_THREAD) {
		if (!in_chunk) {
			w->need_chunk = 1;
			return WALK_ON;
		}
		if (frame >= w->last_ordinary) {
			walk_stop(w, SAMPLE_REASON_CYCLE);
			return WALK_OVER;
		}
	} else if (owner != PY_OWNER_GENERATOR || in_chunk) {
		walk_stop(w, SAMPLE_REASON_BAD_POINTER);
		return WALK_OVER;
	}
	if (!code) {
		walk_stop(w, SAMPLE_REASON_MID_TRANSITION);
		return WALK_OVER;
	}
	bytecode = code + layout->code_code_adaptive;
	if (layout->code_tlbc && walk_bytecode(s, p, code, instr, &bytecode))
		return WALK_OVER;
	fingerprint = code_slot_fingerprint(s, code);
	if (walk_wants_code(w, code, fingerprint))
		return WALK_WANTS_CODE;
	walk_emit(s, code, (s32)(instr - bytecode), fingerprint);
	if (owner == PY_OWNER_THREAD)
		w->last_ordinary = frame;
	w->frame = previous;
	if ((layout->traits & PY_TRAIT_IS_ENTRY) && *(p + (layout->frame_is_entry & FRAME_MASK))) {
		if (!w->entry_seen) {
			w->entry_seen = 1;
			w->entry_previous = previous;
		}
		w->ended = !previous;
	}
	if (!previous)
		walk_outermost(w, p, frame, owner);
	return previous ? WALK_ON : WALK_OVER;
}

/* Reads the head of a chunk into walk.chunk_head. 0, or the walk is over. */
static __always_inline int chunk_read(struct walk *w, u64 chunk)
{
	if (!user_read(w->chunk_head, sizeof(w->chunk_head), chunk))
		return 0;
	w->fault_addr = chunk;
	walk_stop(w, SAMPLE_REASON_PAGE_FAULT);
	return 1;
}

/* The chunk below the current one: an ordinary frame was not in the current one. enum walk_next. */
static __always_inline int walk_next_chunk(struct walk *w)
{
	const u64 *head = w->chunk_head; /* previous, size, top */

	w->need_chunk = 0;
	w->last_ordinary = ~0ULL;
	w->chunk_lo = w->chunk_hi = 0;
	if (chunk_read(w, w->chunk))
		return WALK_OVER;
	w->chunk = head[0];
	if (!w->chunk) {
		walk_stop(w, SAMPLE_REASON_BAD_POINTER);
		return WALK_OVER;
	}
	if (chunk_read(w, w->chunk))
		return WALK_OVER;
	/* `top` counts words of data; a chunk never reaches past its size. */
	if (head[2] > head[1] / sizeof(u64)) {
		walk_stop(w, SAMPLE_REASON_BAD_POINTER);
		return WALK_OVER;
	}
	w->chunk_lo = w->chunk + w->layout.chunk_data;
	w->chunk_hi = w->chunk_lo + head[2] * sizeof(u64);
	return WALK_ON;
}

/* Steps over the ordinary frames of a window on the current chunk, which all lie between `base` and the
 * first frame. Stops in front of the first that needs a closer look (walk_frame): that is no ordinary one, or
 * whose code object must be read. This is where deep stacks spend their time, so what can be is in registers.
 * `has_copies` is constant, so that the walk of other builds does nothing for copies of the bytecode. */
static __always_inline void walk_ordinary(struct walk_scratch *s, u64 base, u64 limit, int has_copies)
{
	struct walk *w = &s->walk;
	const struct py_layout *layout = &w->layout;
	const u8 *codes = s->window + (layout->frame_executable & FRAME_MASK);
	const u8 *previouses = s->window + (layout->frame_previous & FRAME_MASK);
	const u8 *instrs = s->window + (layout->frame_instr & FRAME_MASK);
	const u8 *owners = s->window + (layout->frame_owner & FRAME_MASK);
	int seeks_entry = (layout->traits & PY_TRAIT_IS_ENTRY) && !w->entry_seen;
	u64 frame = w->frame, last = w->last_ordinary, last_code = 0;
	u64 identity = w->identity, term = 0;
	u32 cnt = w->frame_cnt, fingerprint = 0;

	for (u32 i = loop_zero(s); loop_goes_on(i, WALK_STEP_FRAMES); i++) {
		u64 off = frame - base;
		u64 code, previous, bytecode;
		s32 instr_off;

		if (off >= limit || cnt >= w->frame_limit)
			break;
		opaque(off);
		off &= 2 * WALK_WINDOW_SZ - 1;
		code = *(const u64 *)(codes + off) & w->code_mask;
		previous = *(const u64 *)(previouses + off);
		if (*(owners + off) != PY_OWNER_THREAD || !code || !previous || frame >= last || (frame & 7))
			break;
		bytecode = code + layout->code_code_adaptive;
		if (has_copies) {
			u32 index = *(const u32 *)(s->window + (layout->frame_tlbc_index & FRAME_MASK) + off);
			const struct bytecode_slot *slot = bytecode_slot_of(s, code);

			if (!cnt || (index && !bytecode_slot_holds(s, slot, code,
								   *(const u64 *)(instrs + off), index)))
				break;
			if (index)
				bytecode = slot->base;
		}
		if (code != last_code) {
			fingerprint = code_slot_fingerprint(s, code);
			if (!fingerprint)
				break;
			term = code_term(code, fingerprint);
			last_code = code;
		}
		if (seeks_entry && *(s->window + (layout->frame_is_entry & FRAME_MASK) + off)) {
			seeks_entry = 0;
			w->entry_seen = 1;
			w->entry_previous = previous;
		}
		instr_off = (s32)(*(const u64 *)(instrs + off) - bytecode);
		frame_write(s, cnt, code, instr_off, fingerprint);
		identity = identity_step(identity, term, instr_off);
		cnt++;
		last = frame;
		frame = previous;
	}
	w->identity = identity;
	w->visit_cnt += cnt - w->frame_cnt;
	w->frame_cnt = cnt;
	w->last_ordinary = last;
	w->frame = frame;
}

static __always_inline int is_on_chunk(const struct walk *w, u64 frame)
{
	return frame >= w->chunk_lo && frame < w->chunk_hi;
}

/* Whether the window holds walk.frame. */
static __always_inline int window_has_frame(const struct walk *w)
{
	return w->frame - w->window_base < w->window_limit;
}

/* Reads the window that ends with walk.frame, which is on the current chunk. 0, or an error. */
static __always_inline long window_read(struct walk_scratch *s)
{
	struct walk *w = &s->walk;
	u64 frame = w->frame;
	u64 base, sz;

	w->read_cnt++;
	w->window_limit = 0;
	base = frame + LIMIT_FRAME_SPAN - WALK_WINDOW_SZ;
	if (base < w->chunk_lo || base > frame)
		base = w->chunk_lo;
	sz = frame - base + (w->layout.frame_sz & FRAME_MASK);
	opaque(sz);
	if (sz > WALK_WINDOW_SZ || user_read(s->window, (u32)sz & (2 * WALK_WINDOW_SZ - 1), base)) {
		/* A page further down is not there: the frame may be. */
		base = frame;
		if (user_read(s->window, w->layout.frame_sz & FRAME_MASK, base))
			return -1;
	}
	w->window_base = base;
	w->window_limit = frame - base + 1;
	return 0;
}

/* Reads a frame that is not on the current chunk, behind the window, which is kept: generators and ordinary
 * frames may take turns. 0, or an error. */
static __always_inline long lone_frame_read(struct walk_scratch *s)
{
	struct walk *w = &s->walk;

	w->read_cnt++;
	return user_read(s->window + WALK_LONE_FRAME_OFF, w->layout.frame_sz & FRAME_MASK, w->frame);
}

static __always_inline int walk_fault(struct walk *w)
{
	w->fault_addr = w->frame;
	walk_stop(w, SAMPLE_REASON_PAGE_FAULT);
	return WALK_OVER;
}

/* The ordinary frames from walk.frame on that are in one window. 0, or an error. */
static __always_inline long walk_window(struct walk_scratch *s)
{
	struct walk *w = &s->walk;
	u64 base;

	if (!window_has_frame(w) && window_read(s))
		return -1;
	base = w->window_base;
	opaque(base);
	if (w->layout.code_tlbc)
		walk_ordinary(s, base, w->window_limit, 1);
	else
		walk_ordinary(s, base, w->window_limit, 0);
	return 0;
}

/* One step of the walk: a change of chunk, or what a window has and the frame behind that. enum walk_next. */
__noinline int walk_step(u32 id)
{
	struct walk_scratch *s = scratch_get(id);
	struct walk *w;
	u64 off;

	if (!s)
		return WALK_OVER;
	w = &s->walk;
	if (w->layout.traits & PY_TRAIT_FRAME_OBJECT)
		return walk_object(s);
	if (w->need_chunk)
		return walk_next_chunk(w);
	if (is_on_chunk(w, w->frame) && walk_window(s))
		return walk_fault(w);
	if (w->frame && w->frame == w->base_frame) {
		w->ended = 1;
		w->frame = 0;
		return WALK_OVER;
	}
	off = w->frame - w->window_base;
	if (is_on_chunk(w, w->frame)) {
		if (off >= w->window_limit)
			return WALK_ON;
	} else {
		if (lone_frame_read(s))
			return walk_fault(w);
		off = WALK_LONE_FRAME_OFF;
	}
	opaque(off);
	if (++w->visit_cnt > LIMIT_WALK_VISITS) {
		walk_stop(w, SAMPLE_REASON_BUDGET);
		return WALK_OVER;
	}
	return walk_frame(s, s->window + (off & (2 * WALK_WINDOW_SZ - 1)), w->frame);
}

static __always_inline int walk_round(struct walk_scratch *s, u32 i)
{
	int next = walk_step(s->walk.scratch_id);

	(void)i;
	if (next != WALK_WANTS_CODE)
		return next;
	code_resolve(s->walk.scratch_id);
	return WALK_ON;
}

/* Frames whose code object is wanted take two. */
DEFINE_LOOP(walk_steps, walk_round, LIMIT_WALK_VISITS + LIMIT_SAMPLE_FRAMES)

/* Nothing read yet. */
static __always_inline void walk_reset(struct walk *w)
{
	w->frame_cnt = 0;
	w->visit_cnt = 0;
	w->suspended = 0;
	w->identity = 0;
	w->status = SAMPLE_EXACT;
	w->reason = SAMPLE_REASON_NONE;
}

static __always_inline void walk_begin(struct walk_scratch *s, u64 frame)
{
	struct walk *w = &s->walk;

	walk_reset(w);
	w->chunk = tstate_u64(s, w->layout.tstate_datastack_chunk);
	w->chunk_lo = w->chunk + w->layout.chunk_data;
	w->chunk_hi = tstate_u64(s, w->layout.tstate_datastack_top);
	w->frame = frame;
	w->window_limit = 0;
	w->first_frame = frame;
	w->frame_type = 0;
	w->mark = 0;
	w->last_ordinary = ~0ULL;
	w->last_entry = 0;
	w->entry_previous = 0;
	w->entry_seen = 0;
	w->need_chunk = 0;
	w->ended = 0;
}

static __always_inline void walk_on(struct walk_scratch *s)
{
	walk_steps(s);
	if (!s->walk.ended && s->walk.status == SAMPLE_EXACT)
		walk_stop(&s->walk, SAMPLE_REASON_BUDGET);
}

static __always_inline void walk_none(struct walk *w, u8 reason)
{
	w->status = SAMPLE_NONE;
	w->reason = reason;
	w->frame = 0;
	w->frame_cnt = 0;
}

static __always_inline void walk_run(struct walk_scratch *s, u64 frame)
{
	walk_begin(s, frame);
	walk_on(s);
}

#endif
