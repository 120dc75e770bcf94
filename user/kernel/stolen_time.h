/* SPDX-License-Identifier: Apache-2.0 */
/* Where a virtual machine's kernel counts the time that its host took from each CPU.
 *
 * KVM's host writes it into the per-CPU variable `steal_time` (arch/x86/kernel/kvm.c) before it lets the CPU run
 * on, so that it is right at every tick; what the scheduler keeps of it is up to a jiffy old. A program reaches a
 * CPU's run queue from the running task, and per-CPU variables lie at one distance from each other on all CPUs.
 */
#ifndef PANOPY_STOLEN_TIME_H
#define PANOPY_STOLEN_TIME_H

#include "shared_types.h"

/* Bytes from a CPU's `runqueues` to its `steal_time`; 0 if the kernel has none or does not tell. */
s64 stolen_time_off(void);

#endif
