/* SPDX-License-Identifier: Apache-2.0 */
/* Probes that load tiny BPF programs or maps, or look into the kernel's BTF. One per feature of the same
 * name in kernel/features.h; nothing of them stays in the kernel.
 */
#ifndef PANOPY_KERNEL_BPF_PROBES_H
#define PANOPY_KERNEL_BPF_PROBES_H

#include "kernel/features.h"
#include "sampler_config.h"

void probe_bpf_load(struct feature_result *ret_result);
void probe_ring_buffer(struct feature_result *ret_result);
void probe_process_tracepoints(struct feature_result *ret_result);
/* These say MISSING and denied when no BPF program can be loaded at all. */
void probe_bpf_loop(struct feature_result *ret_result);
void probe_may_goto(struct feature_result *ret_result);
void probe_task_pt_regs(struct feature_result *ret_result);
void probe_task_work(struct feature_result *ret_result);
void probe_cgroup_selection(struct feature_result *ret_result);
void probe_bpf_memory_accounting(struct feature_result *ret_result);

/* Which function of the kernel runs a program when a thread returns to user mode. */
enum sampler_task_work probe_task_work_kind(void);

/* A perf_event program that does nothing; a file descriptor or -errno. */
int probe_open_perf_program(void);

#endif
