/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up weights by function (name and file, whatever the line) and hands out the hottest. */
#ifndef PANOPY_AGGREGATE_HOT_FUNCTIONS_H
#define PANOPY_AGGREGATE_HOT_FUNCTIONS_H

#include "aggregate/profile.h"
#include "base/id_map.h"

struct hot_functions {
	const struct frame_table *frames;
	struct id_map ids; /* name and file -> index */
	struct profile_function *functions;
	size_t cnt;
	size_t cap;
};

void hot_functions_init(struct hot_functions *hot, const struct frame_table *frames);
void hot_functions_release(struct hot_functions *hot);
/* Frames without a name are left out; so is, without memory, a function not seen before. */
void hot_functions_add(struct hot_functions *hot, u32 frame_id, u64 samples, u64 weight_ns);
/* See profile_hottest(). */
size_t hot_functions_take(struct hot_functions *hot, struct profile_function *ret_functions, size_t cap);

#endif
