/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Settings that user space writes before the programs are loaded. The defaults load as they are. */
#ifndef PANOPY_CONFIG_BPF_H
#define PANOPY_CONFIG_BPF_H

#include "shared_limits.h"
#include "shared_types.h"

/* Nanoseconds between two ticks of one CPU. */
const volatile u64 cfg_period_ns = 10101010;
/* Frames that one sample reads in the kernel, at most LIMIT_SAMPLE_FRAMES. */
const volatile u32 cfg_kernel_frames = LIMIT_SAMPLE_FRAMES;
/* Size of a kernel stack: where the user registers are found before bpf_task_pt_regs (Linux 5.15). */
const volatile u32 cfg_kernel_stack_sz = 16384;
/* Bytes waiting in a sample ring at which user space is woken. */
const volatile u32 cfg_wakeup_bytes = 65536;
/* Random; mixed into the keys of the code tables so that a target cannot aim at a slot. */
const volatile u64 cfg_hash_key = 0x243f6a8885a308d3ULL;

/* Children of processes without PROCESS_CONFIG_FOLLOW_CHILDREN are left alone (-p, -- CMD). */
const volatile u8 cfg_only_followed = 0;

#endif
