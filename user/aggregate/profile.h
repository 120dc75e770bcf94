/* SPDX-License-Identifier: Apache-2.0 */
/* The finished model: interned strings and frames, a prefix tree of stacks with weights per process
 * and thread, and every loss by name. Exporters read it through the iterators below.
 *
 * Memory is bounded by struct profile_config: past max_nodes (of the tree, and of distinct stacks per
 * thread) new stacks are folded into their deepest known ancestor and the sample counts as `folded`
 * (flagged, never lost); past max_frames a new frame becomes FRAME_ID_FOLDED; past max_threads new
 * threads of a process become one of tid 0.
 */
#ifndef PANOPY_AGGREGATE_PROFILE_H
#define PANOPY_AGGREGATE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "symbolize/frame_table.h"
#include "sample.h"

struct profile;

struct profile_config {
	size_t max_nodes;   /* 0: the default, 4 million */
	size_t max_frames;  /* 0: the default, 1 million */
	size_t max_threads; /* 0: the default, 1 million */
};

int profile_new(struct profile **ret_profile, const struct profile_config *config);
void profile_free(struct profile *profile);

struct frame_table *profile_frames(struct profile *profile);

/* One finished sample. frame ids leaf first, as the kernel sends them. */
struct profile_sample {
	u32 process_id; /* process_table id */
	u32 tid;
	const char *thread_comm;
	u64 time_ns;
	u64 weight_ns;
	u8 status;	  /* enum sample_status */
	u8 reason;	  /* enum sample_reason */
	u32 unnamed_cnt;  /* how many of the frames are FRAME_ID_UNNAMED */
	u32 lineless_cnt; /* how many have a line that is not known */
	const u32 *frame_ids;
	size_t frame_cnt;
};

/* No stack; never what profile_add() or profile_place() name one by. */
enum { PROFILE_NODE_NONE = ~0u };

/* -EINVAL: a status or reason out of range, or a process id above 16 million. -ENOMEM: not counted.
 * ret_node (may be NULL): names the stack, one that was folded too, to profile_repeat(). */
int profile_add(struct profile *profile, const struct profile_sample *sample, u32 *ret_node);

/* Names a stack without counting a sample of it; errors as above. */
int profile_place(struct profile *profile, const struct profile_sample *sample, u32 *ret_node);

/* One more sample of a stack that profile_add or profile_place named; `sample` carries what it would there
 * (its status and reason may be others) but no frames. */
int profile_repeat(struct profile *profile, const struct profile_sample *sample, u32 node);

/* Totals, kept per process and for the whole. */
struct profile_totals {
	u64 samples;
	u64 weight_ns;
	u64 by_status[SAMPLE_STATUS_COUNT];
	u64 by_reason[SAMPLE_REASON_COUNT];	     /* of truncated ones, and of those without frames */
	u64 late_by_reason[SAMPLE_REASON_NO_FRAMES]; /* why the kernel side had not read them whole */
	u64 unnamed_samples;			     /* with at least one unnamed frame */
	u64 unnamed_frames;
	u64 lineless_samples; /* with at least one frame whose line is not known */
	u64 lineless_frames;
	u64 folded_samples;	   /* in a shorter stack: the tree was full */
	u64 folded_frame_samples;  /* with at least one FRAME_ID_FOLDED */
	u64 folded_thread_samples; /* of threads that found no room */
	u64 flawed_samples;	   /* late, truncated, folded, or with a frame that is unnamed or folded */
};

const struct profile_totals *profile_totals(const struct profile *profile);
/* NULL when no sample of that process was added. */
const struct profile_totals *profile_process_totals(const struct profile *profile, u32 process_id);
/* With samples, both. */
size_t profile_process_count(const struct profile *profile);
size_t profile_thread_count(const struct profile *profile);

/* One distinct stack of one thread. */
struct profile_stack {
	u32 process_id;
	u32 tid;
	const char *thread_name; /* the last comm seen for the thread */
	u8 status;
	u8 reason;
	bool folded;	      /* frames are missing at the leaf end: there was no room for them */
	const u32 *frame_ids; /* root first */
	size_t frame_cnt;
	u64 samples;
	u64 weight_ns;
};

/* Every distinct (process, thread, status, reason, stack), in no particular order; stops at the first
 * non-zero return and returns it. */
int profile_for_each_stack(const struct profile *profile,
			   int (*on_stack)(void *ctx, const struct profile_stack *stack), void *ctx);

/* The functions with the most samples at the leaf. */
struct profile_function {
	u32 qualname_id; /* string ids in the frame table's string table */
	u32 file_id;
	u64 self_samples;
	u64 self_weight_ns;
};

/* Fills up to `cap` entries, hottest first, ties by name; returns how many. */
size_t profile_hottest(const struct profile *profile, struct profile_function *ret_functions, size_t cap);

#endif
