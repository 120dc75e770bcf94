/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of the sampler, which user space writes before the program is loaded: the one value of its
 * section SAMPLER_CONFIG_SECTION.
 */
#ifndef PANOPY_SAMPLER_CONFIG_H
#define PANOPY_SAMPLER_CONFIG_H

#include "selection_config.h"
#include "shared_limits.h"
#include "shared_types.h"

#define SAMPLER_CONFIG_SECTION ".rodata.config"

struct sampler_config {
	/* Random; mixed into the keys of the code tables so that a target cannot aim at a slot. */
	u64 hash_key;
	/* Nanoseconds between two ticks of one CPU. */
	u64 period_ns;
	/* Frames that one sample reads in the interrupt, at most LIMIT_SAMPLE_FRAMES. */
	u32 kernel_frames;
	/* Size of a kernel stack: where the user registers are found before bpf_task_pt_regs (Linux 5.15). */
	u32 kernel_stack_sz;
	/* Bytes waiting in a sample ring at which user space is woken. */
	u32 wakeup_bytes;
	/* Possible CPUs. */
	u32 cpu_cnt;
	/* enum sampler_task_work: what reads on when a thread returns to user mode. */
	u32 task_work;
	/* Scratches for that, behind those of the CPUs. */
	u32 resume_scratch_cnt;
	/* Other than 0: every stack is walked a second time, frame by frame, and compared. For tests. */
	u32 compare;
	u32 reserved;
	/* Bytes from a CPU's run queue to its kvm_steal_time, or 0: the kernel counts no stolen time. */
	s64 stolen_time_off;
	struct selection_config selection;
};

enum sampler_task_work {
	SAMPLER_TASK_WORK_NONE = 0,
	SAMPLER_TASK_WORK_IMPL = 1,  /* bpf_task_work_schedule_resume_impl (Linux 6.18) */
	SAMPLER_TASK_WORK_PLAIN = 2, /* bpf_task_work_schedule_resume (Linux 7.0) */
};

SHARED_ASSERT_SIZE(struct sampler_config, 208);

#endif
