/* SPDX-License-Identifier: Apache-2.0 */
/* Of each thread whose stacks are completed in user space, the last one: where its frames lay, what stood in
 * them and what they were named.
 *
 * The rule: the cache predicts and names; it never vouches.
 *   - It predicts: the addresses say which memory to read next. Whatever is read there is followed by its
 *     own `previous`, so a wrong prediction costs a read and nothing else.
 *   - It names: a frame that was read now and holds what it held then (address, code, instruction, owner,
 *     previous) takes over its finished frame, if its code object is proven to be the one of then. Equal
 *     addresses prove nothing: a code object may be freed and another made at its place. The proof is the
 *     fingerprint that the cached frame's code object had, found again behind the reading of the frame:
 *     from CPython 3.12 on that is a number that no other code object ever had. (3.14's counter of freed
 *     code objects is no proof here: a frame that is read late may name one that was freed before the
 *     counter was read, and making another at its place leaves the counter as it is.) Before 3.12 it is a
 *     hash of the contents: another code object, made for a moment in between, would go unseen.
 *   - It never vouches: a frame that is unchanged proves nothing about the frames that called it, because
 *     all may have returned and been called again meanwhile, from another line of the parent. So every
 *     parent is read, too, and the whole is `late`, as without a cache.
 * One exception, counted apart: stacks so deep that reading them whole is allowed once a second only. In
 * between, the part that is read must lead to frames that are unchanged, and the root's part is that of the
 * last whole read: up to a second old, hence `late`, too.
 */
#ifndef PANOPY_STACK_FRAME_CACHE_H
#define PANOPY_STACK_FRAME_CACHE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/id_map.h"
#include "shared_types.h"
#include "stack/stack_stats.h"

enum {
	/* No finished frame: an entry frame, or one whose name is not to be remembered. */
	CACHED_FRAME_UNNAMED = ~0u,
	CACHED_CODES_MAX = 512,
};

#define CACHED_FRAME_NONE ((size_t)-1)

struct cached_frame {
	u64 addr;
	u64 code; /* without tag bits */
	u64 instr;
	u32 fingerprint; /* of the code object; 0: not known, or it has none */
	u32 frame_id;	 /* CACHED_FRAME_UNNAMED, or whatever the caller names frames by */
	s32 instr_off;	 /* bytes from the first instruction */
	u8 owner;
};

struct cached_stack {
	u64 epoch;
	u32 tid;
	u64 *codes; /* of the code objects of `frames`, up to CACHED_CODES_MAX */
	size_t code_cnt;
	u64 deep_ns;		     /* when it was last read at great cost, in vain or not; 0: never */
	struct cached_frame *frames; /* root first: the `previous` of each is the one before it */
	size_t cnt;
	/* The cache's own. */
	size_t cap;
	u64 used;
	struct id_map index; /* address -> place in `frames`; some lead to frames that are gone */
};

struct frame_cache;

/* `max_frames`: of all threads together; some 100 bytes each. `stats`: evictions are counted there. */
int frame_cache_new(struct frame_cache **ret_cache, size_t max_threads, size_t max_frames,
		    struct stack_stats *stats);
void frame_cache_free(struct frame_cache *cache);

/* The thread's stack, empty at first sight. Valid until the next call: the one used longest ago may be
 * evicted for it. */
struct cached_stack *frame_cache_get(struct frame_cache *cache, u64 epoch, u32 tid);

/* Adds a frame at the leaf's end. Another thread's frames may be evicted for it. -ENOSPC: more than all may
 * have together. -ENOMEM. The stack is then a shorter one, still from the root on. */
int frame_cache_push(struct frame_cache *cache, struct cached_stack *stack, const struct cached_frame *frame);

/* What `codes` shall be; more than CACHED_CODES_MAX are cut. */
int cached_stack_set_codes(struct cached_stack *stack, const u64 *codes, size_t cnt);

/* Keeps the `cnt` frames nearest the root. */
void cached_stack_cut(struct cached_stack *stack, size_t cnt);
/* The place of the frame at `addr`, or CACHED_FRAME_NONE. */
size_t cached_stack_find(const struct cached_stack *stack, u64 addr);

#endif
