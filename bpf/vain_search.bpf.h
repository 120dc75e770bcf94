/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* What a search in vain for a thread's PyThreadState is worth, beside what thread_state.bpf.h can tell from memory. */
#ifndef PANOPY_VAIN_SEARCH_BPF_H
#define PANOPY_VAIN_SEARCH_BPF_H

#include "kernel_compat.bpf.h"
#include "thread_state.bpf.h"

/* Of a thread so young that its state may be linked and not have its id yet, a vain search does not stand. Not inlined,
 * for the walk needs the stack. */
static __noinline int doubt_vain_search(u32 id, u32 tid)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	u32 slot_idx = thread_slot_idx(tid);
	struct thread_slot *slot = bpf_map_lookup_elem(&thread_slots, &slot_idx);
	struct walk_scratch *s = scratch_get(id);

	if (s && slot && task_age_ns(task, scratch_sample(s)->hdr.time_ns) < THREAD_UNKNOWN_NS)
		slot->owner = 0;
	return 0;
}

#endif
