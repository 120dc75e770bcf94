/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Everything that differs between kernels and architectures, in one place. */
#ifndef PANOPY_KERNEL_COMPAT_BPF_H
#define PANOPY_KERNEL_COMPAT_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "config.bpf.h"

#if defined(__TARGET_ARCH_x86)

/* arch/x86/include/uapi/asm/ptrace.h: part of the ABI. Not through CO-RE, which would shorten the load
 * where the kernel's own type is narrower (Linux 6.9); the context allows whole words only. */
enum { REGS_CNT = 15, REGS_IP_OFF = 128, REGS_CS_OFF = 136, REGS_SP_OFF = 152 };

static __always_inline int regs_are_user(const void *regs)
{
	return (*(const volatile u64 *)(regs + REGS_CS_OFF) & 3) == 3;
}

/* pthread_self() is the thread pointer on x86-64 with glibc and with musl. */
static __always_inline u64 task_thread_pointer(struct task_struct *task)
{
	return BPF_CORE_READ(task, thread.fsbase);
}

enum { THREAD_POINTER_IS_PTHREAD_SELF = 1 };

#elif defined(__TARGET_ARCH_arm64)

/* arch/arm64/include/uapi/asm/ptrace.h: part of the ABI. */
enum { REGS_CNT = 31, REGS_SP_OFF = 248, REGS_IP_OFF = 256, REGS_PSTATE_OFF = 264 };

static __always_inline int regs_are_user(const void *regs)
{
	return (*(const volatile u64 *)(regs + REGS_PSTATE_OFF) & 0xf) == 0;
}

static __always_inline u64 task_thread_pointer(struct task_struct *task)
{
	return BPF_CORE_READ(task, thread.uw.tp_value);
}

/* glibc's pthread_self() lies below the thread pointer here, at a distance that differs by version. */
enum { THREAD_POINTER_IS_PTHREAD_SELF = 0 };

#else
#error "unsupported architecture"
#endif

/* Linux 4.3, include/linux/mm_types.h; an empty struct without CONFIG_USERFAULTFD. */
struct vm_userfaultfd_ctx___watched {
	void *ctx;
} __attribute__((preserve_access_index));

struct vm_area_struct___watched {
	struct vm_userfaultfd_ctx___watched vm_userfaultfd_ctx;
} __attribute__((preserve_access_index));

/* Whether a userfaultfd is registered for it. */
static __always_inline int mapping_is_watched(struct vm_area_struct *vma)
{
	struct vm_area_struct___watched *watched = (void *)vma;
	void *ctx = NULL;

	if (bpf_core_field_exists(watched->vm_userfaultfd_ctx.ctx))
		bpf_core_read(&ctx, sizeof(ctx), &watched->vm_userfaultfd_ctx.ctx);
	return ctx != NULL;
}

/* arch/x86/include/uapi/asm/kvm_para.h: what the hypervisor writes for the guest. */
struct kvm_steal_time___stolen {
	u64 steal;
} __attribute__((preserve_access_index));

struct rq___stolen {
	int cpu;
} __attribute__((preserve_access_index));

/* Linux 2.6.24, kernel/sched/sched.h; `rq` only with CONFIG_FAIR_GROUP_SCHED. */
struct cfs_rq___stolen {
	struct rq___stolen *rq;
} __attribute__((preserve_access_index));

struct sched_entity___stolen {
	struct cfs_rq___stolen *cfs_rq;
} __attribute__((preserve_access_index));

struct task_struct___stolen {
	struct sched_entity___stolen se;
} __attribute__((preserve_access_index));

/* Where this CPU's stolen time is counted, `off` bytes from its run queue; 0 where that cannot be found. The
 * task is the one that runs: its group's run queue is this CPU's. */
static __always_inline u64 task_stolen_time_addr(struct task_struct *task, s64 off)
{
	struct task_struct___stolen *current = (void *)task;
	struct cfs_rq___stolen *group = NULL;
	struct rq___stolen *rq = NULL;

	if (!bpf_core_field_exists(group->rq) || !bpf_core_field_exists(current->se.cfs_rq))
		return 0;
	bpf_core_read(&group, sizeof(group), &current->se.cfs_rq);
	bpf_core_read(&rq, sizeof(rq), &group->rq);
	return rq ? (u64)rq + off : 0;
}

/* Nanoseconds that the host took from the CPU so far; 0 without an address. */
static __always_inline u64 stolen_time_read(u64 addr)
{
	struct kvm_steal_time___stolen *counter = (void *)addr;
	u64 ns = 0;

	if (addr && bpf_core_type_exists(struct kvm_steal_time___stolen))
		bpf_core_read(&ns, sizeof(ns), &counter->steal);
	return ns;
}

/* `now`: CLOCK_MONOTONIC. */
static __always_inline u64 task_age_ns(struct task_struct *task, u64 now)
{
	return now - BPF_CORE_READ(task, start_time);
}

/* The thread's id in its innermost pid namespace, as gettid() tells it. */
static __always_inline u32 task_ns_tid(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	u32 level = BPF_CORE_READ(pid, level);
	struct upid upid = {};

	if (level > 32) /* MAX_PID_NS_LEVEL */
		return 0;
	bpf_core_read(&upid, sizeof(upid), &pid->numbers[level]);
	return upid.nr;
}

/* The general registers come first in both layouts. */
static __always_inline void regs_copy(u64 *ret_registers, const void *regs)
{
#pragma unroll
	for (int i = 0; i < REGS_CNT; i++)
		ret_registers[i] = *(const volatile u64 *)(regs + 8 * i);
}

/* Stack pointer that the thread has, or had when it entered the kernel; 0 when not known. */
static __always_inline u64 task_user_sp(struct task_struct *task, const void *regs)
{
	u64 saved, sp = 0;

	if (regs_are_user(regs))
		return *(const volatile u64 *)(regs + REGS_SP_OFF);
	/* drop the fallback when the minimum kernel is 5.15 */
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		saved = bpf_task_pt_regs(bpf_get_current_task_btf());
	else
		saved = (u64)BPF_CORE_READ(task, stack) + cfg.kernel_stack_sz -
			bpf_core_type_size(struct pt_regs);
	bpf_probe_read_kernel(&sp, sizeof(sp), (const void *)(saved + REGS_SP_OFF));
	return sp;
}

#endif
