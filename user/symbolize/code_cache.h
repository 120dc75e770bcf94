/* SPDX-License-Identifier: Apache-2.0 */
/* Names frames: (epoch, code address, fingerprint) -> code_info -> frame id.
 *
 * The fingerprint is part of the key, so a reused address is a miss, never a wrong name. Filled from
 * the kernel's code records, and by reading the live process where a record was cut, lost or never
 * sent; such a read counts only if the fingerprint in the target equals the sample's before and after.
 */
#ifndef PANOPY_SYMBOLIZE_CODE_CACHE_H
#define PANOPY_SYMBOLIZE_CODE_CACHE_H

#include <stdbool.h>
#include <sys/types.h>

#include "symbolize/frame_table.h"
#include "base/remote_mem.h"
#include "py_layout.h"
#include "sample.h"

struct code_cache;

struct code_cache_config {
	struct frame_table *frames; /* not owned; must outlive the cache */
	size_t max_codes;	    /* 0: the default, 1 million; the least recently used go first */
	size_t max_table_bytes;	    /* location tables, shared by equal ones; 0: the default, 32 MiB */
	bool full_paths;	    /* files by their whole path, not from their package's root on */
	bool no_lines;		    /* every frame's line is 0 */
};

struct code_cache_stats {
	u64 codes; /* held now */
	u64 hits;
	u64 misses;	  /* not known: read from the process */
	u64 remote_reads; /* code objects read from a process */
	u64 stale;	  /* remote reads whose fingerprint was another */
	u64 evicted;
	u64 invalid; /* records or objects that made no sense */
};

/* How to reach the process a frame belongs to. */
struct code_source {
	u64 epoch;
	const struct py_layout *layout;
	struct remote_mem *mem;	   /* NULL when the process is gone */
	remote_addr_t image_start; /* of the interpreter image: where static code objects live */
	remote_addr_t image_end;
	pid_t pid; /* to look at its file system; 0 when the process is gone */
};

int code_cache_new(struct code_cache **ret_cache, const struct code_cache_config *config);
void code_cache_free(struct code_cache *cache);

/* Takes in a record as it came from the ring (`sz` bytes, checked here). -EINVAL: makes no sense. */
int code_cache_on_record(struct code_cache *cache, const struct code_record *record, size_t sz,
			 const struct code_source *source);

/* The frame's id; FRAME_ID_UNNAMED when its code object died before it could be named. */
enum frame_name_result {
	FRAME_NAMED = 0,
	FRAME_UNNAMED = 1,
	FRAME_HIDDEN = 2,   /* interpreter-made (CPython 3.12+'s __init__ shim): not shown */
	FRAME_LINELESS = 3, /* named, but its line is not known: no location table, or a cut one */
};
enum frame_name_result code_cache_name(struct code_cache *cache, const struct code_source *source,
				       const struct py_frame *frame, u32 *ret_frame_id);

/* For frames that will be named next: the waits for memory overlap. */
void code_cache_prefetch(const struct code_cache *cache, u64 epoch, const struct py_frame *frames,
			 size_t cnt);

/* The process with this epoch is gone for good: its entries may be dropped. */
void code_cache_forget(struct code_cache *cache, u64 epoch);

const struct code_cache_stats *code_cache_stats(const struct code_cache *cache);

#endif
