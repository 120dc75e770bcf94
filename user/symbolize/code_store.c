/* SPDX-License-Identifier: Apache-2.0 */
/* The map goes from a 64-bit hash of the key to the entry, which holds the whole key: an entry whose
 * hash is another's replaces it, so equal hashes cost a miss and never a wrong name.
 */
#include "symbolize/code_store.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/id_map.h"

struct code_store {
	struct id_map ids;    /* hash of the key -> entry */
	struct id_map epochs; /* epoch -> first entry of its list */
	struct code_info *infos;
	u8 *used; /* apart from the entries: touched for every frame */
	size_t cnt;
	size_t cap;
	size_t live_cnt;
	size_t max;
	size_t hand; /* of the clock */
	u32 free_idx;
	u64 seed;
};

int code_store_new(struct code_store **ret_store, size_t max_codes)
{
	struct code_store *store = calloc(1, sizeof(*store));

	if (!store)
		return -ENOMEM;
	store->max = max_codes < CODE_STORE_NONE ? max_codes : CODE_STORE_NONE - 1;
	store->free_idx = CODE_STORE_NONE;
	store->seed = hash_seed();
	id_map_init(&store->ids, store->max);
	id_map_init(&store->epochs, store->max);
	*ret_store = store;
	return 0;
}

void code_store_free(struct code_store *store)
{
	if (!store)
		return;
	id_map_release(&store->ids);
	id_map_release(&store->epochs);
	free(store->infos);
	free(store->used);
	free(store);
}

static u64 hash_of(const struct code_store *store, const struct code_key *key)
{
	return hash_mix(hash_mix(store->seed ^ key->epoch, key->code), key->fingerprint);
}

static bool key_equal(const struct code_key *a, const struct code_key *b)
{
	return a->code == b->code && a->epoch == b->epoch && a->fingerprint == b->fingerprint;
}

u32 code_store_find(const struct code_store *store, const struct code_key *key)
{
	u32 idx = id_map_find(&store->ids, hash_of(store, key));

	return idx != ID_MAP_NONE && key_equal(&store->infos[idx].key, key) ? idx : CODE_STORE_NONE;
}

struct code_info *code_store_at(struct code_store *store, u32 idx)
{
	return &store->infos[idx];
}

void code_store_touch(struct code_store *store, u32 idx)
{
	if (idx < store->cnt)
		store->used[idx] = 1;
}

size_t code_store_count(const struct code_store *store)
{
	return store->live_cnt;
}

static int link_epoch(struct code_store *store, u32 idx)
{
	struct code_info *info = &store->infos[idx];
	u32 first = id_map_find(&store->epochs, info->key.epoch);
	int err = id_map_put(&store->epochs, info->key.epoch, idx);

	if (err)
		return err;
	info->prev = CODE_STORE_NONE;
	info->next = first; /* ID_MAP_NONE is CODE_STORE_NONE */
	if (first != CODE_STORE_NONE)
		store->infos[first].prev = idx;
	return 0;
}

static void unlink_epoch(struct code_store *store, const struct code_info *info)
{
	if (info->next != CODE_STORE_NONE)
		store->infos[info->next].prev = info->prev;
	if (info->prev != CODE_STORE_NONE)
		store->infos[info->prev].next = info->next;
	else if (info->next != CODE_STORE_NONE)
		(void)id_map_put(&store->epochs, info->key.epoch, info->next); /* known key: cannot fail */
	else
		id_map_remove(&store->epochs, info->key.epoch);
}

static void drop(struct code_store *store, u32 idx)
{
	struct code_info *info = &store->infos[idx];

	unlink_epoch(store, info);
	id_map_remove(&store->ids, hash_of(store, &info->key));
	info->live = false;
	info->next = store->free_idx;
	store->free_idx = idx;
	store->used[idx] = 0;
	store->live_cnt--;
}

/* Second chance: the hand takes the mark of used entries and the first entry without one. */
static void evict_one(struct code_store *store)
{
	for (;;) {
		u32 idx = (u32)(store->hand++ % store->cnt);

		if (!store->infos[idx].live)
			continue;
		if (!store->used[idx]) {
			drop(store, idx);
			return;
		}
		store->used[idx] = 0;
	}
}

static int grow(struct code_store *store)
{
	size_t cap = store->cap ? store->cap * 2 : 256;
	struct code_info *infos;
	u8 *used;

	infos = reallocarray(store->infos, cap, sizeof(*infos));
	if (!infos)
		return -ENOMEM;
	store->infos = infos;
	used = realloc(store->used, cap);
	if (!used)
		return -ENOMEM;
	store->used = used;
	store->cap = cap;
	return 0;
}

static int take_entry(struct code_store *store, u32 *ret_idx, size_t *evicted)
{
	int err;

	if (store->live_cnt >= store->max) {
		evict_one(store);
		(*evicted)++;
	}
	if (store->free_idx != CODE_STORE_NONE) {
		*ret_idx = store->free_idx;
		store->free_idx = store->infos[*ret_idx].next;
		return 0;
	}
	if (store->cnt == store->cap) {
		err = grow(store);
		if (err)
			return err;
	}
	*ret_idx = (u32)store->cnt++;
	return 0;
}

static int add(struct code_store *store, u64 hash, const struct code_info *info, u32 *ret_idx,
	       size_t *evicted)
{
	u32 idx;
	int err = take_entry(store, &idx, evicted);

	if (err)
		return err;
	store->infos[idx] = *info;
	store->infos[idx].live = false;
	err = id_map_put(&store->ids, hash, idx);
	if (!err) {
		err = link_epoch(store, idx);
		if (err)
			id_map_remove(&store->ids, hash);
	}
	if (err) {
		store->infos[idx].next = store->free_idx;
		store->free_idx = idx;
		return err;
	}
	store->infos[idx].live = true;
	store->used[idx] = 1;
	store->live_cnt++;
	*ret_idx = idx;
	return 0;
}

int code_store_put(struct code_store *store, const struct code_info *info, u32 *ret_idx, size_t *ret_evicted)
{
	u64 hash = hash_of(store, &info->key);
	u32 idx = id_map_find(&store->ids, hash);
	size_t evicted = 0;
	int err;

	if (idx != ID_MAP_NONE && key_equal(&store->infos[idx].key, &info->key)) {
		struct code_info old = store->infos[idx];

		store->infos[idx] = *info;
		store->infos[idx].prev = old.prev;
		store->infos[idx].next = old.next;
		store->infos[idx].live = true;
		*ret_idx = idx;
		*ret_evicted = 0;
		return 0;
	}
	if (idx != ID_MAP_NONE) {
		drop(store, idx);
		evicted++;
	}
	err = add(store, hash, info, ret_idx, &evicted);
	*ret_evicted = evicted;
	return err;
}

size_t code_store_forget(struct code_store *store, u64 epoch)
{
	size_t cnt = 0;

	for (;; cnt++) {
		u32 idx = id_map_find(&store->epochs, epoch);

		if (idx == ID_MAP_NONE)
			return cnt;
		drop(store, idx);
	}
}

size_t code_store_clear(struct code_store *store)
{
	size_t cnt = store->live_cnt;

	id_map_clear(&store->ids);
	id_map_clear(&store->epochs);
	store->cnt = store->live_cnt = store->hand = 0;
	store->free_idx = CODE_STORE_NONE;
	return cnt;
}
