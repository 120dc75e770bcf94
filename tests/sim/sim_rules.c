/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_rules.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { CHAIN_MAX_FRAMES = 4096, CHUNKS_MAX = 256 };

struct checker {
	const struct py_layout *layout;
	walker_read_fn read;
	void *ctx;
	bool faulted;
	u64 chunk, lo, hi; /* of the data stack chunk that the last ordinary frame was in */
	u64 last_ordinary;
	u64 last_entry;
	u64 outer_frame; /* 3.11, 3.12: current_frame of the outer cframe */
	bool entry_seen;
};

struct chain_frame {
	u64 addr, executable, previous;
	u8 owner;
	bool is_entry;
};

static u64 word(struct checker *c, u64 addr)
{
	u64 value = 0;

	if (c->read(c->ctx, addr, &value, sizeof(value)))
		c->faulted = true;
	return value;
}

static struct chain_frame frame_at(struct checker *c, u64 addr)
{
	const struct py_layout *layout = c->layout;
	u8 bytes[LIMIT_FRAME_SPAN] = {0};
	struct chain_frame frame = {.addr = addr};

	if (layout->frame_sz > sizeof(bytes) || c->read(c->ctx, addr, bytes, layout->frame_sz))
		c->faulted = true;
	memcpy(&frame.executable, bytes + layout->frame_executable, sizeof(u64));
	memcpy(&frame.previous, bytes + layout->frame_previous, sizeof(u64));
	frame.owner = bytes[layout->frame_owner];
	frame.is_entry = layout->traits & PY_TRAIT_OWNER_ENTRY ? frame.owner >= layout->owner_entry
							       : bytes[layout->frame_is_entry] != 0;
	return frame;
}

static bool is_in_chunk(const struct checker *c, u64 addr)
{
	return addr >= c->lo && addr < c->hi;
}

static const char *check_ordinary(struct checker *c, const struct chain_frame *frame)
{
	const struct py_layout *layout = c->layout;

	for (int i = 0; !is_in_chunk(c, frame->addr); i++) {
		u64 top, size;

		c->chunk = word(c, c->chunk + layout->chunk_previous);
		if (!c->chunk || i == CHUNKS_MAX)
			return "an ordinary frame lies in a chunk of its thread";
		top = word(c, c->chunk + layout->chunk_top);
		size = word(c, c->chunk + layout->chunk_size);
		if (top > size / sizeof(u64))
			return "a chunk's top lies inside it";
		c->lo = c->chunk + layout->chunk_data;
		c->hi = c->lo + top * sizeof(u64);
		c->last_ordinary = ~0ULL;
	}
	if (frame->addr >= c->last_ordinary)
		return "ordinary frames descend within a chunk";
	c->last_ordinary = frame->addr;
	return NULL;
}

static const char *check_frame(struct checker *c, const struct chain_frame *frame)
{
	const struct py_layout *layout = c->layout;
	bool is_shown = !(layout->traits & PY_TRAIT_OWNER_ENTRY) || !frame->is_entry;

	if (frame->is_entry && !c->entry_seen) {
		c->entry_seen = true;
		if ((layout->traits & PY_TRAIT_CFRAME) && frame->previous != c->outer_frame)
			return "the first entry frame links to the outer evaluation";
	}
	if (!is_shown) {
		if (frame->addr <= c->last_entry)
			return "entry frames lie above the stack pointer and ascend";
		c->last_entry = frame->addr;
	} else if (!frame->executable) {
		return "a frame has code";
	} else if (frame->owner == 0) {
		const char *broken = check_ordinary(c, frame);

		if (broken)
			return broken;
	} else if (frame->owner != 1) {
		return "frames are ordinary ones, generators' or entry frames";
	} else if (is_in_chunk(c, frame->addr)) {
		return "a generator's frame does not lie in a chunk";
	}
	if (!frame->previous && (!frame->is_entry || (layout->traits & PY_TRAIT_BASE_FRAME)))
		return "a chain ends at an entry frame, from 3.15 on at the base frame";
	return NULL;
}

static u64 first_frame(struct checker *c, u64 tstate)
{
	const struct py_layout *layout = c->layout;
	u64 addr = word(c, tstate + layout->tstate_frame), outer;

	if (!(layout->traits & PY_TRAIT_CFRAME))
		return addr;
	outer = word(c, addr + layout->cframe_previous);
	if (!outer)
		return 0;
	c->outer_frame = word(c, outer + layout->cframe_current_frame);
	return word(c, addr + layout->cframe_current_frame);
}

/* Up to 3.10: a chain of objects of one type; the last is no generator's. */
static const char *check_objects(struct checker *c, u64 frame)
{
	const struct py_layout *layout = c->layout;
	u64 type = frame ? word(c, frame + layout->object_type) : 0;

	for (int i = 0; frame && !c->faulted; i++) {
		u64 previous = word(c, frame + layout->frame_previous);

		if (word(c, frame + layout->object_type) != type)
			return "frames are of one type";
		if (!word(c, frame + layout->frame_executable))
			return "a frame has code";
		if (!previous && word(c, frame + layout->frame_owner))
			return "a generator's frame was resumed by another";
		if (i == CHAIN_MAX_FRAMES)
			return "chains end";
		frame = previous;
	}
	return c->faulted ? "frames are mapped" : NULL;
}

const char *sim_rules_broken(const struct py_layout *layout, u64 tstate, u64 user_sp, walker_read_fn read,
			     void *ctx)
{
	struct checker c = {.layout = layout, .read = read, .ctx = ctx, .last_ordinary = ~0ULL};
	u64 base = 0, addr;

	if (layout->traits & PY_TRAIT_FRAME_OBJECT)
		return check_objects(&c, word(&c, tstate + layout->tstate_frame));
	c.last_entry = user_sp;
	c.chunk = word(&c, tstate + layout->tstate_datastack_chunk);
	c.lo = c.chunk + layout->chunk_data;
	c.hi = word(&c, tstate + layout->tstate_datastack_top);
	if (layout->traits & PY_TRAIT_BASE_FRAME)
		base = word(&c, tstate + layout->tstate_base_frame);
	addr = first_frame(&c, tstate);
	for (int i = 0; addr && addr != base; i++) {
		struct chain_frame frame = frame_at(&c, addr);
		const char *broken = c.faulted ? "frames are mapped" : check_frame(&c, &frame);

		if (broken)
			return broken;
		if (i == CHAIN_MAX_FRAMES)
			return "chains end";
		addr = frame.previous;
	}
	return c.faulted ? "the thread state is mapped" : NULL;
}
