/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/frame_table.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/id_map.h"

/* Room for the strings per frame: a name is 20 bytes on average, a file 40, both mostly shared. */
enum { STRING_BYTES_PER_FRAME = 256 };

struct frame_table {
	struct string_table *strings;
	struct id_map ids;
	struct frame *frames;
	size_t cnt;
	size_t cap;
	size_t max;
	u64 seed;
};

static int reserve(struct frame_table *table)
{
	size_t cap = table->cap ? table->cap * 2 : 256;
	struct frame *frames;

	if (table->cnt < table->cap)
		return 0;
	frames = reallocarray(table->frames, cap, sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	table->frames = frames;
	table->cap = cap;
	return 0;
}

int frame_table_new(struct frame_table **ret_table, size_t max_frames)
{
	struct frame_table *table = calloc(1, sizeof(*table));
	int err;

	if (!table)
		return -ENOMEM;
	if (max_frames > ID_MAP_NONE - FRAME_ID_FIRST)
		max_frames = ID_MAP_NONE - FRAME_ID_FIRST;
	table->max = max_frames + FRAME_ID_FIRST;
	table->seed = hash_seed();
	id_map_init(&table->ids, max_frames);
	/* A floor: a table for a handful of frames still needs their names. */
	err = string_table_new(&table->strings, (1 << 20) + max_frames * STRING_BYTES_PER_FRAME);
	if (!err)
		err = reserve(table);
	if (err) {
		frame_table_free(table);
		return err;
	}
	for (; table->cnt < FRAME_ID_FIRST; table->cnt++)
		table->frames[table->cnt] = (struct frame){0};
	*ret_table = table;
	return 0;
}

void frame_table_free(struct frame_table *table)
{
	if (!table)
		return;
	string_table_free(table->strings);
	id_map_release(&table->ids);
	free(table->frames);
	free(table);
}

struct string_table *frame_table_strings(const struct frame_table *table)
{
	return table->strings;
}

static int add(struct frame_table *table, u64 key, const struct frame *frame, u32 *ret_id)
{
	int err;

	if (table->cnt >= table->max) {
		*ret_id = FRAME_ID_FOLDED;
		return -ENOSPC;
	}
	err = reserve(table);
	if (!err)
		err = id_map_put(&table->ids, key, (u32)table->cnt);
	if (err)
		return err;
	table->frames[table->cnt] = *frame;
	*ret_id = (u32)table->cnt++;
	return 0;
}

int frame_table_intern(struct frame_table *table, const struct frame *frame, u32 *ret_id)
{
	u64 key = hash_mix(table->seed, (u64)frame->qualname_id << 32 | frame->file_id);

	key = hash_mix(key, (u64)(u32)frame->line);
	for (;; key = hash_mix(key, table->seed)) {
		u32 id = id_map_find(&table->ids, key);
		const struct frame *known;

		if (id == ID_MAP_NONE)
			return add(table, key, frame, ret_id);
		known = &table->frames[id];
		if (known->qualname_id == frame->qualname_id && known->file_id == frame->file_id &&
		    known->line == frame->line) {
			*ret_id = id;
			return 0;
		}
	}
}

const struct frame *frame_table_at(const struct frame_table *table, u32 id)
{
	return &table->frames[id < table->cnt ? id : FRAME_ID_FOLDED];
}

size_t frame_table_count(const struct frame_table *table)
{
	return table->cnt;
}
