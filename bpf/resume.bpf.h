/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* What the interrupt could not read (over its frame budget, on a page that is not resident, names included, or of a
 * thread whose state it did not find among thousands) is read when the thread returns to user mode (bpf_task_work,
 * Linux 6.18): in its own context, before it runs another instruction, so what is read is of the sample's
 * instant, and pages may be brought in.
 *
 *   tick: stack cut short ---> slot of the thread free? ---> work scheduled, the sample awaits a ticket
 *   return to user mode ----> same task, image, ip and sp? -> walked again from its leaf --> sent
 *                             page missing? -----------------> scratch given back, page brought in, again
 *
 * Slots are found by thread id and never inserted; a thread whose slot another one holds is counted and
 * left to user space. The walk uses what the interrupt uses, in a scratch of a pool of its own, for it can
 * be preempted; no scratch is held while a page is brought in. Only pages that the kernel brings in by itself
 * are: memory without a file and without userfaultfd, as interpreters' frames are.
 */
#ifndef PANOPY_RESUME_BPF_H
#define PANOPY_RESUME_BPF_H

#include "kernel_compat.bpf.h"
#include "sent_stacks.bpf.h"
#include "stack_take.bpf.h"
#include "vain_search.bpf.h"

enum {
	RESUME_SLOTS = 4096,
	/* Pages brought in for one stack. */
	RESUME_FAULTS = 256,
	/* Scratches of the pool that are tried. */
	RESUME_SCRATCH_TRIES = 8,
	/* How long a stack that was too deep is left to user space. */
	RESUME_TOO_DEEP_NS = 1000000000,
};

/* As the kernel defines it (Linux 6.18, include/uapi/linux/bpf.h). */
struct bpf_task_work {
	u64 opaque;
} __attribute__((aligned(8)));

struct resume_slot {
	struct bpf_task_work work;
	u64 pid_tgid;
	u64 epoch;
	u64 mm;
	u64 ip, sp;
	u64 fault_addr;	 /* of the page to be brought in */
	u64 too_deep_ns; /* when a stack of `pid_tgid` was too deep */
	u32 ticket;
	u32 busy;
	u32 was_user; /* the tick came in user mode: the registers are the thread's own */
	u32 attempt_cnt;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RESUME_SLOTS);
	__type(key, u32);
	__type(value, struct resume_slot);
} resume_slots SEC(".maps");

/* Whether each scratch of the pool is in use. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set at load */
	__type(key, u32);
	__type(value, u32);
} resume_scratches SEC(".maps");

typedef int (*task_work_callback)(struct bpf_map *map, void *key, void *value);

extern int bpf_task_work_schedule_resume_impl(struct task_struct *task, struct bpf_task_work *work, void *map,
					      task_work_callback callback, void *aux) __ksym __weak;
extern int bpf_task_work_schedule_resume(struct task_struct *task, struct bpf_task_work *work, void *map,
					 task_work_callback callback) __ksym __weak;

static __always_inline u32 resume_slot_idx(u32 tid)
{
	return (tid * 2654435761u) >> 20;
}

SHARED_ASSERT(RESUME_SLOTS == 1 << 12, "what resume_slot_idx leaves");

static __always_inline u64 saved_register(const void *regs, u32 off)
{
	u64 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), regs + off);
	return value;
}

static __always_inline void resume_record_begin(struct sample_record *record, const struct resume_slot *slot)
{
	record->hdr.time_ns = bpf_ktime_get_ns();
	record->hdr.kind = RECORD_SAMPLE;
	record->hdr.cpu = bpf_get_smp_processor_id();
	record->hdr.size = sizeof(*record);
	record->epoch = slot->epoch;
	record->tgid = slot->pid_tgid >> 32;
	record->tid = (u32)slot->pid_tgid;
	record->identity = 0;
	record->weight = 0;
	record->frame_cnt = 0;
	record->ticket = slot->ticket;
	record->chunk = 0;
	record->flags = SAMPLE_OF_RESUME;
}

/* Sends the frames in the scratch as chunk number `chunk` and makes room for the next ones. */
static __always_inline void resume_flush(struct walk_scratch *s, u32 chunk, u32 sending)
{
	struct sample_record *record = scratch_sample(s);
	struct walk *w = &s->walk;

	if (sending) {
		record->hdr.time_ns = bpf_ktime_get_ns();
		record->hdr.kind = RECORD_CHUNK;
		record->hdr.size = sizeof(*record) + LIMIT_SAMPLE_FRAMES * sizeof(struct py_frame);
		record->frame_cnt = LIMIT_SAMPLE_FRAMES;
		record->chunk = chunk;
		emit_record(w->ring_base, record,
			    sizeof(*record) + LIMIT_SAMPLE_FRAMES * sizeof(struct py_frame), 0);
		record->hdr.kind = RECORD_SAMPLE;
	}
	w->flushed_cnt += w->frame_cnt;
	w->frame_cnt = 0;
	w->visit_cnt = 0;
	w->status = SAMPLE_EXACT;
	w->reason = SAMPLE_REASON_NONE;
}

/* Walks on behind a full scratch. 0 to go on with the next chunk. */
__noinline int resume_next_chunk(u32 id, u32 chunk, u32 sending)
{
	struct walk_scratch *s = scratch_get(id);

	if (!s || s->walk.status != SAMPLE_TRUNCATED || s->walk.reason != SAMPLE_REASON_BUDGET ||
	    s->walk.frame_cnt != LIMIT_SAMPLE_FRAMES)
		return 1;
	resume_flush(s, chunk, sending);
	walk_on(s);
	return 0;
}

/* In 3.11 and 3.12 the chain must lead to the outer cframe's; the interrupt's walk saw to that in its own
 * part of the stack (cframe_walk.bpf.h). */
static __always_inline void resume_check_cframe(struct walk *w)
{
	if ((w->layout.traits & PY_TRAIT_CFRAME) && w->flushed_cnt && w->status == SAMPLE_EXACT &&
	    (!w->entry_seen || w->entry_previous != w->outer_frame))
		walk_stop(w, SAMPLE_REASON_MID_TRANSITION);
}

/* Out of memory, where the verifier's trail of what a loop's end hangs on ends. At an argument of a global function it
 * takes all scalars to matter, those of dead registers too, and may then refuse the loops of the same function (Linux
 * 6.18, "verifier bug: global subprog unexpected regs"), or not: that depends on code elsewhere. */
static __always_inline u32 resume_chunk_limit(const struct walk *w)
{
	return *(const volatile u32 *)&w->chunk_limit;
}

/* Walks the thread's stack, all but the last of at most `chunks` parts of it sent if `sending`. */
__noinline int resume_walk(u32 id, u32 slot_idx, u32 chunks, u32 sending)
{
	struct walk_scratch *s = scratch_get(id);
	struct resume_slot *slot = bpf_map_lookup_elem(&resume_slots, &slot_idx);
	struct task_struct *task = bpf_get_current_task_btf();
	struct process_config *config;
	u32 tgid, tid;
	const void *regs;
	int reason;

	if (!s || !slot)
		return 0;
	tgid = slot->pid_tgid >> 32;
	tid = slot->pid_tgid;
	config = bpf_map_lookup_elem(&processes, &tgid);
	if (!config)
		return 0;
	regs = (const void *)bpf_task_pt_regs(task);
	s->walk.scratch_id = id;
	s->walk.ring_base = cfg.cpu_cnt;
	s->walk.frame_limit = LIMIT_SAMPLE_FRAMES;
	stack_begin(&s->walk, &config->layout, slot->epoch, config->runtime_addr);
	s->walk.search_limit = LIMIT_RESUME_THREAD_SCAN;
	s->walk.chunk_limit = chunks;
	s->walk.tgid = tgid;
	s->walk.id_is_native = !THREAD_POINTER_IS_PTHREAD_SELF;
	s->walk.task_id = s->walk.id_is_native ? task_ns_tid(task) : task_thread_pointer(task);
	s->walk.user_sp = slot->sp;
	resume_record_begin(scratch_sample(s), slot);
	bpf_get_current_comm(scratch_sample(s)->comm, LIMIT_COMM_SZ);
	reason = stack_walk(s, tid);
	if (s->walk.searched && reason == SAMPLE_REASON_NO_THREAD_STATE)
		doubt_vain_search(id, tid);
	if (walk_is_suspended(&s->walk) && slot->was_user) {
		bpf_probe_read_kernel(s->walk.registers, REGS_CNT * sizeof(u64), regs);
		walk_behind_suspended(s);
	}
	for (u32 chunk = 0; chunk < LIMIT_RESUME_CHUNKS - 1 && chunk + 1 < resume_chunk_limit(&s->walk);
	     chunk++) {
		if (resume_next_chunk(id, chunk, sending))
			break;
	}
	resume_check_cframe(&s->walk);
	stack_finish(s, reason);
	return 1;
}

static __always_inline int resume_send_repeat(struct walk_scratch *s, u64 identity)
{
	struct repeat_record *record = (struct repeat_record *)s->code_record;

	repeat_fill(record, scratch_sample(s), identity);
	return emit_record(s->walk.ring_base, record, sizeof(*record), 0);
}

static __always_inline void resume_send_whole(struct walk_scratch *s, u64 *sent, u64 identity)
{
	struct sample_record *record = scratch_sample(s);
	struct walk *w = &s->walk;
	u32 cnt = w->frame_cnt;
	u32 sz;

	opaque(cnt);
	if (cnt > LIMIT_SAMPLE_FRAMES)
		return;
	sz = sizeof(*record) + cnt * sizeof(struct py_frame);
	record->hdr.time_ns = bpf_ktime_get_ns();
	record->hdr.size = sz;
	record->tstate_addr = w->tstate;
	record->resume_frame = w->status == SAMPLE_TRUNCATED ? w->frame : 0;
	record->frame_cnt = cnt;
	record->chunk = w->flushed_cnt / LIMIT_SAMPLE_FRAMES;
	record->status = w->status == SAMPLE_EXACT ? SAMPLE_COMPLETED : w->status;
	record->reason = w->reason;
	record->identity = identity;
	if (emit_record(w->ring_base, record, sz, w->status == SAMPLE_TRUNCATED) && identity)
		*sent = identity;
}

/* Sends what the walk found. 0 for a stack of several chunks that is not known yet: those are to be sent
 * first, by another walk. */
__noinline int resume_send(u32 id, u32 chunks_sent)
{
	struct walk_scratch *s = scratch_get(id);
	u64 identity;
	u64 *sent;
	u32 idx;

	if (!s)
		return 0;
	identity = stack_identity(&s->walk);
	idx = stack_slot_idx(identity);
	sent = bpf_map_lookup_elem(&sent_stacks, &idx);
	if (!sent)
		return 0;
	if (identity && *sent == identity) {
		if (resume_send_repeat(s, identity))
			stat_add(BPF_STAT_REPEATS, 1);
	} else {
		if (s->walk.flushed_cnt && !chunks_sent)
			return 0;
		resume_send_whole(s, sent, identity);
	}
	stat_add(BPF_STAT_RESUMES, 1);
	stat_add(BPF_STAT_FRAMES, s->walk.flushed_cnt + s->walk.frame_cnt);
	return 1;
}

__noinline int resume_give_up(u32 slot_idx, u32 stat)
{
	const struct resume_slot *slot = bpf_map_lookup_elem(&resume_slots, &slot_idx);
	struct sample_record record = {};

	stat_add(stat, 1);
	if (!slot)
		return 0;
	resume_record_begin(&record, slot);
	record.flags = SAMPLE_OF_RESUME | SAMPLE_RESUME_FAILED;
	record.status = SAMPLE_TRUNCATED;
	return emit_record(cfg.cpu_cnt, &record, sizeof(record), 0);
}

/* The number of a free scratch of the pool, now taken, or ~0. */
static __always_inline u32 resume_scratch_take(void)
{
	u32 first = bpf_get_smp_processor_id();

	for (u32 i = 0; i < RESUME_SCRATCH_TRIES; i++) {
		u32 idx = first + i, *busy;

		if (idx >= cfg.resume_scratch_cnt)
			idx -= cfg.resume_scratch_cnt;
		busy = bpf_map_lookup_elem(&resume_scratches, &idx);
		if (busy && !__sync_val_compare_and_swap(busy, 0, 1))
			return idx;
	}
	return ~0u;
}

static __always_inline void resume_scratch_give(u32 idx)
{
	u32 *busy = bpf_map_lookup_elem(&resume_scratches, &idx);

	if (busy)
		__sync_fetch_and_and(busy, 0);
}

enum resume_result { RESUME_SENT, RESUME_NO_BUFFER, RESUME_FAULT, RESUME_FAILED };

/* One walk in a scratch of the pool; at a missing page slot->fault_addr says where. */
__noinline int resume_attempt(u32 slot_idx)
{
	u32 idx = resume_scratch_take();
	u32 id = cfg.cpu_cnt + idx;
	struct walk_scratch *s;
	struct resume_slot *slot = bpf_map_lookup_elem(&resume_slots, &slot_idx);
	int result = RESUME_SENT;

	if (idx == ~0u)
		return RESUME_NO_BUFFER;
	s = scratch_get(id);
	if (!s || !slot || !resume_walk(id, slot_idx, LIMIT_RESUME_CHUNKS, 0)) {
		result = RESUME_FAILED;
	} else if (s->walk.status == SAMPLE_TRUNCATED && s->walk.reason == SAMPLE_REASON_PAGE_FAULT) {
		slot->fault_addr = s->walk.fault_addr;
		result = RESUME_FAULT;
	} else {
		if (s->walk.status == SAMPLE_TRUNCATED && s->walk.reason == SAMPLE_REASON_BUDGET) {
			slot->too_deep_ns = bpf_ktime_get_ns();
			resume_walk(id, slot_idx, 1, 0);
		}
		if (!resume_send(id, 0)) {
			resume_walk(id, slot_idx, LIMIT_RESUME_CHUNKS, 1);
			resume_send(id, 1);
		}
	}
	resume_scratch_give(idx);
	return result;
}

static __always_inline int resume_is_still(const struct resume_slot *slot, struct task_struct *task)
{
	const void *regs = (const void *)bpf_task_pt_regs(task);
	u32 tgid = slot->pid_tgid >> 32;
	const struct process_config *config = bpf_map_lookup_elem(&processes, &tgid);

	return bpf_get_current_pid_tgid() == slot->pid_tgid && config && config->epoch == slot->epoch &&
	       (u64)BPF_CORE_READ(task, mm) == slot->mm && saved_register(regs, REGS_IP_OFF) == slot->ip &&
	       saved_register(regs, REGS_SP_OFF) == slot->sp;
}

/* Whether the kernel can bring in a page there by itself. A program that answers page faults (userfaultfd, FUSE)
 * may take for ever, and the thread would hang where without us it would not even have looked. */
static long resume_look_at_mapping(struct task_struct *task, struct vm_area_struct *vma,
				   void *ret_is_anonymous)
{
	*(u32 *)ret_is_anonymous = !BPF_CORE_READ(vma, vm_file) && !mapping_is_watched(vma);
	return 0;
}

static __always_inline u32 resume_may_touch(u64 addr)
{
	u32 is_anonymous = 0;

	bpf_find_vma(bpf_get_current_task_btf(), addr, resume_look_at_mapping, &is_anonymous, 0);
	return is_anonymous;
}

/* Brings in the page of the address, and the next one where a frame there would reach into it. */
static __always_inline long resume_touch(u64 addr)
{
	u8 byte;

	if (!resume_may_touch(addr) || !resume_may_touch(addr + LIMIT_FRAME_SPAN - 1))
		return -1;
	if (bpf_copy_from_user(&byte, sizeof(byte), (const void *)addr))
		return -1;
	stat_add(BPF_STAT_RESUME_FAULTS, 1);
	bpf_copy_from_user(&byte, sizeof(byte), (const void *)(addr + LIMIT_FRAME_SPAN - 1));
	return 0;
}

static int on_resume(struct bpf_map *map, void *key, void *value)
{
	struct resume_slot *slot = value;
	u64 start = bpf_ktime_get_ns();
	u32 slot_idx = resume_slot_idx((u32)slot->pid_tgid);
	int result = RESUME_FAULT;

	if (!resume_is_still(slot, bpf_get_current_task_btf())) {
		resume_give_up(slot_idx, BPF_STAT_RESUME_MOVED_ON);
		goto out;
	}
	slot->attempt_cnt = 0;
	while (result == RESUME_FAULT && slot->attempt_cnt < RESUME_FAULTS && loop_may_go_on()) {
		slot->attempt_cnt++;
		result = resume_attempt(slot_idx);
		if (result == RESUME_FAULT && resume_touch(slot->fault_addr))
			result = RESUME_FAILED;
	}
	if (result == RESUME_NO_BUFFER)
		resume_give_up(slot_idx, BPF_STAT_RESUME_NO_BUFFER);
	else if (result != RESUME_SENT)
		resume_give_up(slot_idx, BPF_STAT_RESUME_FAILED);
out:
	stat_add(BPF_STAT_RESUME_NS, bpf_ktime_get_ns() - start);
	__sync_fetch_and_and(&slot->busy, 0);
	return 0;
}

static __always_inline int resume_schedule(struct task_struct *task, struct resume_slot *slot)
{
	if (cfg.task_work == SAMPLER_TASK_WORK_IMPL)
		return bpf_task_work_schedule_resume_impl(task, &slot->work, &resume_slots, on_resume, NULL);
	if (cfg.task_work == SAMPLER_TASK_WORK_PLAIN)
		return bpf_task_work_schedule_resume(task, &slot->work, &resume_slots, on_resume);
	return -1;
}

/* Status and reason in one. */
#define RESUME_END(status, reason) ((u32)(status) << 8 | (reason))

/* Whether the walk ended where a later one can do better. */
static __always_inline int resume_would_help(const struct walk *w)
{
	u32 end = RESUME_END(w->status, w->reason);

	/* Status and reason looked at one by one meet an internal error of 6.18's verifier. */
	opaque(end);
	return end == RESUME_END(SAMPLE_NONE, SAMPLE_REASON_THREAD_SCAN) ||
	       end == RESUME_END(SAMPLE_TRUNCATED, SAMPLE_REASON_BUDGET) ||
	       end == RESUME_END(SAMPLE_TRUNCATED, SAMPLE_REASON_PAGE_FAULT) ||
	       /* The page that a forked child writes to is nowhere while the kernel copies it. */
	       end == RESUME_END(SAMPLE_NONE, SAMPLE_REASON_STATE_FAULT) ||
	       (end == RESUME_END(SAMPLE_EXACT, SAMPLE_REASON_NONE) && w->code_faulted);
}

static __always_inline void resume_fill(struct resume_slot *slot, const struct walk *w, u64 pid_tgid,
					struct task_struct *task, int was_user)
{
	const void *regs = (const void *)bpf_task_pt_regs(task);

	slot->pid_tgid = pid_tgid;
	slot->epoch = w->epoch;
	slot->mm = (u64)BPF_CORE_READ(task, mm);
	slot->ip = saved_register(regs, REGS_IP_OFF);
	slot->sp = saved_register(regs, REGS_SP_OFF);
	slot->was_user = was_user;
	if (!++slot->ticket)
		slot->ticket = 1;
}

/* In the tick: the ticket under which the rest will come, or 0. Ticks that hit the thread again before it
 * returned to user mode share it: its stack is still the same. */
static __always_inline u32 resume_ask(const struct walk *w, u64 pid_tgid, u64 now, int was_user)
{
	u32 slot_idx = resume_slot_idx((u32)pid_tgid);
	struct resume_slot *slot = bpf_map_lookup_elem(&resume_slots, &slot_idx);
	struct task_struct *task = bpf_get_current_task_btf();

	if (!slot)
		return 0;
	if (slot->pid_tgid == pid_tgid && slot->too_deep_ns && now - slot->too_deep_ns < RESUME_TOO_DEEP_NS)
		return 0;
	if (__sync_val_compare_and_swap(&slot->busy, 0, 1)) {
		if (slot->pid_tgid == pid_tgid && slot->epoch == w->epoch)
			return slot->ticket;
		stat_add(BPF_STAT_RESUME_NO_SLOT, 1);
		return 0;
	}
	if (slot->pid_tgid != pid_tgid)
		slot->too_deep_ns = 0;
	resume_fill(slot, w, pid_tgid, task, was_user);
	if (!resume_schedule(task, slot))
		return slot->ticket;
	stat_add(BPF_STAT_RESUME_REFUSED, 1);
	__sync_fetch_and_and(&slot->busy, 0);
	return 0;
}

#endif
