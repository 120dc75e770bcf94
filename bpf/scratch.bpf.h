/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* What walks work in. An array, since one value of a per-CPU map may not exceed 32 KiB
 * (PCPU_MIN_UNIT_SIZE). The one numbered as a CPU is for the perf interrupt there, which does not nest.
 */
#ifndef PANOPY_SCRATCH_BPF_H
#define PANOPY_SCRATCH_BPF_H

#include <bpf/bpf_helpers.h>

#include "walk_state.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set at load: possible CPUs */
	__type(key, u32);
	__type(value, struct walk_scratch);
} scratches SEC(".maps");

/* Global functions take the scratch by its number: they may take no pointers on Linux 5.10. */
static __always_inline struct walk_scratch *scratch_get(u32 id)
{
	return bpf_map_lookup_elem(&scratches, &id);
}

#endif
