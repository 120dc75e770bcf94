/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Where the walk begins: at tstate->current_frame from CPython 3.13 on, at that of the cframe before.
 *
 * 3.11 and 3.12 switch tstate->cframe to a struct on the C stack before they fill it (ceval.c,
 * _PyEval_EvalFrameDefault), so it may name an earlier callee whose chain still ends properly. In a
 * filled one the first entry frame's `previous` equals the outer cframe's current_frame. Where it does
 * not, the new evaluation has not begun and the stack is the outer cframe's: the walk starts again there.
 */
#ifndef PANOPY_CFRAME_WALK_BPF_H
#define PANOPY_CFRAME_WALK_BPF_H

#include "cpython_facts.h"
#include "frame_walk.bpf.h"

struct cframe {
	u64 current_frame;
	u64 previous;
};

static __always_inline u64 cframe_word(const u64 words[3], u16 off)
{
	return off >= 16 ? words[2] : off >= 8 ? words[1] : words[0];
}

static __always_inline long cframe_read(const struct walk *w, u64 addr, struct cframe *ret_cframe)
{
	u64 words[3];

	if (user_read(words, sizeof(words), addr))
		return -1;
	ret_cframe->current_frame = cframe_word(words, w->layout.cframe_current_frame);
	ret_cframe->previous = cframe_word(words, w->layout.cframe_previous);
	return 0;
}

/* Whether the walk showed that its cframe was entered but not filled yet. A chain that just ends before any
 * entry frame shows nothing, since that of a generator being suspended does so, too: it stays truncated. One
 * that leads nowhere was left behind, if there is an evaluation that it hides: frames behind the leaf wait for it,
 * and lie where frames do. */
static __always_inline int cframe_is_unfilled(const struct walk *w, u64 outer_current_frame)
{
	if (w->entry_seen)
		return w->entry_previous != outer_current_frame;
	if (w->reason == SAMPLE_REASON_BAD_POINTER || w->reason == SAMPLE_REASON_CYCLE)
		return outer_current_frame || !w->frame_cnt;
	/* A frame of this thread's data stack that is not resident: the evaluation runs. */
	if (w->reason == SAMPLE_REASON_PAGE_FAULT && w->frame >= w->chunk_lo && w->frame < w->chunk_hi)
		return 0;
	return !w->frame_cnt;
}

/* 3.11 has no entry frames on the C stack (walk_entry). */
static __always_inline void cframe_check_place(struct walk *w, u64 addr)
{
	if (!(w->layout.traits & PY_TRAIT_IS_ENTRY))
		return;
	if (addr <= w->user_sp)
		walk_stop(w, SAMPLE_REASON_MID_TRANSITION);
	else if (addr >= w->stack_end)
		walk_stop(w, SAMPLE_REASON_AMBIGUOUS_STATE);
}

/* A thread whose current cframe is the root, which lies in the thread state (336 bytes into it in 3.11, 272 in 3.12)
 * and never has a frame, runs no Python. Any other cframe that links none is one that is not filled yet. */
static __always_inline void cframe_without_outer(struct walk *w, int is_root)
{
	walk_none(w, SAMPLE_REASON_NO_FRAMES);
	w->suspended = 0;
	if (!is_root)
		walk_stop(w, SAMPLE_REASON_MID_TRANSITION);
}

/* 3.11 and 3.12. */
static __always_inline void walk_from_cframe(struct walk_scratch *s)
{
	struct walk *w = &s->walk;
	u64 addr = tstate_u64(s, w->layout.tstate_frame);
	struct cframe inner, outer;

	for (int attempt = 0; attempt < 2; attempt++) {
		if (cframe_read(w, addr, &inner)) {
			walk_none(w, SAMPLE_REASON_STATE_FAULT);
			return;
		}
		/* What a cframe links is on the C stack or in the thread state: where nothing can be read, it is
		 * not filled yet. */
		if (!inner.previous || cframe_read(w, inner.previous, &outer)) {
			cframe_without_outer(w, !attempt && addr - w->tstate < LIMIT_TSTATE_SPAN);
			return;
		}
		w->outer_frame = outer.current_frame;
		walk_run(s, inner.current_frame);
		if (!cframe_is_unfilled(w, outer.current_frame)) {
			cframe_check_place(w, addr);
			return;
		}
		addr = inner.previous;
	}
	walk_stop(w, SAMPLE_REASON_MID_TRANSITION);
}

/* Whether the frame in the scratch waits for the suspended generator: the object on top of its value
 * stack is the one that the generator's frame lies in. */
static __always_inline int frame_awaits(const struct walk_scratch *s, u64 frame)
{
	const struct py_layout *layout = &s->walk.layout;
	/* `int stacktop` follows prev_instr, and localsplus follows `char owner` (CPython 3.12,
	 * Include/internal/pycore_frame.h). */
	u32 stacktop =
		*(const u32 *)(s->window + ((layout->frame_instr + PY_STACKTOP_BEHIND_INSTR) & FRAME_MASK));
	u64 localsplus = frame + ((layout->frame_owner + PY_WORD_SZ) & ~(PY_WORD_SZ - 1u));
	u64 top = 0;

	if (!stacktop || stacktop > 0xffff ||
	    user_read(&top, sizeof(top), localsplus + (u64)(stacktop - 1) * sizeof(u64)))
		return 0;
	return top < s->walk.suspended && s->walk.suspended - top <= PY_GENERATOR_HEAD_SZ;
}

/* 3.12's YIELD_VALUE clears the generator frame's `previous` before it makes the resumer current: the
 * compiler sinks the second store. In between the resumer is in a register. It is proven by what it
 * waits for, or by being this evaluation's own entry frame; the walk then checks its chain as any other. */
__noinline u64 walk_find_resumer(u32 id)
{
	struct walk_scratch *s = scratch_get(id);
	u64 entry = 0;

	if (!s)
		return 0;
	for (int i = 0; i < WALK_REGISTERS; i++) {
		const struct py_layout *layout = &s->walk.layout;
		u64 frame = s->walk.registers[i];

		if (!frame || (frame & 7) || frame == s->walk.suspended ||
		    user_read(s->window, layout->frame_sz & FRAME_MASK, frame))
			continue;
		if (s->window[layout->frame_owner & FRAME_MASK] < layout->owner_entry) {
			if (frame_awaits(s, frame))
				return frame;
		} else if (s->window[layout->frame_owner & FRAME_MASK] == layout->owner_entry &&
			   frame > s->walk.user_sp &&
			   *(const u64 *)(s->window + (layout->frame_previous & FRAME_MASK)) ==
				   s->walk.outer_frame) {
			entry = frame;
		}
	}
	return entry;
}

/* Goes on behind a leaf generator that was just suspended; walk.registers are filled. */
static __always_inline void walk_behind_suspended(struct walk_scratch *s)
{
	struct walk *w = &s->walk;
	u64 resumer = walk_find_resumer(w->scratch_id);

	if (!resumer)
		return;
	w->frame = resumer;
	w->window_limit = 0;
	w->status = SAMPLE_EXACT;
	w->reason = SAMPLE_REASON_NONE;
	walk_on(s);
	if (w->status == SAMPLE_EXACT && (!w->entry_seen || w->entry_previous != w->outer_frame))
		walk_stop(w, SAMPLE_REASON_MID_TRANSITION);
}

static __always_inline int walk_is_suspended(const struct walk *w)
{
	return w->suspended && w->status == SAMPLE_TRUNCATED && w->reason == SAMPLE_REASON_MID_TRANSITION &&
	       (w->layout.traits & PY_TRAIT_CFRAME) && (w->layout.traits & PY_TRAIT_OWNER_ENTRY);
}

/* Walks from the thread state in the scratch. Leaves frames, status, reason and walk.frame (where a
 * truncated walk stopped). */
static __always_inline void walk_thread(struct walk_scratch *s)
{
	struct walk *w = &s->walk;
	u64 frame;

	w->base_frame = 0;
	if (w->layout.traits & PY_TRAIT_BASE_FRAME)
		w->base_frame = tstate_u64(s, w->layout.tstate_base_frame);
	if (w->layout.traits & PY_TRAIT_CFRAME) {
		walk_from_cframe(s);
	} else {
		frame = tstate_u64(s, w->layout.tstate_frame);
		if (!frame) {
			walk_none(w, SAMPLE_REASON_NO_FRAMES);
			return;
		}
		walk_run(s, frame);
	}
	if (w->status == SAMPLE_EXACT && !w->frame_cnt)
		walk_none(w, SAMPLE_REASON_NO_FRAMES);
}

#endif
