/* SPDX-License-Identifier: Apache-2.0 */
/* Open-addressing map u64 -> u32 for the per-frame paths: one probe is one cache line. */
#ifndef PANOPY_BASE_ID_MAP_H
#define PANOPY_BASE_ID_MAP_H

#include <stdbool.h>
#include <stddef.h>

#include "shared_types.h"

/* "Not found"; cannot be stored as a value. */
#define ID_MAP_NONE 0xffffffffu

struct id_map_slot {
	u64 key;
	u32 value; /* ID_MAP_NONE: free */
};

/* Embedded; visible so that the look-up is inlined. */
struct id_map {
	struct id_map_slot *slots;
	size_t cap; /* a power of two, or 0 */
	size_t cnt;
	size_t max;
	u64 seed;
};

/* Holds at most `max` entries. Allocates nothing before the first insert. */
void id_map_init(struct id_map *map, size_t max);
void id_map_release(struct id_map *map);
/* Forgets the entries, keeps the memory. */
void id_map_clear(struct id_map *map);

/* Any key; a known key gets the new value. -ENOSPC at `max` entries, -ENOMEM, -EINVAL for
 * ID_MAP_NONE; the map is then unchanged. */
int id_map_put(struct id_map *map, u64 key, u32 value);
/* False when the key is not there. */
bool id_map_remove(struct id_map *map, u64 key);

static inline size_t id_map_home(const struct id_map *map, u64 key)
{
	u64 hash = (key ^ map->seed) * 0x9e3779b97f4a7c15ULL;

	hash ^= hash >> 32;
	hash *= 0xd6e8feb86659fd93ULL;
	return (size_t)(hash >> 32) & (map->cap - 1);
}

/* For a key that will be looked for soon. */
static inline void id_map_prefetch(const struct id_map *map, u64 key)
{
	if (map->cap)
		__builtin_prefetch(&map->slots[id_map_home(map, key)]);
}

/* ID_MAP_NONE when the key is not there. */
static inline u32 id_map_find(const struct id_map *map, u64 key)
{
	if (!map->cap)
		return ID_MAP_NONE;
	for (size_t i = id_map_home(map, key);; i = (i + 1) & (map->cap - 1)) {
		const struct id_map_slot *slot = &map->slots[i];

		if (slot->value == ID_MAP_NONE || slot->key == key)
			return slot->value;
	}
}

#endif
