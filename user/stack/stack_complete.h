/* SPDX-License-Identifier: Apache-2.0 */
/* Reads, from a running process, the frames that the kernel side did not: over its frame budget, or on
 * pages that were not resident. The thread may have run on meanwhile, so what this yields is `late`.
 */
#ifndef PANOPY_STACK_STACK_COMPLETE_H
#define PANOPY_STACK_STACK_COMPLETE_H

#include <stddef.h>

#include "base/remote_mem.h"
#include "py_layout.h"
#include "sample.h"
#include "stack/stack_stats.h"

struct stack_completer;

/* `max_frames`: of one completed part; what lies beyond is cut. */
int stack_completer_new(struct stack_completer **ret_completer, size_t max_frames);
void stack_completer_free(struct stack_completer *completer);

/* Walks from the frame at `resume_frame` to the end of the chain; leaf first, without entry frames;
 * fingerprints are 0. The frames stay the completer's, valid until the next call.
 * 0: the chain ended. -EFAULT, -ESRCH, ...: it could not be read to the end. -ELOOP: no end in sight.
 * On failure *ret_frames and *ret_cnt are untouched. */
int stack_complete(struct stack_completer *completer, struct remote_mem *mem, const struct py_layout *layout,
		   remote_addr_t resume_frame, const struct py_frame **ret_frames, size_t *ret_cnt);

const struct stack_stats *stack_completer_stats(const struct stack_completer *completer);

#endif
