/* SPDX-License-Identifier: Apache-2.0 */
/* The last hop of the control flow: what the kernel side knows of a process. */
#ifndef PANOPY_KERNEL_PROCESS_PUBLISH_H
#define PANOPY_KERNEL_PROCESS_PUBLISH_H

#include <sys/types.h>

#include "process_config.h"
#include "thread_slot.h"

/* -E2BIG: the kernel's table is full. */
int process_publish_put(int processes_fd, pid_t pid, const struct process_config *config);
/* -ENOENT: the kernel knows nothing of it. */
int process_publish_get(int processes_fd, pid_t pid, struct process_config *ret_config);
int process_publish_remove(int processes_fd, pid_t pid);

/* Tells the sampler where a thread's state is; a hint that it verifies. */
int process_publish_thread(int thread_slots_fd, u64 epoch, pid_t tid, u64 tstate_addr);

#endif
