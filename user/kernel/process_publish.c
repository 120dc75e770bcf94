/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/process_publish.h"

#include <bpf/bpf.h>
#include <errno.h>

int process_publish_put(int processes_fd, pid_t pid, const struct process_config *config)
{
	u32 key = pid;

	return bpf_map_update_elem(processes_fd, &key, config, BPF_ANY) ? -errno : 0;
}

int process_publish_get(int processes_fd, pid_t pid, struct process_config *ret_config)
{
	u32 key = pid;

	return bpf_map_lookup_elem(processes_fd, &key, ret_config) ? -errno : 0;
}

int process_publish_remove(int processes_fd, pid_t pid)
{
	u32 key = pid;

	return bpf_map_delete_elem(processes_fd, &key) ? -errno : 0;
}

int process_publish_thread(int thread_slots_fd, u64 epoch, pid_t tid, u64 tstate_addr)
{
	struct thread_slot slot = {.owner = thread_slot_owner(epoch, tid), .tstate = tstate_addr};
	u32 key = thread_slot_idx(tid);

	return bpf_map_update_elem(thread_slots_fd, &key, &slot, BPF_ANY) ? -errno : 0;
}
