/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Finds the PyThreadState of the interrupted thread.
 *
 * A state is the thread's own if
 *  - its id field equals the thread's (thread_id against the thread pointer on x86-64, where a forked
 *    child keeps its parent's; native_thread_id against the namespaced tid elsewhere),
 *  - from 3.12 on its _status.bound_gilstate is set: a thread that runs a sub-interpreter has several
 *    states with the same ids, and that bit moves to the current one (CPython 3.12, Python/pystate.c,
 *    bind_gilstate_tstate). Up to 3.12 another thread may run it under these ids (PyThreadState_Swap): where its
 *    frames lie tells from 3.11 on (walk_entry, cframe_check_place), and whose it is then (tstate_runs_here);
 *    before nothing does,
 *  - it is linked: the previous state's `next`, or the interpreter's list head, points at it. A freed
 *    state keeps its ids but not its place in the list.
 * Up to 3.11 with several interpreters only the holder of the GIL can be told (gilstate.tstate_current).
 */
#ifndef PANOPY_THREAD_STATE_BPF_H
#define PANOPY_THREAD_STATE_BPF_H

#include "cpython_facts.h"
#include "fingerprint.h"
#include "loops.bpf.h"
#include "maps.bpf.h"
#include "scratch.bpf.h"
#include "thread_slot.h"
#include "user_mem.bpf.h"

enum {
	TSTATE_MASK = LIMIT_TSTATE_SPAN - 1,
	TSTATE_BOUND_GILSTATE = PY_STATUS_BOUND_GILSTATE,
	/* Steps of a search in the interrupt, and a multiple of LOOP_STRIDE that holds them. */
	THREAD_SEARCH_STEPS = LIMIT_THREAD_SCAN + LIMIT_INTERP_SCAN,
#if LOOPS == LOOPS_MAY_GOTO
	/* Outside of it (resume.bpf.h). */
	THREAD_SEARCH_ROUNDS = LIMIT_RESUME_THREAD_SCAN,
#else
	THREAD_SEARCH_ROUNDS = 128,
#endif
};

/* A vain search stands no longer, for a state may be linked before it has its thread's id (of a thread that is
 * younger it does not stand at all: vain_search.bpf.h), and a new one may lie where the list's head was before. */
#define THREAD_UNKNOWN_NS 100000000ULL

/* What a step of the search says. */
enum { SEARCH_ON = 0, SEARCH_FOUND = 1, SEARCH_END = 2, SEARCH_FAULT = 3 };

SHARED_ASSERT(THREAD_SEARCH_ROUNDS >= THREAD_SEARCH_STEPS, "as many as are promised");

static __always_inline u64 tstate_u64(const struct walk_scratch *s, u16 off)
{
	return *(const u64 *)(s->tstate + (off & TSTATE_MASK));
}

/* Reads the state at `addr` into the scratch; 0 or an error. */
static __always_inline long tstate_read(struct walk_scratch *s, u64 addr)
{
	u32 sz = s->walk.layout.tstate_sz & TSTATE_MASK;

	return user_read(s->tstate, sz, addr);
}

/* Whether the evaluation that the state in the scratch is in has its cframe on the thread's C stack (3.11, 3.12): the
 * thread runs it, whosever ids it has. */
static __always_inline int tstate_runs_here(const struct walk_scratch *s)
{
	u64 cframe = tstate_u64(s, s->walk.layout.tstate_frame);

	return (s->walk.layout.traits & PY_TRAIT_CFRAME) && s->walk.stack_end != WALK_STACK_UNKNOWN &&
	       cframe > s->walk.user_sp && cframe < s->walk.stack_end;
}

/* Whether the state in the scratch carries the thread's id, or runs on its stack (and is its current one). */
static __always_inline int tstate_is_mine(struct walk_scratch *s)
{
	const struct py_layout *layout = &s->walk.layout;
	u16 id_off = s->walk.id_is_native ? layout->tstate_native_thread_id : layout->tstate_thread_id;

	if (tstate_u64(s, id_off) == s->walk.task_id)
		s->walk.id_seen = 1;
	else if (!tstate_runs_here(s))
		return 0;
	if (layout->traits & PY_TRAIT_BOUND_GILSTATE)
		return !!((u32)tstate_u64(s, layout->tstate_status) & TSTATE_BOUND_GILSTATE);
	return 1;
}

static __always_inline int tstate_is_linked(const struct walk_scratch *s, u64 addr)
{
	const struct py_layout *layout = &s->walk.layout;
	u64 previous = tstate_u64(s, layout->tstate_prev);
	u64 link = 0;

	if (previous)
		previous += layout->tstate_next;
	else
		previous = tstate_u64(s, layout->tstate_interp) + layout->interp_threads_head;
	if (user_read(&link, sizeof(link), previous))
		return 0;
	return link == addr;
}

/* One step of the search: looks at walk.tstate, moves on to the next. */
__noinline int thread_search_step(u32 id)
{
	struct walk_scratch *s = scratch_get(id);
	u64 head = 0;

	if (!s)
		return SEARCH_FAULT;
	if (!s->walk.tstate) {
		if (s->walk.interp &&
		    user_read(&s->walk.interp, sizeof(u64), s->walk.interp + s->walk.layout.interp_next))
			return SEARCH_FAULT;
		if (!s->walk.interp)
			return SEARCH_END;
		s->walk.interp_cnt++;
		if (user_read(&head, sizeof(head), s->walk.interp + s->walk.layout.interp_threads_head))
			return SEARCH_FAULT;
		s->walk.tstate = head;
		return SEARCH_ON;
	}
	if (tstate_read(s, s->walk.tstate))
		return SEARCH_FAULT;
	if (tstate_is_mine(s) && tstate_is_linked(s, s->walk.tstate))
		return SEARCH_FOUND;
	s->walk.tstate = tstate_u64(s, s->walk.layout.tstate_next);
	return SEARCH_ON;
}

static __always_inline int thread_search_round(struct walk_scratch *s, u32 i)
{
	if (i >= s->walk.search_limit)
		return 1;
	s->walk.search_result = thread_search_step(s->walk.scratch_id);
	return s->walk.search_result;
}

DEFINE_LOOP(thread_search_steps, thread_search_round, THREAD_SEARCH_ROUNDS)

/* Up to 3.11 with more than one interpreter the search alone proves nothing; see the head of this file. */
static __always_inline int thread_is_ambiguous(struct walk_scratch *s)
{
	const struct py_layout *layout = &s->walk.layout;
	u64 interp = 0, next = 0, holder = 0;

	if (layout->traits & PY_TRAIT_BOUND_GILSTATE)
		return 0;
	if (user_read(&interp, sizeof(interp), s->walk.runtime_addr + layout->runtime_interpreters_head) ||
	    user_read(&next, sizeof(next), interp + layout->interp_next))
		return 1;
	if (!next)
		return 0;
	if (user_read(&holder, sizeof(holder), s->walk.runtime_addr + layout->runtime_gilstate_current))
		return 1;
	if (holder == s->walk.tstate)
		return 0;
	/* Another state may be the thread's current one: take the holder if it is this thread's. */
	if (!holder || tstate_read(s, holder) || !tstate_is_mine(s)) {
		tstate_read(s, s->walk.tstate);
		return 1;
	}
	s->walk.tstate = holder;
	return 0;
}

/* Walks every interpreter's thread list from the head, where new threads are linked. */
static __always_inline int thread_search(struct walk_scratch *s, struct thread_slot *slot, u64 owner)
{
	u64 head = 0;

	s->walk.tstate = 0;
	s->walk.interp = 0;
	s->walk.interp_cnt = 0;
	s->walk.id_seen = 0;
	if (user_read(&head, sizeof(head), s->walk.runtime_addr + s->walk.layout.runtime_interpreters_head))
		return SAMPLE_REASON_STATE_FAULT;
	if (!head)
		return SAMPLE_REASON_NOT_INITIALIZED;
	s->walk.interp = head;
	if (user_read(&head, sizeof(head), head + s->walk.layout.interp_threads_head))
		return SAMPLE_REASON_STATE_FAULT;
	s->walk.tstate = head;
	s->walk.search_result = SEARCH_ON;
	thread_search_steps(s);
	if (s->walk.search_result == SEARCH_ON)
		return SAMPLE_REASON_THREAD_SCAN;
	if (s->walk.search_result == SEARCH_FAULT)
		return SAMPLE_REASON_STATE_FAULT;
	if (s->walk.search_result == SEARCH_FOUND) {
		slot->owner = owner;
		slot->tstate = s->walk.tstate;
		return 0;
	}
	/* A state that has the ids but is not the current one may become it with no change to any list; and where
	 * there are several interpreters, one may be linked behind the first one's head. */
	slot->owner = s->walk.id_seen || s->walk.interp_cnt ? 0 : owner;
	slot->tstate = 0;
	slot->threads_head = head;
	slot->until_ns = scratch_sample(s)->hdr.time_ns + THREAD_UNKNOWN_NS;
	return SAMPLE_REASON_NO_THREAD_STATE;
}

/* Whether a vain search still stands: the list has the same head, and that is not this thread's. */
static __always_inline int thread_still_unknown(struct walk_scratch *s, const struct thread_slot *slot)
{
	u64 interp = 0, head = 0;

	if (scratch_sample(s)->hdr.time_ns > slot->until_ns)
		return 0;
	if (user_read(&interp, sizeof(interp),
		      s->walk.runtime_addr + s->walk.layout.runtime_interpreters_head) ||
	    user_read(&head, sizeof(head), interp + s->walk.layout.interp_threads_head))
		return 0;
	if (!head || head != slot->threads_head || tstate_read(s, head))
		return 0;
	return !tstate_is_mine(s);
}

/* Fills walk.tstate and the scratch's copy of the state. 0 or enum sample_reason. A function of its own, for the
 * stacks of all that call each other may hold 512 bytes. */
__noinline int thread_state_find(u32 id, u32 tid)
{
	struct walk_scratch *s = scratch_get(id);
	u32 slot_idx = thread_slot_idx(tid);
	struct thread_slot *slot = bpf_map_lookup_elem(&thread_slots, &slot_idx);
	u64 owner;
	int reason;

	if (!s || !slot)
		return SAMPLE_REASON_STATE_FAULT;
	owner = thread_slot_owner(s->walk.epoch, tid);
	if (slot->owner == owner) {
		s->walk.tstate = slot->tstate;
		if (s->walk.tstate && !tstate_read(s, s->walk.tstate) && tstate_is_mine(s) &&
		    tstate_is_linked(s, s->walk.tstate))
			goto found;
		if (!slot->tstate && thread_still_unknown(s, slot)) {
			s->walk.tstate = 0;
			return SAMPLE_REASON_NO_THREAD_STATE;
		}
	}
	s->walk.searched = 1;
	reason = thread_search(s, slot, owner);
	if (reason)
		return reason;
found:
	reason = thread_is_ambiguous(s) ? SAMPLE_REASON_AMBIGUOUS_STATE : 0;
	s->walk.interp = tstate_u64(s, s->walk.layout.tstate_interp);
	return reason;
}

#endif
