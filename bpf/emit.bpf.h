/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Records into the ring of this CPU. User space is woken once a batch: when enough bytes wait, or at
 * once when a record needs it to look at the process while it lives. It also looks by itself a few
 * times a second.
 */
#ifndef PANOPY_EMIT_BPF_H
#define PANOPY_EMIT_BPF_H

#include <bpf/bpf_helpers.h>

#include "bpf_stats.h"
#include "config.bpf.h"
#include "maps.bpf.h"
#include "sample.h"

struct sample_ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
};

/* CPU -> its ring; made by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1); /* set at load: possible CPUs */
	__uint(key_size, sizeof(u32));
	__array(values, struct sample_ring);
} sample_rings SEC(".maps");

static __always_inline u64 emit_wakeup(void *ring, int urgent)
{
	if (urgent || bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >= cfg_wakeup_bytes)
		return BPF_RB_FORCE_WAKEUP;
	return BPF_RB_NO_WAKEUP;
}

/* 1 when the ring took the record. */
static __always_inline int emit_record(void *record, u32 sz, int urgent)
{
	u32 cpu = bpf_get_smp_processor_id();
	void *ring = bpf_map_lookup_elem(&sample_rings, &cpu);

	if (!ring)
		return 0;
	stat_add(BPF_STAT_RING_BYTES, sz);
	return !bpf_ringbuf_output(ring, record, sz, emit_wakeup(ring, urgent));
}

/* Code objects leave half of the ring to samples: they can be sent later, or read. */
static __always_inline int emit_has_room(void)
{
	u32 cpu = bpf_get_smp_processor_id();
	void *ring = bpf_map_lookup_elem(&sample_rings, &cpu);

	return ring &&
	       bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) < bpf_ringbuf_query(ring, BPF_RB_RING_SIZE) / 2;
}

static __always_inline int emit_code(struct code_record *record, u32 sz, int urgent)
{
	int sent = emit_has_room() && emit_record(record, sz, urgent);

	stat_add(sent ? BPF_STAT_CODES : BPF_STAT_CODES_DROPPED, 1);
	return sent;
}

static __always_inline int emit_sample(void *record, u32 sz, int urgent)
{
	int sent = emit_record(record, sz, urgent);

	stat_add(sent ? BPF_STAT_SAMPLES : BPF_STAT_SAMPLES_DROPPED, 1);
	return sent;
}

#endif
