/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Which stacks user space has got, and the record that refers to one of them. */
#ifndef PANOPY_SENT_STACKS_BPF_H
#define PANOPY_SENT_STACKS_BPF_H

#include <bpf/bpf_helpers.h>

#include "sample.h"
#include "stack_slot.h"

/* stack_slot_idx() -> identity of the stack of that slot that was sent whole last. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, STACK_SLOT_CNT);
	__type(key, u32);
	__type(value, u64);
} sent_stacks SEC(".maps");

static __always_inline void repeat_fill(struct repeat_record *record, const struct sample_record *sample,
					u64 identity)
{
	record->hdr = sample->hdr;
	record->hdr.kind = RECORD_REPEAT;
	record->hdr.size = sizeof(*record);
	record->epoch = sample->epoch;
	record->tgid = sample->tgid;
	record->tid = sample->tid;
	record->identity = identity;
	record->weight = sample->weight;
	record->flags = sample->flags;
	record->reserved = 0;
	record->ticket = sample->ticket;
	__builtin_memcpy(record->comm, sample->comm, sizeof(record->comm));
}

#endif
