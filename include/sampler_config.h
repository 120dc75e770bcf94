/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of the sampler, which user space writes before the program is loaded: the one value of its
 * section SAMPLER_CONFIG_SECTION.
 */
#ifndef PANOPY_SAMPLER_CONFIG_H
#define PANOPY_SAMPLER_CONFIG_H

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
};

SHARED_ASSERT_SIZE(struct sampler_config, 32);

#endif
