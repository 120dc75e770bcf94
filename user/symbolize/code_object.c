/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/code_object.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "fingerprint.h"
#include "unicode_state.h"

enum {
	/* 99 of 100 names, and of location tables, of the standard library are no longer. */
	AHEAD_TEXT_SZ = 128,
	AHEAD_LINETABLE_SZ = 1024,
};

/* A copied span of the target; offsets of the layout are applied inside it. */
struct span {
	size_t sz;
	u8 bytes[LIMIT_CODE_SPAN];
};

struct text_head {
	u64 hash;
	u64 length; /* characters */
	u32 char_sz;
	bool compact;
	remote_addr_t data_addr;
};

static u64 span_u64(const struct span *span, u16 off)
{
	u64 value = 0;

	if (off + sizeof(value) <= span->sz)
		memcpy(&value, span->bytes + off, sizeof(value));
	return value;
}

static u32 span_u32(const struct span *span, u16 off)
{
	u32 value = 0;

	if (off + sizeof(value) <= span->sz)
		memcpy(&value, span->bytes + off, sizeof(value));
	return value;
}

static int read_u64(struct read_ahead *ahead, remote_addr_t addr, u64 *ret_value)
{
	return read_ahead_read(ahead, addr, ret_value, sizeof(*ret_value));
}

static int read_span(struct read_ahead *ahead, remote_addr_t addr, size_t sz, struct span *ret_span)
{
	if (sz > sizeof(ret_span->bytes))
		return -EINVAL;
	ret_span->sz = sz;
	return read_ahead_read(ahead, addr, ret_span->bytes, sz);
}

static remote_addr_t text_addr(const struct span *code, const struct py_layout *layout, enum code_part part)
{
	switch (part) {
	case CODE_PART_NAME:
		return span_u64(code, layout->code_name);
	case CODE_PART_QUALNAME:
		return span_u64(code, layout->code_qualname);
	default:
		return span_u64(code, layout->code_filename);
	}
}

static int read_text_head(struct read_ahead *ahead, const struct py_layout *layout, remote_addr_t addr,
			  struct text_head *ret_head)
{
	struct span span;
	u32 state;
	int err = read_span(ahead, addr, layout->unicode_compact_sz, &span);

	/* A short ASCII string at the end of a mapping has no room for the longer head. */
	if (err == -EFAULT)
		err = read_span(ahead, addr, layout->unicode_ascii_sz, &span);
	if (err)
		return err;
	state = unicode_state(span_u32(&span, layout->unicode_state), layout->traits);
	*ret_head = (struct text_head){
		.hash = span_u64(&span, layout->unicode_hash),
		.length = span_u64(&span, layout->unicode_length),
		.char_sz = unicode_char_sz(state),
		.compact = unicode_is_compact(state),
		.data_addr = addr + (unicode_is_ascii(state) ? layout->unicode_ascii_sz
							     : layout->unicode_compact_sz),
	};
	return 0;
}

/* The first bytes of some text or table, zero behind its end. */
static int read_words(struct read_ahead *ahead, remote_addr_t addr, u64 sz, u64 ret_words[FINGERPRINT_WORDS])
{
	u64 words[FINGERPRINT_WORDS] = {0};
	int err;

	if (sz > sizeof(words))
		sz = sizeof(words);
	err = sz ? read_ahead_read(ahead, addr, words, sz) : 0;
	if (!err)
		memcpy(ret_words, words, sizeof(words));
	return err;
}

static int fingerprint_text(struct read_ahead *ahead, const struct py_layout *layout, remote_addr_t addr,
			    u64 *seed)
{
	u64 words[FINGERPRINT_WORDS] = {0};
	struct text_head head;
	int err = read_text_head(ahead, layout, addr, &head);

	if (err)
		return err;
	if (head.hash == FINGERPRINT_NO_HASH)
		err = read_words(ahead, head.data_addr, head.length * head.char_sz, words);
	if (!err)
		*seed = fingerprint_mix(*seed, fingerprint_text_digest(head.hash, head.length, words));
	return err;
}

static int fingerprint_contents(struct read_ahead *ahead, const struct py_layout *layout,
				const struct span *code, u32 *ret_fingerprint)
{
	remote_addr_t table = span_u64(code, layout->code_linetable);
	u64 seed = fingerprint_mix(0, span_u32(code, layout->code_firstlineno));
	u64 words[FINGERPRINT_WORDS];
	u64 sz;
	int err;

	for (int part = CODE_PART_NAME; part <= CODE_PART_FILENAME; part++) {
		err = fingerprint_text(ahead, layout, text_addr(code, layout, part), &seed);
		if (err)
			return err;
	}
	err = read_u64(ahead, table + layout->bytes_size, &sz);
	if (!err)
		err = read_words(ahead, table + layout->bytes_data, sz, words);
	if (!err)
		*ret_fingerprint =
			fingerprint_finish(fingerprint_mix_words(fingerprint_mix(seed, sz), words));
	return err;
}

static int fingerprint_of(struct read_ahead *ahead, const struct py_layout *layout, const struct span *code,
			  u32 *ret_fingerprint)
{
	if (!(layout->traits & PY_TRAIT_CODE_VERSION))
		return fingerprint_contents(ahead, layout, code, ret_fingerprint);
	*ret_fingerprint = span_u32(code, layout->code_version);
	return 0;
}

static int read_fingerprint(struct read_ahead *ahead, const struct py_layout *layout, remote_addr_t code,
			    u32 *ret_fingerprint)
{
	struct span span;
	int err = read_span(ahead, code, layout->code_sz, &span);

	return err ? err : fingerprint_of(ahead, layout, &span, ret_fingerprint);
}

int code_object_fingerprint(struct remote_mem *mem, const struct py_layout *layout, remote_addr_t code,
			    u32 *ret_fingerprint)
{
	struct read_ahead ahead = {.mem = mem};

	return read_fingerprint(&ahead, layout, code, ret_fingerprint);
}

/* Copies up to `max` of `sz` bytes. */
static int read_part(struct read_ahead *ahead, remote_addr_t addr, u64 sz, size_t max, enum code_part part,
		     struct code_object *object)
{
	struct byte_buf *buf = &object->parts[part];
	int err;

	byte_buf_clear(buf);
	if (sz > max) {
		object->flags |= 1u << part;
		sz = max;
	}
	err = byte_buf_reserve(buf, sz);
	if (!err && sz)
		err = read_ahead_read(ahead, addr, buf->data, sz);
	if (!err)
		buf->sz = sz;
	return err;
}

static int read_text(struct read_ahead *ahead, const struct py_layout *layout, remote_addr_t addr,
		     enum code_part part, struct code_object *object)
{
	struct text_head head;
	int err = read_text_head(ahead, layout, addr, &head);

	if (err)
		return err;
	/* Lengths are signed in CPython: half of the address space bounds every true one. */
	if (!head.compact || !head.char_sz || head.length > INT64_MAX / 4)
		return -EINVAL;
	object->char_sz[part] = (u8)head.char_sz;
	return read_part(ahead, head.data_addr, head.length * head.char_sz, LIMIT_NAME_SZ, part, object);
}

static int read_linetable(struct read_ahead *ahead, const struct py_layout *layout, remote_addr_t addr,
			  struct code_object *object)
{
	u64 sz;
	int err = read_u64(ahead, addr + layout->bytes_size, &sz);

	if (err)
		return err;
	if (sz > INT64_MAX)
		return -EINVAL;
	object->char_sz[CODE_PART_LINETABLE] = 1;
	return read_part(ahead, addr + layout->bytes_data, sz, LIMIT_LINETABLE_SZ, CODE_PART_LINETABLE,
			 object);
}

/* What the heads of the texts and of the table point at is not known yet: so much behind them as most have. */
static int fetch_parts(struct read_ahead *ahead, const struct py_layout *layout, remote_addr_t code,
		       const struct span *span)
{
	remote_addr_t table = span_u64(span, layout->code_linetable);

	for (int part = CODE_PART_NAME; part <= CODE_PART_FILENAME; part++)
		read_ahead_ask(ahead, text_addr(span, layout, part),
			       layout->unicode_compact_sz + AHEAD_TEXT_SZ);
	read_ahead_ask(ahead, table, layout->bytes_data + AHEAD_LINETABLE_SZ);
	read_ahead_mark(ahead);
	read_ahead_ask(ahead, code, layout->code_sz);
	if (!(layout->traits & PY_TRAIT_CODE_VERSION)) {
		for (int part = CODE_PART_NAME; part <= CODE_PART_FILENAME; part++)
			read_ahead_ask(ahead, text_addr(span, layout, part),
				       layout->unicode_compact_sz + LIMIT_FINGERPRINT_LINETABLE_SZ);
		read_ahead_ask(ahead, table, layout->bytes_data + LIMIT_FINGERPRINT_LINETABLE_SZ);
	}
	return read_ahead_fetch(ahead);
}

static int read_parts(struct read_ahead *ahead, const struct py_layout *layout, const struct span *span,
		      struct code_object *object)
{
	int err = 0;

	object->firstlineno = (s32)span_u32(span, layout->code_firstlineno);
	object->flags = 0;
	for (int part = CODE_PART_NAME; !err && part <= CODE_PART_FILENAME; part++)
		err = read_text(ahead, layout, text_addr(span, layout, part), part, object);
	if (!err)
		err = read_linetable(ahead, layout, span_u64(span, layout->code_linetable), object);
	return err;
}

int code_object_read(struct remote_mem *mem, const struct py_layout *layout, remote_addr_t code,
		     u32 fingerprint, struct code_object *object)
{
	struct read_ahead *ahead = &object->ahead;
	struct span span;
	u32 seen;
	int err = read_ahead_begin(ahead, mem);

	if (!err)
		err = read_span(ahead, code, layout->code_sz, &span);
	if (!err)
		err = fetch_parts(ahead, layout, code, &span);
	if (!err)
		err = fingerprint_of(ahead, layout, &span, &seen);
	if (!err && seen != fingerprint)
		err = -ESTALE;
	if (!err)
		err = read_parts(ahead, layout, &span, object);
	if (err)
		return err;
	object->fingerprint = fingerprint;
	read_ahead_look_again(ahead);
	err = read_fingerprint(ahead, layout, code, &seen);
	return err ?: seen == fingerprint ? 0 : -ESTALE;
}

void code_object_init(struct code_object *object)
{
	*object = (struct code_object){0};
	read_ahead_init(&object->ahead);
	for (int part = 0; part < CODE_PART_COUNT; part++)
		byte_buf_init(&object->parts[part],
			      part == CODE_PART_LINETABLE ? LIMIT_LINETABLE_SZ : LIMIT_NAME_SZ);
}

void code_object_release(struct code_object *object)
{
	for (int part = 0; part < CODE_PART_COUNT; part++)
		byte_buf_release(&object->parts[part]);
	read_ahead_release(&object->ahead);
}
