/* SPDX-License-Identifier: Apache-2.0 */
/* Text lies in chunks that never move. The map goes from a 64-bit hash of the text to its id; a text
 * whose hash is taken by another goes to the next hash of a fixed sequence, so equal hashes cost a
 * step and never an error.
 */
#include "symbolize/string_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/id_map.h"

enum {
	CHUNK_SZ = 1 << 16,
	/* What a string costs besides its text: its entry and its share of the map. */
	OVERHEAD_SZ = 48,
};

struct chunk {
	struct chunk *next;
	size_t sz;
	size_t cap;
	char text[];
};

struct entry {
	const char *text;
	u32 sz;
};

struct string_table {
	struct id_map ids;
	struct entry *entries;
	size_t cnt;
	size_t cap;
	struct chunk *chunks; /* the first one is being filled */
	size_t bytes;
	size_t max_bytes;
	u64 seed;
};

int string_table_new(struct string_table **ret_table, size_t max_bytes)
{
	struct string_table *table = calloc(1, sizeof(*table));
	u32 id;
	int err;

	if (!table)
		return -ENOMEM;
	table->max_bytes = max_bytes;
	table->seed = hash_seed();
	id_map_init(&table->ids, ID_MAP_NONE);
	err = string_table_intern(table, "", 0, &id);
	if (err) {
		string_table_free(table);
		return err;
	}
	*ret_table = table;
	return 0;
}

void string_table_free(struct string_table *table)
{
	if (!table)
		return;
	for (struct chunk *chunk = table->chunks, *next; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	id_map_release(&table->ids);
	free(table->entries);
	free(table);
}

static int reserve_entry(struct string_table *table)
{
	size_t cap = table->cap ? table->cap * 2 : 256;
	struct entry *entries;

	if (table->cnt < table->cap)
		return 0;
	entries = reallocarray(table->entries, cap, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	table->entries = entries;
	table->cap = cap;
	return 0;
}

/* NULL: no memory. A text larger than a chunk gets one of its own, behind the one being filled. */
static char *reserve_text(struct string_table *table, size_t sz)
{
	struct chunk *chunk = table->chunks;
	size_t cap = sz > CHUNK_SZ ? sz : CHUNK_SZ;

	if (chunk && sz <= chunk->cap - chunk->sz)
		return chunk->text + chunk->sz;
	chunk = malloc(sizeof(*chunk) + cap);
	if (!chunk)
		return NULL;
	chunk->sz = 0;
	chunk->cap = cap;
	chunk->next = table->chunks;
	table->chunks = chunk;
	return chunk->text;
}

static int add(struct string_table *table, u64 key, const char *text, size_t sz, u32 *ret_id)
{
	char *copy;
	int err;

	if (sz > table->max_bytes || table->max_bytes - sz < OVERHEAD_SZ ||
	    table->bytes > table->max_bytes - sz - OVERHEAD_SZ || table->cnt >= ID_MAP_NONE - 1)
		return -ENOSPC;
	err = reserve_entry(table);
	if (err)
		return err;
	copy = reserve_text(table, sz + 1);
	if (!copy)
		return -ENOMEM;
	err = id_map_put(&table->ids, key, (u32)table->cnt);
	if (err)
		return err;
	if (sz)
		memcpy(copy, text, sz);
	copy[sz] = '\0';
	table->chunks->sz += sz + 1;
	table->bytes += sz + OVERHEAD_SZ;
	table->entries[table->cnt] = (struct entry){.text = copy, .sz = (u32)sz};
	*ret_id = (u32)table->cnt++;
	return 0;
}

int string_table_intern(struct string_table *table, const char *text, size_t sz, u32 *ret_id)
{
	u64 key = hash_bytes(table->seed, text, sz);

	if (sz >= UINT32_MAX)
		return -ENOSPC;
	for (;; key = hash_mix(key, table->seed)) {
		u32 id = id_map_find(&table->ids, key);

		if (id == ID_MAP_NONE)
			return add(table, key, text, sz, ret_id);
		if (table->entries[id].sz == sz && (!sz || memcmp(table->entries[id].text, text, sz) == 0)) {
			*ret_id = id;
			return 0;
		}
	}
}

const char *string_table_at(const struct string_table *table, u32 id, size_t *ret_sz)
{
	const struct entry *entry = &table->entries[id < table->cnt ? id : 0];

	if (ret_sz)
		*ret_sz = entry->sz;
	return entry->text;
}
