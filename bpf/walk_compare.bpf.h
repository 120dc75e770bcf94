/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* A test of the walk inside the same sample (cfg.compare): what went by windows is walked once more frame by
 * frame, each read on its own and none of the walk's checks applied, and must be the same frames in the same
 * order. Not even loaded otherwise.
 */
#ifndef PANOPY_WALK_COMPARE_BPF_H
#define PANOPY_WALK_COMPARE_BPF_H

#include "bpf_stats.h"
#include "cframe_walk.bpf.h"
#include "maps.bpf.h"

static __always_inline int frame_equals(const struct walk_scratch *s, const struct py_frame *frame)
{
	const struct py_layout *layout = &s->walk.layout;
	u64 code = *(const u64 *)(s->window + (layout->frame_executable & FRAME_MASK));
	u64 instr = *(const u64 *)(s->window + (layout->frame_instr & FRAME_MASK));

	if (frame->code != (code & s->walk.code_mask))
		return 0;
	if (layout->traits & PY_TRAIT_FRAME_OBJECT)
		return frame->instr_off == object_instr_off(layout, instr);
	/* There the offset is one in a copy of the bytecode. */
	return layout->code_tlbc ||
	       frame->instr_off == (s32)(instr - frame->code - layout->code_code_adaptive);
}

/* One frame of the second walk; 1 when it is over. */
__noinline int walk_compare_step(u32 id)
{
	struct walk_scratch *s = scratch_get(id);
	const struct py_layout *layout;
	struct walk *w;

	if (!s)
		return 1;
	w = &s->walk;
	layout = &w->layout;
	if (!w->naive_frame || w->naive_frame == w->base_frame)
		return 1;
	if (user_read(s->window, layout->frame_sz & FRAME_MASK, w->naive_frame)) {
		w->naive_differs = w->naive_cnt < w->frame_cnt;
		return 1;
	}
	w->naive_frame = *(const u64 *)(s->window + (layout->frame_previous & FRAME_MASK));
	if ((layout->traits & PY_TRAIT_OWNER_ENTRY) &&
	    s->window[layout->frame_owner & FRAME_MASK] >= layout->owner_entry)
		return 0;
	if (w->naive_cnt >= w->frame_cnt) {
		w->naive_differs = w->status == SAMPLE_EXACT;
		return 1;
	}
	w->naive_differs = !frame_equals(s, scratch_frame(s, w->naive_cnt));
	w->naive_cnt++;
	return w->naive_differs;
}

static __always_inline int walk_compare_round(struct walk_scratch *s, u32 i)
{
	(void)i;
	return walk_compare_step(s->walk.scratch_id);
}

DEFINE_LOOP(walk_compare_steps, walk_compare_round, LIMIT_WALK_VISITS)

/* Behind walk_thread(). The window's content is lost. */
static __always_inline void walk_compare(struct walk_scratch *s)
{
	struct walk *w = &s->walk;

	if (w->status == SAMPLE_NONE)
		return;
	w->naive_frame = w->first_frame;
	w->naive_cnt = 0;
	w->naive_differs = 0;
	walk_compare_steps(s);
	stat_add(BPF_STAT_COMPARED, 1);
	if (w->naive_differs || w->naive_cnt != w->frame_cnt)
		stat_add(BPF_STAT_COMPARED_DIFFERENT, 1);
}

#endif
