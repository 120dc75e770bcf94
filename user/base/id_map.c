/* SPDX-License-Identifier: Apache-2.0 */
/* Linear probing at a load of at most 1/2, where a miss mostly ends in the slot's own cache line; removal
 * shifts the rest of the run back, so that there are no tombstones and look-ups never grow longer with age.
 */
#include "base/id_map.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"

enum {
	CAP_FIRST = 64,
	/* Of x86-64 and aarch64 with pages of 4 KiB; with others it is only an alignment. */
	HUGE_PAGE_SZ = 2 << 20,
};

void id_map_init(struct id_map *map, size_t max)
{
	*map = (struct id_map){.max = max, .seed = hash_seed()};
}

void id_map_release(struct id_map *map)
{
	free(map->slots);
	*map = (struct id_map){.max = map->max, .seed = map->seed};
}

void id_map_clear(struct id_map *map)
{
	for (size_t i = 0; i < map->cap; i++)
		map->slots[i].value = ID_MAP_NONE;
	map->cnt = 0;
}

static void insert_new(struct id_map *map, u64 key, u32 value)
{
	size_t i = id_map_home(map, key);

	while (map->slots[i].value != ID_MAP_NONE)
		i = (i + 1) & (map->cap - 1);
	map->slots[i] = (struct id_map_slot){.key = key, .value = value};
	map->cnt++;
}

/* A look-up in a large table waits for its page's address as long as for the slot, unless pages are huge. */
static struct id_map_slot *slots_alloc(size_t cap)
{
	size_t sz = cap * sizeof(struct id_map_slot);
	struct id_map_slot *slots;

	if (sz < HUGE_PAGE_SZ)
		return malloc(sz);
	slots = aligned_alloc(HUGE_PAGE_SZ, sz);
	if (slots)
		madvise(slots, sz, MADV_HUGEPAGE); /* may be refused: then it is only slower */
	return slots;
}

static int grow(struct id_map *map)
{
	struct id_map_slot *old_slots = map->slots;
	size_t old_cap = map->cap;
	size_t cap = old_cap ? old_cap * 2 : CAP_FIRST;
	struct id_map_slot *slots;

	if (cap > SIZE_MAX / 2 / sizeof(*slots))
		return -ENOMEM;
	slots = slots_alloc(cap);
	if (!slots)
		return -ENOMEM;
	map->slots = slots;
	map->cap = cap;
	id_map_clear(map);
	for (size_t i = 0; i < old_cap; i++) {
		if (old_slots[i].value != ID_MAP_NONE)
			insert_new(map, old_slots[i].key, old_slots[i].value);
	}
	free(old_slots);
	return 0;
}

static struct id_map_slot *find_slot(const struct id_map *map, u64 key)
{
	if (!map->cap)
		return NULL;
	for (size_t i = id_map_home(map, key);; i = (i + 1) & (map->cap - 1)) {
		if (map->slots[i].value == ID_MAP_NONE)
			return NULL;
		if (map->slots[i].key == key)
			return &map->slots[i];
	}
}

int id_map_put(struct id_map *map, u64 key, u32 value)
{
	struct id_map_slot *slot;
	int err;

	if (value == ID_MAP_NONE)
		return -EINVAL;
	slot = find_slot(map, key);
	if (slot) {
		slot->value = value;
		return 0;
	}
	if (map->cnt >= map->max)
		return -ENOSPC;
	if (map->cnt + 1 > map->cap / 2) {
		err = grow(map);
		if (err)
			return err;
	}
	insert_new(map, key, value);
	return 0;
}

bool id_map_remove(struct id_map *map, u64 key)
{
	struct id_map_slot *slot = find_slot(map, key);
	size_t hole, mask = map->cap - 1;

	if (!slot)
		return false;
	hole = (size_t)(slot - map->slots);
	for (size_t i = (hole + 1) & mask; map->slots[i].value != ID_MAP_NONE; i = (i + 1) & mask) {
		size_t home = id_map_home(map, map->slots[i].key);

		/* It may move back only as far as its home: is the hole on the way there? */
		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		map->slots[hole] = map->slots[i];
		hole = i;
	}
	map->slots[hole].value = ID_MAP_NONE;
	map->cnt--;
	return true;
}
