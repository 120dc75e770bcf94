// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/* The sampling program: one tick of one CPU's timer. */
#include "shared_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "config.bpf.h"
#include "emit.bpf.h"
#include "kernel_compat.bpf.h"
#include "maps.bpf.h"
#include "selection.bpf.h"
#include "sent_stacks.bpf.h"
#include "stack_take.bpf.h"
#include "tick.bpf.h"
#include "vain_search.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#if LOOPS == LOOPS_MAY_GOTO
#include "resume.bpf.h"
#endif

/* Whether the task still runs the image that the entry describes. */
static __always_inline int image_is_current(struct process_config *config, struct task_struct *task)
{
	u64 mm = (u64)BPF_CORE_READ(task, mm);

	if (!config->mm)
		config->mm = mm;
	return mm && config->mm == mm;
}

static __always_inline void sample_begin(struct walk_scratch *s, const struct process_config *config,
					 u64 pid_tgid, u64 now, u16 weight)
{
	struct sample_record *record = scratch_sample(s);
	struct walk *w = &s->walk;
	u32 cpu = bpf_get_smp_processor_id();

	w->scratch_id = cpu;
	w->ring_base = 0;
	w->frame_limit = cfg.kernel_frames;
	stack_begin(w, &config->layout, config->epoch, config->runtime_addr);
	w->tgid = pid_tgid >> 32;

	record->hdr.time_ns = now;
	record->hdr.kind = RECORD_SAMPLE;
	record->hdr.cpu = cpu;
	record->epoch = config->epoch;
	record->tgid = pid_tgid >> 32;
	record->tid = (u32)pid_tgid;
	record->weight = weight;
	bpf_get_current_comm(record->comm, sizeof(record->comm));
}

static __always_inline void sample_take(struct walk_scratch *s, struct bpf_perf_event_data *ctx,
					struct task_struct *task, u32 tid)
{
	struct walk *w = &s->walk;
	int reason;

	w->id_is_native = !THREAD_POINTER_IS_PTHREAD_SELF;
	w->task_id = w->id_is_native ? task_ns_tid(task) : task_thread_pointer(task);
	w->user_sp = task_user_sp(task, ctx);
	reason = stack_walk(s, tid);
	if (w->searched)
		stat_add(BPF_STAT_THREAD_SCANS, 1);
	if (w->searched && reason == SAMPLE_REASON_NO_THREAD_STATE)
		doubt_vain_search(w->scratch_id, tid);
	if (walk_is_suspended(w) && regs_are_user(ctx)) {
		regs_copy(w->registers, ctx);
		walk_behind_suspended(s);
	}
	stack_finish(s, reason);
}

static __always_inline void repeat_send(struct walk_scratch *s, u64 identity)
{
	struct repeat_record *record = (struct repeat_record *)s->code_record;

	repeat_fill(record, scratch_sample(s), identity);
	if (emit_sample(s->walk.ring_base, record, sizeof(*record), 0))
		stat_add(BPF_STAT_REPEATS, 1);
}

/* `ticket`: under which the whole stack will come, or 0. */
static __always_inline void sample_send(struct walk_scratch *s, u32 ticket)
{
	struct sample_record *record = scratch_sample(s);
	u64 *sent, identity = stack_identity(&s->walk);
	u32 cnt = s->walk.frame_cnt;
	u32 sz, slot = stack_slot_idx(identity);

	stat_add(BPF_STAT_FRAMES, cnt);
	stat_add(BPF_STAT_WINDOW_READS, s->walk.read_cnt);
	sent = bpf_map_lookup_elem(&sent_stacks, &slot);
	if (!sent)
		return;
	record->ticket = ticket;
	record->chunk = 0;
	record->flags = ticket ? SAMPLE_AWAITS_RESUME : 0;
	record->reserved = 0;
	if (identity && *sent == identity) {
		repeat_send(s, identity);
		return;
	}
	if (ticket && cnt > LIMIT_AWAITING_FRAMES) {
		cnt = LIMIT_AWAITING_FRAMES;
		if (s->walk.status == SAMPLE_EXACT)
			walk_stop(&s->walk, SAMPLE_REASON_PAGE_FAULT);
	}
	opaque(cnt);
	if (cnt > LIMIT_SAMPLE_FRAMES)
		return;
	sz = sizeof(*record) + cnt * sizeof(struct py_frame);
	record->hdr.size = sz;
	record->tstate_addr = s->walk.tstate;
	record->resume_frame = s->walk.status == SAMPLE_TRUNCATED && !ticket ? s->walk.frame : 0;
	record->frame_cnt = cnt;
	record->status = s->walk.status;
	record->reason = s->walk.reason;
	record->identity = identity;
	if (emit_sample(s->walk.ring_base, record, sz, record->resume_frame != 0) && identity)
		*sent = identity;
}

/* Takes and sends the sample of this tick, where the process is one of ours. */
static __always_inline int on_tick(struct bpf_perf_event_data *ctx, u64 pid_tgid, u64 now, u16 weight)
{
	u32 tgid = pid_tgid >> 32;
	struct process_config *config;
	struct walk_scratch *s;
	struct task_struct *task;
	u32 ticket = 0;

	if (!tgid)
		return BPF_STAT_TICKS_IDLE;
	config = bpf_map_lookup_elem(&processes, &tgid);
	if (!config || config->state != PROCESS_CONFIG_READY)
		return BPF_STAT_TICKS_OTHER;
	if (!selection_admits()) {
		__sync_fetch_and_add(&config->outside_ticks, weight);
		return BPF_STAT_TICKS_OUTSIDE;
	}
	s = scratch_get(bpf_get_smp_processor_id());
	if (!s)
		return BPF_STAT_TICKS_OTHER;
	task = (struct task_struct *)bpf_get_current_task();
	sample_begin(s, config, pid_tgid, now, weight);
	if (image_is_current(config, task))
		sample_take(s, ctx, task, (u32)pid_tgid);
	else
		walk_none(&s->walk, SAMPLE_REASON_IN_EXEC);
#if LOOPS == LOOPS_MAY_GOTO
	if (cfg.task_work && resume_would_help(&s->walk))
		ticket = resume_ask(&s->walk, pid_tgid, now, regs_are_user(ctx));
#endif
	sample_send(s, ticket);
	return BPF_STAT_TICKS;
}

SEC("perf_event")
int on_perf_sample(struct bpf_perf_event_data *ctx)
{
	u64 start = bpf_ktime_get_ns();
	u64 pid_tgid = bpf_get_current_pid_tgid();
	u16 weight = tick_account(start, (u32)pid_tgid);
	int kind = on_tick(ctx, pid_tgid, start, weight);
	u64 spent = bpf_ktime_get_ns() - start;

	stat_add(BPF_STAT_RUN_NS, spent);
	if (kind != BPF_STAT_TICKS) {
		stat_add(kind, 1);
		return 0;
	}
	stat_add(BPF_STAT_SAMPLE_NS, spent);
	stat_add(BPF_STAT_COUNT + sample_time_bucket(spent), 1);
	return 0;
}
