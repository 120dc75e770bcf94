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
	if (urgent || bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >= cfg.wakeup_bytes)
		return BPF_RB_FORCE_WAKEUP;
	return BPF_RB_NO_WAKEUP;
}

/* The ring of this CPU among those that begin at `base`. */
static __always_inline void *emit_ring(u32 base)
{
	u32 idx = base + bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&sample_rings, &idx);
}

/* 1 when the ring took the record. */
static __always_inline int emit_record(u32 base, void *record, u32 sz, int urgent)
{
	void *ring = emit_ring(base);

	if (!ring)
		return 0;
	stat_add(BPF_STAT_RING_BYTES, sz);
	return !bpf_ringbuf_output(ring, record, sz, emit_wakeup(ring, urgent));
}

/* Code objects leave half of the ring to samples: they can be sent later, or read. */
static __always_inline int emit_has_room(u32 base)
{
	void *ring = emit_ring(base);

	return ring &&
	       bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) < bpf_ringbuf_query(ring, BPF_RB_RING_SIZE) / 2;
}

static __always_inline int emit_code(u32 base, struct code_record *record, u32 sz, int urgent)
{
	int sent = emit_has_room(base) && emit_record(base, record, sz, urgent);

	stat_add(sent ? BPF_STAT_CODES : BPF_STAT_CODES_DROPPED, 1);
	return sent;
}

static __always_inline int emit_sample(u32 base, void *record, u32 sz, int urgent)
{
	int sent = emit_record(base, record, sz, urgent);

	stat_add(sent ? BPF_STAT_SAMPLES : BPF_STAT_SAMPLES_DROPPED, 1);
	return sent;
}

#endif
