/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/sent_stacks.h"

#include <bpf/bpf.h>
#include <errno.h>

#include "stack_slot.h"

int sent_stacks_clear(int sent_stacks_fd, u64 identity)
{
	u32 key = stack_slot_idx(identity);
	u64 empty = 0;

	return bpf_map_update_elem(sent_stacks_fd, &key, &empty, BPF_ANY) ? -errno : 0;
}
