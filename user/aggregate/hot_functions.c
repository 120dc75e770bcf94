/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregate/hot_functions.h"

#include <stdlib.h>
#include <string.h>

void hot_functions_init(struct hot_functions *hot, const struct frame_table *frames)
{
	*hot = (struct hot_functions){.frames = frames};
	id_map_init(&hot->ids, ID_MAP_NONE);
}

void hot_functions_release(struct hot_functions *hot)
{
	id_map_release(&hot->ids);
	free(hot->functions);
}

static struct profile_function *add_function(struct hot_functions *hot, u64 key)
{
	size_t cap = hot->cap ? hot->cap * 2 : 64;
	struct profile_function *functions;

	if (hot->cnt == hot->cap) {
		functions = reallocarray(hot->functions, cap, sizeof(*functions));
		if (!functions)
			return NULL;
		hot->functions = functions;
		hot->cap = cap;
	}
	if (id_map_put(&hot->ids, key, (u32)hot->cnt))
		return NULL;
	hot->functions[hot->cnt] = (struct profile_function){
		.qualname_id = (u32)(key >> 32),
		.file_id = (u32)key,
	};
	return &hot->functions[hot->cnt++];
}

void hot_functions_add(struct hot_functions *hot, u32 frame_id, u64 samples, u64 weight_ns)
{
	const struct frame *frame = frame_table_at(hot->frames, frame_id);
	u64 key = (u64)frame->qualname_id << 32 | frame->file_id;
	struct profile_function *function;
	u32 idx;

	if (frame_id < FRAME_ID_FIRST)
		return;
	idx = id_map_find(&hot->ids, key);
	function = idx == ID_MAP_NONE ? add_function(hot, key) : &hot->functions[idx];
	if (!function)
		return;
	function->self_samples += samples;
	function->self_weight_ns += weight_ns;
}

static int compare(const void *left, const void *right, void *strings)
{
	const struct profile_function *a = left, *b = right;
	int order;

	if (a->self_samples != b->self_samples)
		return a->self_samples < b->self_samples ? 1 : -1;
	order = strcmp(string_table_at(strings, a->qualname_id, NULL),
		       string_table_at(strings, b->qualname_id, NULL));
	if (order)
		return order;
	return strcmp(string_table_at(strings, a->file_id, NULL), string_table_at(strings, b->file_id, NULL));
}

size_t hot_functions_take(struct hot_functions *hot, struct profile_function *ret_functions, size_t cap)
{
	size_t cnt = hot->cnt < cap ? hot->cnt : cap;

	if (!cnt)
		return 0;
	qsort_r(hot->functions, hot->cnt, sizeof(*hot->functions), compare, frame_table_strings(hot->frames));
	memcpy(ret_functions, hot->functions, cnt * sizeof(*ret_functions));
	return cnt;
}
