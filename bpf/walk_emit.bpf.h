/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* What a walk leaves in the scratch: frames, the stack's identity, why it stopped. */
#ifndef PANOPY_WALK_EMIT_BPF_H
#define PANOPY_WALK_EMIT_BPF_H

#include "config.bpf.h"
#include "fingerprint.h"
#include "scratch.bpf.h"

/* What offsets inside a frame are masked with. */
enum { FRAME_MASK = LIMIT_FRAME_SPAN - 1 };

static __always_inline struct sample_record *scratch_sample(struct walk_scratch *s)
{
	return (struct sample_record *)s->sample;
}

static __always_inline struct py_frame *scratch_frame(struct walk_scratch *s, u32 idx)
{
	idx &= LIMIT_SAMPLE_FRAMES - 1;
	return (struct py_frame *)(s->sample + sizeof(struct sample_record) + idx * sizeof(struct py_frame));
}

static __always_inline void walk_stop(struct walk *w, u8 reason)
{
	w->status = SAMPLE_TRUNCATED;
	w->reason = reason;
}

static __always_inline u32 code_slot_idx(u64 tag)
{
	return (u32)((tag * 0x9e3779b97f4a7c15ULL) >> 53) & (CODE_SLOTS - 1);
}

/* What the code slots vouch for; 0 when the fingerprint must be read. */
static __always_inline u32 code_slot_fingerprint(const struct walk_scratch *s, u64 code)
{
	const struct walk *w = &s->walk;
	u64 tag = code ^ w->salt;
	const struct code_slot *slot = &s->codes[code_slot_idx(tag)];

	if (slot->tag != tag)
		return 0;
	return (w->has_proof && slot->proof == w->proof) || slot->sequence == (u32)w->sequence
		       ? slot->fingerprint
		       : 0;
}

/* Fingerprints are read in another order than frames, so they are summed. */
static __always_inline void identity_add_fingerprint(struct walk *w, u64 code, u32 fingerprint)
{
	w->fingerprints += fingerprint_mix(code ^ cfg.hash_key, fingerprint);
}

/* Writes frame `idx`; a fingerprint of 0 is read once the walk is over. */
static __always_inline void walk_emit(struct walk_scratch *s, u32 idx, u64 code, s32 instr_off,
				      u32 fingerprint)
{
	struct py_frame *frame = scratch_frame(s, idx);

	frame->code = code;
	frame->instr_off = instr_off;
	frame->fingerprint = fingerprint;
	s->walk.identity = fingerprint_mix(s->walk.identity ^ code, (u32)instr_off);
	if (fingerprint) {
		identity_add_fingerprint(&s->walk, code, fingerprint);
	} else {
		s->misses[s->walk.miss_cnt & (LIMIT_SAMPLE_FRAMES - 1)] = idx;
		s->walk.miss_cnt++;
	}
}

#endif
