/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Steps along the frames of CPython 3.6 to 3.10: objects of the heap (PyFrameObject), linked by f_back, read one
 * at a time.
 *
 * tstate->frame is set behind everything else of a frame and set back before the frame is left
 * (_PyEval_EvalFrameDefault, Python/ceval.c), and a generator's f_back is set before its evaluation begins and
 * cleared after it has ended (gen_send_ex, Objects/genobject.c). So from tstate->frame on every f_back is that
 * of a running frame, and NULL is the root's: the chain of any instant is whole, with one exception.
 *
 * _gen_throw (Objects/genobject.c) makes a generator's frame current without its evaluation: 3.9 without its
 * f_back, for as long as the exception is on its way to the inner generator; 3.10 clears f_back before it makes
 * the caller current again. So a chain that ends at a generator's frame is not called whole. (The root of a
 * thread that C code started right in a generator is flagged, too.)
 */
#ifndef PANOPY_OBJECT_WALK_BPF_H
#define PANOPY_OBJECT_WALK_BPF_H

#include "scratch.bpf.h"
#include "user_mem.bpf.h"
#include "walk_emit.bpf.h"

/* f_lasti in bytes. */
static __always_inline s32 object_instr_off(const struct py_layout *layout, u64 lasti)
{
	/* Opaque, or clang makes a signed multiplication of it that the verifier tracks. */
	u32 off = (u32)lasti;

	return (s32)(layout->traits & PY_TRAIT_LASTI_UNITS ? off << 1 : off);
}

/* Whether the chain came back to a frame that was met before (Brent): heap addresses have no order. */
static __always_inline int object_is_cycle(struct walk *w)
{
	if (w->frame == w->mark)
		return 1;
	if (!(w->visit_cnt & (w->visit_cnt - 1)))
		w->mark = w->frame;
	return 0;
}

/* The frame whose bytes are in the window. enum walk_next. */
static __always_inline int walk_object_frame(struct walk_scratch *s)
{
	struct walk *w = &s->walk;
	const struct py_layout *layout = &w->layout;
	const u8 *p = s->window;
	u64 type = *(const u64 *)(p + (layout->object_type & FRAME_MASK));
	u64 code = *(const u64 *)(p + (layout->frame_executable & FRAME_MASK));
	u64 previous = *(const u64 *)(p + (layout->frame_previous & FRAME_MASK));
	u64 lasti = *(const u64 *)(p + (layout->frame_instr & FRAME_MASK));
	u64 generator = *(const u64 *)(p + (layout->frame_owner & FRAME_MASK));
	u32 fingerprint;

	/* Before any note is made of the frame: the walk may go on with it (resume.bpf.h). */
	if (w->frame_cnt >= w->frame_limit || w->frame_cnt >= LIMIT_SAMPLE_FRAMES) {
		walk_stop(w, SAMPLE_REASON_BUDGET);
		return WALK_OVER;
	}
	if (!w->frame_type)
		w->frame_type = type;
	if (!type || type != w->frame_type) {
		walk_stop(w, SAMPLE_REASON_BAD_POINTER);
		return WALK_OVER;
	}
	if (!code) {
		walk_stop(w, SAMPLE_REASON_MID_TRANSITION);
		return WALK_OVER;
	}
	fingerprint = code_slot_fingerprint(s, code);
	if (walk_wants_code(w, code, fingerprint))
		return WALK_WANTS_CODE;
	if (object_is_cycle(w)) {
		walk_stop(w, SAMPLE_REASON_CYCLE);
		return WALK_OVER;
	}
	walk_emit(s, code, object_instr_off(layout, lasti), fingerprint);
	w->frame = previous;
	if (previous)
		return WALK_ON;
	w->ended = !generator;
	if (generator)
		walk_stop(w, SAMPLE_REASON_MID_TRANSITION);
	return WALK_OVER;
}

/* One step: the frame at walk.frame. */
static __always_inline int walk_object(struct walk_scratch *s)
{
	struct walk *w = &s->walk;

	w->read_cnt++;
	if (++w->visit_cnt > LIMIT_WALK_VISITS) {
		walk_stop(w, SAMPLE_REASON_BUDGET);
		return WALK_OVER;
	}
	if (user_read(s->window, w->layout.frame_sz & FRAME_MASK, w->frame)) {
		w->fault_addr = w->frame;
		walk_stop(w, SAMPLE_REASON_PAGE_FAULT);
		return WALK_OVER;
	}
	return walk_object_frame(s);
}

#endif
