/* SPDX-License-Identifier: Apache-2.0 */
/* The images of images/: memory of one blocked thread, how to read it, and its true stack. Over each lies a
 * patched view, in which tests change bytes and take pages away.
 */
#ifndef PANOPY_REPLAY_IMAGE_CASE_H
#define PANOPY_REPLAY_IMAGE_CASE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/remote_mem.h"
#include "py_layout.h"
#include "walker.h"

enum {
	PATCHES_MAX = 16,
	PATCH_INLINE_SZ = 256,
	CHAIN_MAX = 2048,
};

struct patch {
	u64 addr;
	size_t sz;
	bool hole;	 /* reads that touch it fail */
	const u8 *bytes; /* NULL: `own` */
	u8 own[PATCH_INLINE_SZ];
};

/* Later patches win. A patch may also lie where the image has nothing. */
struct patched_mem {
	struct remote_mem *base;
	struct patch patches[PATCHES_MAX];
	size_t cnt;
};

struct truth_frame {
	const char *function;
	const char *file;
	int line;
};

/* One link of the raw chain, entry frames included. */
struct chain_link {
	u64 addr;
	u64 previous;
	u8 owner; /* before 3.11: 1 for a generator's, else 0 */
	bool is_entry;
	bool is_shown;
};

struct image_case {
	char name[128];
	u32 minor; /* 0x030b: 3.11 */
	struct remote_mem *mem;
	struct py_layout layout;
	u64 runtime_addr;
	u64 task_id;
	u64 tid; /* what thread lists are expected to tell */
	u64 user_sp;
	struct truth_frame *truth;
	size_t truth_cnt;
	struct json_object *description;
	struct patched_mem patched;
	/* Of the undamaged image. */
	u64 tstate;
	u64 leaf_slot; /* address of the pointer to the leaf frame */
	struct chain_link chain[CHAIN_MAX];
	size_t chain_cnt;
	struct py_frame *frames;
	u32 frame_cnt;
};

/* All images, sorted by name; exits with a message when there are none or one cannot be read. */
size_t image_cases_load(struct image_case **ret_cases);
void image_cases_free(struct image_case *cases, size_t cnt);

/* Up to 3.10: frames are objects of the heap. */
bool image_case_has_objects(const struct image_case *c);
bool image_case_is(const struct image_case *c, const char *program);

/* Input for a walk over the patched view. Every call gives a new epoch, so nothing is cached. */
struct walker_input image_case_input(struct image_case *c);
void image_case_walk(struct image_case *c, struct walker_output *ret_output);

u64 image_case_u64(struct image_case *c, u64 addr);

int patched_read(void *ctx, u64 addr, void *ret_buf, size_t sz);
void patch_none(struct image_case *c);
void patch_u64(struct image_case *c, u64 addr, u64 value);
void patch_u8(struct image_case *c, u64 addr, u8 value);
/* The bytes are copied (at most PATCH_INLINE_SZ). */
void patch_bytes(struct image_case *c, u64 addr, const void *bytes, size_t sz);
/* The bytes stay the caller's. */
void patch_region(struct image_case *c, u64 addr, const u8 *bytes, size_t sz);
void patch_hole(struct image_case *c, u64 addr, size_t sz);

#endif
