/* SPDX-License-Identifier: Apache-2.0 */
/* The code objects that the code cache holds: a bounded table by (epoch, address, fingerprint), with a
 * clock for eviction and a list per epoch so that a process's entries go at once.
 */
#ifndef PANOPY_SYMBOLIZE_CODE_STORE_H
#define PANOPY_SYMBOLIZE_CODE_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include "shared_types.h"

#define CODE_STORE_NONE 0xffffffffu

struct code_key {
	u64 epoch;
	u64 code;
	u32 fingerprint;
};

struct code_info {
	struct code_key key;
	u32 qualname_id;
	u32 file_id;
	u32 table_id; /* the location table's bytes; CODE_INFO_NO_TABLE */
	s32 firstlineno;
	u32 prev, next; /* of the same epoch; `next` also links free entries */
	bool hidden;
	bool complete; /* nothing was cut: never replaced */
	bool live;
};

struct code_store;

int code_store_new(struct code_store **ret_store, size_t max_codes);
void code_store_free(struct code_store *store);

/* CODE_STORE_NONE when not there. */
u32 code_store_find(const struct code_store *store, const struct code_key *key);
struct code_info *code_store_at(struct code_store *store, u32 idx);
/* Marks the entry as used; harmless for one that has been dropped since. */
void code_store_touch(struct code_store *store, u32 idx);

/* Adds or replaces; prev, next and live are the store's. *ret_evicted: entries dropped for it.
 * -ENOMEM. */
int code_store_put(struct code_store *store, const struct code_info *info, u32 *ret_idx, size_t *ret_evicted);
/* Return how many entries went. */
size_t code_store_forget(struct code_store *store, u64 epoch);
size_t code_store_clear(struct code_store *store);
size_t code_store_count(const struct code_store *store);

#endif
