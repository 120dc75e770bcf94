/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* The per-CPU scratch of the sampler. An array indexed by CPU, since one value of a per-CPU map may
 * not exceed 32 KiB (PCPU_MIN_UNIT_SIZE). Only the perf interrupt uses it, which does not nest.
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

static __always_inline struct walk_scratch *scratch_get(void)
{
	u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&scratches, &cpu);
}

#endif
