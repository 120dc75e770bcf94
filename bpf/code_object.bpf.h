/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Tells code objects at one address apart, and sends the names of those that user space has not got.
 *
 * A code object on a live frame cannot be freed, so what is read here belongs to the frame. A
 * fingerprint is read once per sample and code object (again only where three want the same two slots),
 * when the walk meets it (WALK_WANTS_CODE), and not at all where the interpreter's
 * counter (py_layout.interp_code_proof) is the one at which it was last read: 3.14+ counts code objects
 * freed, 3.13 counts those made, and either unchanged means that the address holds the same one.
 *
 * In free-threaded builds other threads make and free code objects while the sample is taken. All of this
 * holds there, too:
 *   - A frame's reference, counted or deferred, keeps its code object; what has deferred references only is
 *     freed with the world stopped, after every thread's frames were visited (CPython 3.14, Python/
 *     gc_free_threading.c). The interrupted thread cannot pop a frame meanwhile.
 *   - Whatever is on its frames was put there before the interrupt, so if another code object took the address
 *     since the fingerprint was read, it was made, and the former one freed, before the counter is read now.
 *     Both counters have moved by then: 3.14+ adds to its own, atomically, before anything is freed
 *     (code_dealloc), 3.13 to its own under a mutex (init_code in Objects/codeobject.c).
 * What other threads do after the counter was read concerns code objects that are not on these frames.
 *
 * "Sent" is remembered for all CPUs in one word per code object, so nothing can be torn; a place that
 * another one takes only costs sending it again.
 */
#ifndef PANOPY_CODE_OBJECT_BPF_H
#define PANOPY_CODE_OBJECT_BPF_H

#include "bpf_stats.h"
#include "emit.bpf.h"
#include "fingerprint.h"
#include "loops.bpf.h"
#include "unicode_state.h"
#include "user_mem.bpf.h"
#include "walk_emit.bpf.h"

enum {
	SENT_BUCKETS = 1 << 15,
	SENT_WAYS = 4,
	CODE_MASK = LIMIT_CODE_SPAN - 1,
	TEXT_MASK = 127,
	/* Parts are copied one behind the other: this is where the last may begin. */
	CODE_BYTES_MAX = 3 * LIMIT_KERNEL_NAME_SZ,
	CODE_BYTES_MASK = 2047,
};

SHARED_ASSERT((LIMIT_KERNEL_NAME_SZ & (LIMIT_KERNEL_NAME_SZ - 1)) == 0, "used as a mask");
SHARED_ASSERT(CODE_BYTES_MAX <= CODE_BYTES_MASK, "three names fit below the mask");

/* Keys of code objects whose names were sent; 0 is an empty place. */
struct sent_bucket {
	u64 keys[SENT_WAYS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SENT_BUCKETS);
	__type(key, u32);
	__type(value, struct sent_bucket);
} sent_codes SEC(".maps");

static __always_inline int sent_has(const struct sent_bucket *bucket, u64 key)
{
	for (int i = 0; i < SENT_WAYS; i++) {
		if (bucket->keys[i] == key)
			return 1;
	}
	return 0;
}

/* Takes an empty place, or that of the one its key points at. */
static __always_inline void sent_add(struct sent_bucket *bucket, u64 key)
{
	for (int i = 0; i < SENT_WAYS; i++) {
		if (!bucket->keys[i]) {
			bucket->keys[i] = key;
			return;
		}
	}
	bucket->keys[(key >> 8) & (SENT_WAYS - 1)] = key;
}

static __always_inline u64 code_u64(const struct walk_scratch *s, u16 off)
{
	return *(const u64 *)(s->code + (off & CODE_MASK));
}

static __always_inline u64 text_u64(const struct walk_scratch *s, u16 off)
{
	return *(const u64 *)(s->text + (off & TEXT_MASK));
}

static __always_inline u32 text_state(const struct walk_scratch *s)
{
	const struct py_layout *layout = &s->walk.layout;

	return unicode_state((u32)text_u64(s, layout->unicode_state), layout->traits);
}

/* Where the characters of the string in scratch.text begin. */
static __always_inline u32 text_data_off(const struct walk_scratch *s)
{
	const struct py_layout *layout = &s->walk.layout;

	return unicode_is_ascii(text_state(s)) ? layout->unicode_ascii_sz : layout->unicode_compact_sz;
}

/* Reads a string's head into scratch.text. Short strings at the end of a mapping have no room for the
 * longer head: those are ASCII. */
static __always_inline long text_read(struct walk_scratch *s, u64 addr)
{
	if (!user_read(s->text, s->walk.layout.unicode_compact_sz & TEXT_MASK, addr))
		return 0;
	return user_read(s->text, s->walk.layout.unicode_ascii_sz & TEXT_MASK, addr);
}

static __always_inline void words_clear(u64 words[FINGERPRINT_WORDS])
{
	for (int i = 0; i < FINGERPRINT_WORDS; i++)
		words[i] = 0;
}

/* First bytes of some text or table into walk.words, zero behind its end. */
static __always_inline long words_read(struct walk *w, u64 addr, u64 sz)
{
	words_clear(w->words);
	if (sz > LIMIT_FINGERPRINT_LINETABLE_SZ)
		sz = LIMIT_FINGERPRINT_LINETABLE_SZ;
	opaque(sz);
	return sz ? user_read(w->words, (u32)sz & (2 * LIMIT_FINGERPRINT_LINETABLE_SZ - 1), addr) : 0;
}

/* Digest of the string at `addr`; 0 on a fault. */
__noinline u64 text_digest(u32 id, u64 addr)
{
	struct walk_scratch *s = scratch_get(id);
	const struct py_layout *layout;
	u64 hash, length, sz;

	if (!s)
		return 0;
	layout = &s->walk.layout;
	if (text_read(s, addr))
		return 0;
	hash = text_u64(s, layout->unicode_hash);
	length = text_u64(s, layout->unicode_length);
	if (hash == FINGERPRINT_NO_HASH) {
		/* A longer string than any memory only ends up cut at 64 bytes. */
		sz = length * unicode_char_sz(text_state(s));
		if (words_read(&s->walk, addr + text_data_off(s), sz))
			return 0;
	}
	return fingerprint_text_digest(hash, length, s->walk.words);
}

/* Most code objects of one stack share their file name. */
static __always_inline u64 filename_digest(struct walk *w, u64 addr)
{
	if (addr != w->filename_addr) {
		w->filename_digest = text_digest(w->scratch_id, addr);
		w->filename_addr = addr;
	}
	return w->filename_digest;
}

/* Folds the location table at `addr`: its size, then its first bytes; 0 on a fault. */
static __always_inline u64 linetable_mix(struct walk_scratch *s, u64 seed, u64 addr)
{
	u64 sz = 0;

	if (user_read(&sz, sizeof(sz), addr + s->walk.layout.bytes_size) ||
	    words_read(&s->walk, addr + s->walk.layout.bytes_data, sz))
		return 0;
	return fingerprint_mix_words(fingerprint_mix(seed, sz), s->walk.words);
}

/* Of all but 3.12. 0 on a fault. */
__noinline u32 fingerprint_contents(u32 id, u64 code)
{
	struct walk_scratch *s = scratch_get(id);
	u64 seed, name, qualname, name_digest, qualname_digest, file_digest;

	if (!s)
		return 0;
	if (user_read(s->code, s->walk.layout.code_sz & CODE_MASK, code))
		return 0;
	name = code_u64(s, s->walk.layout.code_name);
	qualname = code_u64(s, s->walk.layout.code_qualname);
	name_digest = text_digest(id, name);
	qualname_digest = qualname == name ? name_digest : text_digest(id, qualname);
	file_digest = filename_digest(&s->walk, code_u64(s, s->walk.layout.code_filename));
	if (!name_digest || !qualname_digest || !file_digest)
		return 0;
	seed = fingerprint_mix(0, (u32)code_u64(s, s->walk.layout.code_firstlineno));
	seed = fingerprint_mix(seed, name_digest);
	seed = fingerprint_mix(seed, qualname_digest);
	seed = fingerprint_mix(seed, file_digest);
	seed = linetable_mix(s, seed, code_u64(s, s->walk.layout.code_linetable));
	return seed ? fingerprint_finish(seed) : 0;
}

static __always_inline u32 fingerprint_read(struct walk_scratch *s, u64 code)
{
	u32 version = 0;

	stat_add(BPF_STAT_FINGERPRINT_READS, 1);
	if (!(s->walk.layout.traits & PY_TRAIT_CODE_VERSION)) {
		version = fingerprint_contents(s->walk.scratch_id, code);
		s->walk.code_faulted |= !version;
	} else if (user_read(&version, sizeof(version), code + s->walk.layout.code_version)) {
		s->walk.code_faulted = 1;
		version = 0;
	}
	return version;
}

static __always_inline struct code_record *scratch_code_record(struct walk_scratch *s)
{
	return (struct code_record *)s->code_record;
}

/* Appends up to `max` bytes at `addr` to the record; marks the part as cut where that is not all. */
static __always_inline void code_record_append(struct code_record *record, u32 part, u64 addr, u64 sz,
					       u32 max)
{
	u32 off = 0;

	for (u32 i = 0; i < CODE_PART_COUNT && i < part; i++)
		off += record->sz[i];
	if (sz > max) {
		record->flags |= 1u << part;
		sz = max;
	}
	opaque(off);
	opaque(sz);
	if (off > CODE_BYTES_MAX || sz > max)
		return;
	if (sz && user_read(record->bytes + (off & CODE_BYTES_MASK),
			    (u32)sz & (2 * LIMIT_KERNEL_LINETABLE_SZ - 1), addr)) {
		record->flags |= 1u << part;
		return;
	}
	record->sz[part & (CODE_PART_COUNT - 1)] = sz;
}

/* Copies one of the three strings of the code object in scratch.code. */
__noinline int code_record_text(u32 id, u32 part)
{
	struct walk_scratch *s = scratch_get(id);
	struct code_record *record;
	const struct py_layout *layout;
	u64 addr, length;
	u32 state;

	if (!s || part > CODE_PART_FILENAME)
		return 0;
	record = scratch_code_record(s);
	layout = &s->walk.layout;
	addr = code_u64(s, part == CODE_PART_NAME	? layout->code_name
			   : part == CODE_PART_QUALNAME ? layout->code_qualname
							: layout->code_filename);
	if (text_read(s, addr)) {
		record->flags |= 1u << part;
		return 0;
	}
	state = text_state(s);
	length = text_u64(s, layout->unicode_length);
	if (!unicode_is_compact(state) || !unicode_char_sz(state) || length > LIMIT_KERNEL_NAME_SZ) {
		record->flags |= 1u << part;
		return 0;
	}
	record->char_sz[part & (CODE_PART_COUNT - 1)] = unicode_char_sz(state);
	code_record_append(record, part, addr + text_data_off(s), length * unicode_char_sz(state),
			   LIMIT_KERNEL_NAME_SZ);
	return 0;
}

__noinline int code_record_linetable(u32 id)
{
	struct walk_scratch *s = scratch_get(id);
	struct code_record *record;
	u64 addr, sz = 0;

	if (!s)
		return 0;
	record = scratch_code_record(s);
	addr = code_u64(s, s->walk.layout.code_linetable);
	record->char_sz[CODE_PART_LINETABLE] = 1;
	if (user_read(&sz, sizeof(sz), addr + s->walk.layout.bytes_size) || sz > LIMIT_KERNEL_LINETABLE_SZ) {
		record->flags |= CODE_RECORD_LINETABLE_CUT;
		return 0;
	}
	code_record_append(record, CODE_PART_LINETABLE, addr + s->walk.layout.bytes_data, sz,
			   LIMIT_KERNEL_LINETABLE_SZ);
	return 0;
}

static __always_inline void code_record_begin(struct walk_scratch *s, u64 code, u32 fingerprint)
{
	struct code_record *record = scratch_code_record(s);
	const struct sample_record *sample = scratch_sample(s);

	record->hdr = sample->hdr;
	record->hdr.kind = RECORD_CODE;
	record->epoch = s->walk.epoch;
	record->code = code;
	record->tgid = s->walk.tgid;
	record->fingerprint = fingerprint;
	record->firstlineno = (s32)code_u64(s, s->walk.layout.code_firstlineno);
	record->flags = 0;
	record->reserved = 0;
	for (u32 i = 0; i < CODE_PART_COUNT; i++) {
		record->sz[i] = 0;
		record->char_sz[i] = 1;
	}
}

/* Copies the names of the code object; true when the ring took them. */
static __always_inline int code_send(struct walk_scratch *s, u64 code, u32 fingerprint)
{
	struct code_record *record = scratch_code_record(s);
	u32 sz = sizeof(*record);

	if (user_read(s->code, s->walk.layout.code_sz & CODE_MASK, code))
		return 0;
	code_record_begin(s, code, fingerprint);
	for (u32 part = CODE_PART_NAME; part <= CODE_PART_FILENAME; part++)
		code_record_text(s->walk.scratch_id, part);
	code_record_linetable(s->walk.scratch_id);
	for (u32 i = 0; i < CODE_PART_COUNT; i++)
		sz += record->sz[i];
	opaque(sz);
	if (sz > sizeof(s->code_record))
		return 0;
	record->hdr.size = sz;
	return emit_code(s->walk.ring_base, record, sz, record->flags != 0);
}

/* Sends the names of the code object unless that was done before. */
static __always_inline void code_announce(struct walk_scratch *s, u64 code, u32 fingerprint)
{
	u64 key = fingerprint_mix(fingerprint_mix(s->walk.salt, code), fingerprint) | 1;
	u32 idx = (key >> 40) & (SENT_BUCKETS - 1);
	struct sent_bucket *sent = bpf_map_lookup_elem(&sent_codes, &idx);

	if (!sent || sent_has(sent, key) || s->walk.new_code_cnt >= LIMIT_NEW_CODES)
		return;
	s->walk.new_code_cnt++;
	if (code_send(s, code, fingerprint))
		sent_add(sent, key);
	else
		s->walk.new_code_cnt = LIMIT_NEW_CODES; /* the ring is full: no more in this sample */
}

/* Reads the fingerprint of walk.wanted_code into its slot. */
__noinline int code_resolve(u32 id)
{
	struct walk_scratch *s = scratch_get(id);
	struct code_slot *slot;
	u32 fingerprint;
	u64 code, tag;

	if (!s)
		return 0;
	code = s->walk.wanted_code;
	fingerprint = fingerprint_read(s, code);
	if (!fingerprint) {
		s->walk.unread_code = code;
		s->walk.unread_cnt++;
		return 0;
	}
	tag = code ^ s->walk.salt;
	slot = code_slot_to_fill(s, tag);
	slot->tag = tag;
	slot->proof = s->walk.proof;
	slot->sequence = (u32)s->walk.sequence;
	slot->fingerprint = fingerprint;
	code_announce(s, code, fingerprint);
	return 0;
}

/* An interpreter that took a former one's place counts from where that one did, and has its own code objects: what its
 * counter proves is of its id. */
static __always_inline long code_interp_mix(struct walk *w)
{
	u64 id = 0;
	long err = w->layout.interp_id ? user_read(&id, sizeof(id), w->interp + w->layout.interp_id) : 0;

	w->salt = fingerprint_mix(w->salt, id);
	return err;
}

/* Reads the interpreter's counter, which must happen before any fingerprint of the sample. */
static __always_inline void code_proof_read(struct walk_scratch *s)
{
	struct walk *w = &s->walk;
	u64 proof = 0;

	w->has_proof = 0;
	w->proof = 0;
	if (!(w->layout.traits & (PY_TRAIT_PROOF_GENERATION | PY_TRAIT_PROOF_NEXT_VERSION)))
		return;
	if (code_interp_mix(w) || user_read(&proof, sizeof(proof), w->interp + w->layout.interp_code_proof))
		return;
	if (w->layout.traits & PY_TRAIT_PROOF_NEXT_VERSION) {
		proof = (u32)proof;
		/* A counter that wrapped stays 0 and proves nothing (CPython 3.13, Objects/codeobject.c). */
		if (!proof)
			return;
	}
	w->proof = proof;
	w->has_proof = 1;
}

#endif
