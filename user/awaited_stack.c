/* SPDX-License-Identifier: Apache-2.0 */
#include "awaited_stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* Rings are merged by time and a stack comes microseconds behind its sample, so that hardly more
	 * wait than threads run. */
	MAX_AWAITED = 8192,
	MAX_RESULTS = 1024,
	MAX_PARTS = 16,
};

struct awaited_sample {
	struct stack_ticket ticket;
	bool live;
	char comm[LIMIT_COMM_SZ];
	struct profile_sample sample;
	u32 frame_ids[LIMIT_AWAITING_FRAMES];
};

struct awaited_stacks {
	struct awaited_sample samples[MAX_AWAITED]; /* a queue: from `first` on, `cnt` of them */
	size_t first, cnt;
	struct awaited_result results[MAX_RESULTS];
	struct stack_part *parts[MAX_PARTS];
	size_t next_part;
};

int awaited_stacks_new(struct awaited_stacks **ret_awaited)
{
	struct awaited_stacks *awaited = calloc(1, sizeof(*awaited));

	if (!awaited)
		return -ENOMEM;
	*ret_awaited = awaited;
	return 0;
}

void awaited_stacks_free(struct awaited_stacks *awaited)
{
	if (!awaited)
		return;
	for (size_t i = 0; i < MAX_PARTS; i++)
		free(awaited->parts[i]);
	free(awaited);
}

static bool ticket_equal(const struct stack_ticket *a, const struct stack_ticket *b)
{
	return a->ticket == b->ticket && a->tid == b->tid && a->epoch == b->epoch;
}

static struct awaited_sample *sample_at(struct awaited_stacks *awaited, size_t i)
{
	return &awaited->samples[(awaited->first + i) % MAX_AWAITED];
}

/* Drops what was handed out from the front of the queue. */
static void queue_trim(struct awaited_stacks *awaited)
{
	while (awaited->cnt && !sample_at(awaited, 0)->live) {
		awaited->first = (awaited->first + 1) % MAX_AWAITED;
		awaited->cnt--;
	}
}

static const struct profile_sample *hand_out(struct awaited_stacks *awaited, struct awaited_sample *sample)
{
	sample->live = false;
	queue_trim(awaited);
	return &sample->sample;
}

void awaited_stacks_put(struct awaited_stacks *awaited, const struct stack_ticket *ticket,
			const struct profile_sample *sample, const struct profile_sample **ret_oldest)
{
	struct awaited_sample *kept;
	size_t cnt = sample->frame_cnt < LIMIT_AWAITING_FRAMES ? sample->frame_cnt : LIMIT_AWAITING_FRAMES;

	*ret_oldest = NULL;
	if (awaited->cnt == MAX_AWAITED - 1)
		*ret_oldest = hand_out(awaited, sample_at(awaited, 0));
	kept = sample_at(awaited, awaited->cnt++);
	kept->ticket = *ticket;
	kept->live = true;
	kept->sample = *sample;
	memcpy(kept->frame_ids, sample->frame_ids, cnt * sizeof(*kept->frame_ids));
	memcpy(kept->comm, sample->thread_comm, sizeof(kept->comm));
	kept->sample.frame_ids = kept->frame_ids;
	kept->sample.frame_cnt = cnt;
	kept->sample.thread_comm = kept->comm;
}

size_t awaited_stacks_count(const struct awaited_stacks *awaited)
{
	return awaited->cnt;
}

const struct profile_sample *awaited_stacks_take(struct awaited_stacks *awaited,
						 const struct stack_ticket *ticket)
{
	for (size_t i = awaited->cnt; i-- > 0;) {
		struct awaited_sample *sample = sample_at(awaited, i);

		if (sample->live && ticket_equal(&sample->ticket, ticket))
			return hand_out(awaited, sample);
	}
	return NULL;
}

const struct profile_sample *awaited_stacks_expire(struct awaited_stacks *awaited, u64 time_ns)
{
	queue_trim(awaited);
	if (!awaited->cnt || sample_at(awaited, 0)->sample.time_ns >= time_ns)
		return NULL;
	return hand_out(awaited, sample_at(awaited, 0));
}

void awaited_stacks_note(struct awaited_stacks *awaited, const struct awaited_result *result)
{
	awaited->results[result->ticket.tid % MAX_RESULTS] = *result;
}

const struct awaited_result *awaited_stacks_find(const struct awaited_stacks *awaited,
						 const struct stack_ticket *ticket)
{
	const struct awaited_result *result = &awaited->results[ticket->tid % MAX_RESULTS];

	return ticket->ticket && ticket_equal(&result->ticket, ticket) ? result : NULL;
}

static struct stack_part *part_begin(struct awaited_stacks *awaited, const struct stack_ticket *ticket)
{
	struct stack_part **place = &awaited->parts[awaited->next_part++ % MAX_PARTS];

	if (!*place)
		*place = malloc(sizeof(**place));
	if (*place) {
		(*place)->ticket = *ticket;
		(*place)->chunk_cnt = 0;
		(*place)->frame_cnt = 0;
		(*place)->unnamed_cnt = 0;
		(*place)->lineless_cnt = 0;
	}
	return *place;
}

struct stack_part *awaited_stacks_part(struct awaited_stacks *awaited, const struct stack_ticket *ticket,
				       u32 chunk)
{
	if (!chunk)
		return part_begin(awaited, ticket);
	for (size_t i = 0; i < MAX_PARTS; i++) {
		struct stack_part *part = awaited->parts[i];

		if (part && ticket_equal(&part->ticket, ticket) && part->chunk_cnt == chunk)
			return part;
	}
	return NULL;
}
