/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* One stack, from the thread's state to its identity: the steps in their order. tests/replay takes them
 * too, over stored memory.
 */
#ifndef PANOPY_STACK_TAKE_BPF_H
#define PANOPY_STACK_TAKE_BPF_H

#include "cframe_walk.bpf.h"
#include "code_object.bpf.h"
#include "cpython_facts.h"
#include "thread_state.bpf.h"
#include "walk_compare.bpf.h"

/* Makes the scratch ready; what the caller knows of the thread it fills in behind this. */
static __always_inline void stack_begin(struct walk *w, const struct py_layout *layout, u64 epoch,
					u64 runtime_addr)
{
	walk_reset(w);
	w->layout = *layout;
	w->epoch = epoch;
	w->runtime_addr = runtime_addr;
	w->code_mask = layout->traits & PY_TRAIT_TAGGED_EXECUTABLE ? ~(u64)PY_EXECUTABLE_TAG_BITS : ~0ULL;
	w->sequence++;
	w->search_limit = THREAD_SEARCH_STEPS;
	w->tstate = 0;
	w->interp = 0;
	w->frame = 0;
	w->read_cnt = 0;
	w->new_code_cnt = 0;
	w->unread_cnt = 0;
	w->unread_code = 0;
	w->code_faulted = 0;
	w->searched = 0;
	w->filename_addr = 0;
	w->flushed_cnt = 0;
}

/* pthread_create() puts the thread's descriptor, which the thread pointer is, on top of its stack (glibc,
 * nptl/allocatestack.c; musl, src/thread/pthread_create.c). The first thread's stack is the process's; above it
 * there is no other. */
static __always_inline u64 thread_stack_end(const struct walk *w, u32 tid)
{
	return tid != w->tgid && !w->id_is_native && w->user_sp < w->task_id ? w->task_id
									     : WALK_STACK_UNKNOWN;
}

/* Finds the thread's state and walks its frames. Returns what stack_finish() wants to know. */
static __always_inline int stack_walk(struct walk_scratch *s, u32 tid)
{
	struct walk *w = &s->walk;
	int reason;

	w->stack_end = thread_stack_end(w, tid);
	reason = thread_state_find(w->scratch_id, tid);
	if (reason && reason != SAMPLE_REASON_AMBIGUOUS_STATE) {
		w->tstate = 0;
		walk_none(w, reason);
		return reason;
	}
	w->salt = fingerprint_mix(fingerprint_mix(cfg.hash_key, w->epoch), w->interp);
	code_proof_read(s);
	walk_thread(s);
	if (cfg.compare)
		walk_compare(s);
	return reason;
}

/* Daemon threads may run on while the interpreter frees their states (CPython, Python/pylifecycle.c):
 * only the finalising thread itself is exact from then on. Why the stack cannot be vouched for, or 0. */
static __always_inline u8 runtime_doubt(struct walk *w)
{
	u64 finalizing = 0;

	if (user_read(&finalizing, sizeof(finalizing), w->runtime_addr + w->layout.runtime_finalizing)) {
		w->fault_addr = w->runtime_addr + w->layout.runtime_finalizing;
		return SAMPLE_REASON_PAGE_FAULT;
	}
	return finalizing && finalizing != w->tstate ? SAMPLE_REASON_FINALIZING : 0;
}

/* What makes a whole walk less than exact. */
static __always_inline void stack_finish(struct walk_scratch *s, int reason)
{
	struct walk *w = &s->walk;
	u8 doubt;

	if (w->status == SAMPLE_NONE)
		return;
	doubt = reason ? reason : runtime_doubt(w);
	if (doubt && (w->status == SAMPLE_EXACT || doubt == SAMPLE_REASON_FINALIZING))
		walk_stop(w, doubt);
}

/* 0 for a stack that is not to be referred to: not exact, or with a frame that could not be told apart. */
static __always_inline u64 stack_identity(const struct walk *w)
{
	if (w->status != SAMPLE_EXACT || w->unread_cnt)
		return 0;
	/* The salt carries key, epoch and interpreter. */
	return fingerprint_mix(w->salt ^ w->identity, w->flushed_cnt + w->frame_cnt);
}

#endif
