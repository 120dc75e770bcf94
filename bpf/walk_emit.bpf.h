/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* What a walk leaves in the scratch: frames, the stack's identity, why it stopped. */
#ifndef PANOPY_WALK_EMIT_BPF_H
#define PANOPY_WALK_EMIT_BPF_H

#include "config.bpf.h"
#include "fingerprint.h"
#include "loops.bpf.h"
#include "scratch.bpf.h"

/* What a step of the walk asks for: the next one, none, or the fingerprint of walk.wanted_code before the same
 * frame is looked at once more. */
enum walk_next { WALK_ON = 0, WALK_OVER = 1, WALK_WANTS_CODE = 2 };

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

/* Where a code object may be noted: there, or in the slot beside it. */
static __always_inline u32 code_slot_idx(u64 tag)
{
	return (u32)((tag * 0x9e3779b97f4a7c15ULL) >> 53) & (CODE_SLOTS - 1);
}

/* The slot to note it in: one of the two that this sample has not used yet, so that two code objects which
 * take turns on a stack do not push each other out. */
static __always_inline struct code_slot *code_slot_to_fill(struct walk_scratch *s, u64 tag)
{
	u32 idx = code_slot_idx(tag);

	idx ^= s->codes[idx].tag != tag && s->codes[idx].sequence == (u32)s->walk.sequence;
	opaque(idx);
	return &s->codes[idx & (CODE_SLOTS - 1)];
}

/* What the code slots vouch for; 0 when the fingerprint must be read. */
static __always_inline u32 code_slot_fingerprint(const struct walk_scratch *s, u64 code)
{
	const struct walk *w = &s->walk;
	u64 tag = code ^ w->salt;
	u32 idx = code_slot_idx(tag);
	const struct code_slot *slot;

	idx ^= s->codes[idx].tag != tag;
	opaque(idx);
	slot = &s->codes[idx & (CODE_SLOTS - 1)];
	if (slot->tag != tag)
		return 0;
	return (w->has_proof && slot->proof == w->proof) || slot->sequence == (u32)w->sequence
		       ? slot->fingerprint
		       : 0;
}

/* Whether the code object must be read before its frame can be taken. One that could not be is not asked for
 * again right away, and after some of them none is. */
static __always_inline int walk_wants_code(struct walk *w, u64 code, u32 fingerprint)
{
	if (fingerprint || code == w->unread_code || w->unread_cnt >= LIMIT_UNREAD_CODES)
		return 0;
	w->wanted_code = code;
	w->visit_cnt--;
	return 1;
}

/* What tells one code object from all others, for the identity: instruction offsets are combined with it, so it
 * must not be near that of another. */
static __always_inline u64 code_term(u64 code, u32 fingerprint)
{
	return fingerprint_mix(fingerprint_mix(cfg.hash_key, code), fingerprint);
}

static __always_inline u64 identity_step(u64 identity, u64 term, s32 instr_off)
{
	return fingerprint_mix(identity ^ term, (u32)instr_off);
}

static __always_inline void frame_write(struct walk_scratch *s, u32 idx, u64 code, s32 instr_off,
					u32 fingerprint)
{
	struct py_frame *frame = scratch_frame(s, idx);

	frame->code = code;
	frame->instr_off = instr_off;
	frame->fingerprint = fingerprint;
}

/* Adds the next frame to the stack. */
static __always_inline void walk_emit(struct walk_scratch *s, u64 code, s32 instr_off, u32 fingerprint)
{
	struct walk *w = &s->walk;

	frame_write(s, w->frame_cnt, code, instr_off, fingerprint);
	w->identity = identity_step(w->identity, code_term(code, fingerprint), instr_off);
	w->frame_cnt++;
}

#endif
