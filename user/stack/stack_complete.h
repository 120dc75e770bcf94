/* SPDX-License-Identifier: Apache-2.0 */
/* Reads, from a running process, the frames that the kernel side did not: over its frame budget, or on
 * pages that were not resident. The thread may have run on meanwhile, so what this yields is `late`.
 */
#ifndef PANOPY_STACK_STACK_COMPLETE_H
#define PANOPY_STACK_STACK_COMPLETE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/remote_mem.h"
#include "py_layout.h"
#include "sample.h"
#include "stack/stack_stats.h"

struct stack_completer;

struct stack_completer_config {
	size_t max_frames;	  /* of one completed part; a longer one fails */
	size_t max_threads;	  /* whose last stack is remembered; 0: the default, 1,024 */
	size_t max_cached_frames; /* of all of them; 0: the default, 1 million */
};

int stack_completer_new(struct stack_completer **ret_completer, const struct stack_completer_config *config);
void stack_completer_free(struct stack_completer *completer);

enum {
	/* Stacks with more frames left to read than this are read whole once a second and thread. */
	STACK_DEEP_FRAMES = 4096,
	/* In between, so many frames in a row must be what they were, to take the ones below from then. */
	STACK_JOIN_FRAMES = 16,
};

struct stack_request {
	struct remote_mem *mem;
	const struct py_layout *layout;
	u64 epoch;
	u32 tid;
	u64 time_ns; /* of the sample */
	remote_addr_t resume_frame;
};

/* Names frames; the ids are the caller's. */
struct stack_namer {
	void *ctx;
	/* The fingerprints that code objects have now; 0 where one cannot be read. Not called for those that
	 * were read along with the frames. A failure leaves frames without a fingerprint. */
	int (*read_fingerprints)(void *ctx, const u64 *codes, size_t cnt, u32 *ret_fingerprints);
	/* False: the id is not to be remembered, the frame is asked for again next time. */
	bool (*name)(void *ctx, const struct py_frame *frame, u32 *ret_id);
};

/* Leaf first, without entry frames; the completer's, valid until the next call. */
struct completed_stack {
	const struct py_frame *frames;
	const u32 *frame_ids;
	size_t cnt;
};

/* Walks from the frame at `resume_frame` to the end of the chain.
 * 0: the chain ended as it must. -EFAULT, -ESRCH, ...: it could not be read to the end. -ELOOP: no end in
 * sight. -E2BIG: too costly to read. -EAGAIN: deep, and read whole too short a time ago.
 * On failure *ret_stack is untouched. */
int stack_complete(struct stack_completer *completer, const struct stack_request *request,
		   const struct stack_namer *namer, struct completed_stack *ret_stack);

const struct stack_stats *stack_completer_stats(const struct stack_completer *completer);

#endif
