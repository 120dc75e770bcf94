/* SPDX-License-Identifier: Apache-2.0 */
/* The frames that the kernel side left unread, read from the process and named. */
#ifndef PANOPY_LATE_STACK_H
#define PANOPY_LATE_STACK_H

#include "aggregate/profile.h"
#include "sample.h"
#include "stack/stack_stats.h"
#include "symbolize/code_cache.h"

struct late_stacks;

/* `max_frames`: of one stack; one with more is left as it came. `codes` is not owned. */
int late_stacks_new(struct late_stacks **ret_late, struct code_cache *codes, size_t max_frames);
void late_stacks_free(struct late_stacks *late);

/* Appends the rest of a truncated sample's frames to frame_ids (room for `cap` in all), and makes it `late`;
 * leaves the sample as it is where there is nothing to read on from, or it cannot be read to the end. */
void late_stacks_complete(struct late_stacks *late, const struct code_source *source,
			  const struct sample_record *record, struct profile_sample *sample, u32 *frame_ids,
			  size_t cap);

const struct stack_stats *late_stacks_stats(struct late_stacks *late);

#endif
