/* SPDX-License-Identifier: Apache-2.0 */
/* What was read later has no fingerprint of the sample's time; the present one serves, as the stack is
 * flagged as late anyway.
 */
#include "late_stack.h"

#include <errno.h>
#include <stdlib.h>

#include "stack/stack_complete.h"
#include "symbolize/fingerprint_batch.h"

/* A finished frame that is not shown. */
#define FRAME_ID_NOT_SHOWN 0xfffffffeu

struct late_stacks {
	struct code_cache *codes;
	struct stack_completer *completer;
	struct fingerprint_batch *fingerprints;
	/* Of the stack at hand. */
	const struct code_source *source;
	u32 unnamed_cnt;
	u32 lineless_cnt;
	struct stack_stats stats;
};

int late_stacks_new(struct late_stacks **ret_late, struct code_cache *codes, size_t max_frames)
{
	struct late_stacks *late = calloc(1, sizeof(*late));
	struct stack_completer_config config = {.max_frames = max_frames};
	int err;

	if (!late)
		return -ENOMEM;
	late->codes = codes;
	err = stack_completer_new(&late->completer, &config);
	if (!err)
		err = fingerprint_batch_new(&late->fingerprints);
	if (err) {
		late_stacks_free(late);
		return err;
	}
	*ret_late = late;
	return 0;
}

void late_stacks_free(struct late_stacks *late)
{
	if (!late)
		return;
	stack_completer_free(late->completer);
	fingerprint_batch_free(late->fingerprints);
	free(late);
}

static int read_fingerprints(void *ctx, const u64 *codes, size_t cnt, u32 *ret_fingerprints)
{
	struct late_stacks *late = ctx;

	return fingerprint_batch_read(late->fingerprints, late->source->mem, late->source->layout, codes, cnt,
				      ret_fingerprints);
}

static bool name(void *ctx, const struct py_frame *frame, u32 *ret_id)
{
	struct late_stacks *late = ctx;

	switch (code_cache_name(late->codes, late->source, frame, ret_id)) {
	case FRAME_HIDDEN:
		*ret_id = FRAME_ID_NOT_SHOWN;
		return true;
	case FRAME_NAMED:
		return true;
	case FRAME_LINELESS:
		late->lineless_cnt++;
		return false;
	default:
		late->unnamed_cnt++;
		return false;
	}
}

static bool can_be_completed(const struct sample_record *record)
{
	return record->status == SAMPLE_TRUNCATED && record->resume_frame &&
	       (record->reason == SAMPLE_REASON_BUDGET || record->reason == SAMPLE_REASON_PAGE_FAULT);
}

void late_stacks_complete(struct late_stacks *late, const struct code_source *source,
			  const struct sample_record *record, struct profile_sample *sample, u32 *frame_ids,
			  size_t cap)
{
	const struct stack_request request = {
		.mem = source->mem,
		.layout = source->layout,
		.epoch = source->epoch,
		.tid = record->tid,
		.time_ns = record->hdr.time_ns,
		.resume_frame = record->resume_frame,
	};
	const struct stack_namer namer = {late, read_fingerprints, name};
	struct completed_stack stack;

	late->source = source;
	late->unnamed_cnt = 0;
	late->lineless_cnt = 0;
	if (!source->mem || !can_be_completed(record) ||
	    stack_complete(late->completer, &request, &namer, &stack))
		return;
	sample->status = SAMPLE_LATE;
	sample->unnamed_cnt += late->unnamed_cnt;
	sample->lineless_cnt += late->lineless_cnt;
	for (size_t i = 0; i < stack.cnt && sample->frame_cnt < cap; i++) {
		if (stack.frame_ids[i] != FRAME_ID_NOT_SHOWN)
			frame_ids[sample->frame_cnt++] = stack.frame_ids[i];
	}
}

static void add_calls(struct stack_stats *stats, const struct remote_batch_stats *batch)
{
	stats->remote_calls += batch->calls;
	stats->system_calls += batch->system_calls;
	stats->segments += batch->segments;
	stats->segments_whole += batch->segments_whole;
	stats->bytes += batch->bytes;
}

const struct stack_stats *late_stacks_stats(struct late_stacks *late)
{
	late->stats = *stack_completer_stats(late->completer);
	add_calls(&late->stats, fingerprint_batch_stats(late->fingerprints));
	return &late->stats;
}
