// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/* Follows known processes through fork, exec and exit, in process context: the child of a known process
 * is known from its first instruction, an exec voids what was known, an exit removes it. New
 * interpreters are found by user space from the mappings they make.
 *
 * Raw tracepoints with BTF arguments: they need no tracefs.
 */
#include "shared_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "maps.bpf.h"
#include "process_event.h"

/* Set at load: children of processes without PROCESS_CONFIG_FOLLOW_CHILDREN are left alone (-p, -- CMD). */
const volatile u8 cfg_only_followed = 0;

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18); /* 3,276 events of 72 bytes and their headers */
} process_events SEC(".maps");

/* A process_config is too large for the BPF stack beside the rest. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct process_config);
} config_scratch SEC(".maps");

static __always_inline struct process_event *event_begin(u32 kind, struct task_struct *task)
{
	struct process_event *event = bpf_ringbuf_reserve(&process_events, sizeof(*event), 0);

	if (!event) {
		stat_add(BPF_STAT_EVENTS_DROPPED, 1);
		return NULL;
	}
	event->time_ns = bpf_ktime_get_ns();
	event->epoch = 0;
	event->start_boottime_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	event->cpu_ns = 0;
	event->outside_ticks = 0;
	event->kind = kind;
	event->tgid = BPF_CORE_READ(task, tgid);
	event->parent_tgid = BPF_CORE_READ(task, real_parent, tgid);
	event->followed = 1;
	BPF_CORE_READ_STR_INTO(&event->comm, task, comm);
	return event;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	u32 parent_tgid = BPF_CORE_READ(parent, tgid);
	u32 tgid = BPF_CORE_READ(child, tgid);
	struct process_config *parent_config, *config;
	struct process_event *event;
	u32 zero = 0;

	if (tgid != (u32)BPF_CORE_READ(child, pid))
		return 0; /* a thread */
	parent_config = bpf_map_lookup_elem(&processes, &parent_tgid);
	if (!parent_config)
		return 0;
	if (cfg_only_followed && !(parent_config->flags & PROCESS_CONFIG_FOLLOW_CHILDREN))
		return 0;
	config = bpf_map_lookup_elem(&config_scratch, &zero);
	if (!config)
		return 0;
	__builtin_memcpy(config, parent_config, sizeof(*config));
	config->epoch = bpf_ktime_get_ns();
	config->start_boottime_ns = BPF_CORE_READ(child, start_boottime);
	config->mm = (u64)BPF_CORE_READ(child, mm);
	config->outside_ticks = 0;
	if (bpf_map_update_elem(&processes, &tgid, config, BPF_ANY)) {
		stat_add(BPF_STAT_PROCESSES_FULL, 1);
		return 0;
	}
	event = event_begin(PROCESS_EVENT_FORK, child);
	if (!event)
		return 0;
	event->parent_tgid = parent_tgid;
	event->epoch = config->epoch;
	bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, s32 old_pid, struct linux_binprm *bprm)
{
	u32 tgid = BPF_CORE_READ(task, tgid);
	struct process_config *config = bpf_map_lookup_elem(&processes, &tgid);
	struct process_event *event;
	u64 epoch = bpf_ktime_get_ns();
	u64 outside_ticks;

	if (!config)
		return 0;
	outside_ticks = config->outside_ticks;
	/* What was selected by pid stays selected, whatever it runs. */
	if (cfg_only_followed) {
		config->state = PROCESS_CONFIG_UNDECIDED;
		config->mm = 0;
		config->epoch = epoch;
		config->outside_ticks = 0;
	} else {
		bpf_map_delete_elem(&processes, &tgid);
	}
	event = event_begin(PROCESS_EVENT_EXEC, task);
	if (!event)
		return 0;
	event->epoch = epoch;
	event->followed = cfg_only_followed;
	event->outside_ticks = outside_ticks;
	bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	u32 tgid = BPF_CORE_READ(task, tgid);
	struct process_config *config;
	struct process_event *event;
	u64 epoch, outside_ticks;

	if (BPF_CORE_READ(task, signal, live.counter) > 0)
		return 0; /* threads remain */
	config = bpf_map_lookup_elem(&processes, &tgid);
	if (!config)
		return 0;
	epoch = config->epoch;
	outside_ticks = config->outside_ticks;
	bpf_map_delete_elem(&processes, &tgid);
	event = event_begin(PROCESS_EVENT_EXIT, task);
	if (!event)
		return 0;
	event->epoch = epoch;
	event->followed = 0;
	event->outside_ticks = outside_ticks;
	event->cpu_ns =
		BPF_CORE_READ(task, signal, sum_sched_runtime) + BPF_CORE_READ(task, se.sum_exec_runtime);
	bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP);
	return 0;
}
