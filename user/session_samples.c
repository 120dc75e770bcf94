/* SPDX-License-Identifier: Apache-2.0 */
/* Data: what the sample rings carry, from a record to the profile.
 *
 *   code record ---> code cache
 *   sample --------> named, completed where the kernel could not --> profile, and known from now on
 *   repeat --------> the known stack's node, or it waits until all rings were read once more
 *   cut short -----> waits for its whole stack, which is read when the thread returns to user mode
 */
#include <stdio.h>
#include <string.h>

#include "kernel/sent_stacks.h"
#include "session_internal.h"

/* Frames whose names are asked for ahead. */
enum { NAME_AHEAD = 32 };

static struct code_source source_of(const struct target *target)
{
	return (struct code_source){
		.epoch = target->epoch,
		.layout = &target->runtime.layout,
		.mem = target->ended ? NULL : target->mem,
		.image_start = target->runtime.image_start,
		.image_end = target->runtime.image_end,
		.pid = target->ended ? 0 : target->process->pid,
	};
}

/* Appends the ids of `cnt` frames; hidden ones are left out. */
static void name_frames(struct session *session, const struct code_source *source,
			const struct py_frame *frames, size_t cnt, struct profile_sample *sample)
{
	for (size_t i = 0; i < cnt && sample->frame_cnt < MAX_STACK_FRAMES; i++) {
		if (i % NAME_AHEAD == 0)
			code_cache_prefetch(session->codes, source->epoch, frames + i,
					    cnt - i < NAME_AHEAD ? cnt - i : NAME_AHEAD);
		u32 id = FRAME_ID_UNNAMED;
		enum frame_name_result result = code_cache_name(session->codes, source, &frames[i], &id);

		if (result == FRAME_HIDDEN)
			continue;
		sample->unnamed_cnt += result == FRAME_UNNAMED;
		sample->lineless_cnt += result == FRAME_LINELESS;
		session->frame_ids[sample->frame_cnt++] = id;
	}
}

static bool sample_is_valid(const struct sample_record *record, size_t sz)
{
	return sz >= sizeof(*record) && record->frame_cnt <= LIMIT_SAMPLE_FRAMES &&
	       sz >= sizeof(*record) + record->frame_cnt * sizeof(struct py_frame) &&
	       record->status < SAMPLE_STATUS_COUNT && record->reason < SAMPLE_REASON_COUNT;
}

/* From now on the kernel side sends the identity only. A stack that could not be named or kept is to be
 * sent again, but until then it may be referred to. */
static void remember_stack(struct session *session, u64 identity, const struct profile_sample *sample,
			   u32 node)
{
	struct known_stack stack = {
		.identity = identity,
		.process_id = sample->process_id,
		.node = node,
		.unnamed_cnt = sample->unnamed_cnt,
		.lineless_cnt = sample->lineless_cnt,
	};

	if (!identity)
		return;
	if (node != PROFILE_NODE_NONE)
		known_stacks_put(session->stacks, &stack);
	if (node == PROFILE_NODE_NONE || sample->unnamed_cnt)
		sent_stacks_clear(bpf_loader_sent_stacks_fd(session->loader), identity);
}

static void count_sample(struct session *session, const struct profile_sample *sample, u32 *ret_node)
{
	if (profile_add(session->profile, sample, ret_node)) {
		session->losses[SUMMARY_LOSS_NO_MEMORY]++;
		*ret_node = PROFILE_NODE_NONE;
	}
}

/* A process is called what its main thread is: it may rename itself at any time (setproctitle, prctl). */
static void note_name(struct session *session, u32 process_id, u32 tgid, u32 tid, const char *comm)
{
	struct process *process;

	if (tgid != tid)
		return;
	process = process_table_at(target_table_processes(session->targets), process_id);
	if (strncmp(process->comm, comm, LIMIT_COMM_SZ - 1) != 0)
		snprintf(process->comm, sizeof(process->comm), "%.*s", LIMIT_COMM_SZ - 1, comm);
}

static struct stack_ticket ticket_of(const struct sample_record *record)
{
	return (struct stack_ticket){.epoch = record->epoch, .tid = record->tid, .ticket = record->ticket};
}

/* The rest of its stack will come, or has come: the tick may have hit the thread while it was read. */
static void await_rest(struct session *session, const struct sample_record *record,
		       struct profile_sample *sample)
{
	struct stack_ticket ticket = ticket_of(record);
	const struct awaited_result *result = awaited_stacks_find(session->awaited, &ticket);
	const struct profile_sample *oldest;
	u32 node;

	if (!result || result->node == PROFILE_NODE_NONE) {
		awaited_stacks_put(session->awaited, &ticket, sample, &oldest);
		if (oldest)
			count_sample(session, oldest, &node);
		return;
	}
	sample->status = result->status;
	sample->reason = result->reason;
	sample->unnamed_cnt = result->unnamed_cnt;
	sample->lineless_cnt = result->lineless_cnt;
	if (profile_repeat(session->profile, sample, result->node))
		session->losses[SUMMARY_LOSS_NO_MEMORY]++;
}

/* Those that awaited a stack that will not come stay as they are. */
static void give_up_awaited(struct session *session, const struct stack_ticket *ticket)
{
	const struct profile_sample *awaited;
	u32 node;

	while ((awaited = awaited_stacks_take(session->awaited, ticket)))
		count_sample(session, awaited, &node);
}

/* What a sample that awaited the stack becomes. */
static struct profile_sample sample_with(const struct profile_sample *awaited,
					 const struct profile_sample *stack)
{
	struct profile_sample sample = *awaited;

	sample.status = stack->status;
	sample.reason = stack->reason;
	sample.unnamed_cnt = stack->unnamed_cnt;
	sample.lineless_cnt = stack->lineless_cnt;
	sample.frame_ids = stack->frame_ids;
	sample.frame_cnt = stack->frame_cnt;
	return sample;
}

static void note_result(struct session *session, const struct stack_ticket *ticket,
			const struct profile_sample *stack, u32 node)
{
	awaited_stacks_note(session->awaited, &(struct awaited_result){
						      .ticket = *ticket,
						      .node = node,
						      .unnamed_cnt = stack->unnamed_cnt,
						      .lineless_cnt = stack->lineless_cnt,
						      .status = stack->status,
						      .reason = stack->reason,
					      });
}

/* A whole stack came: for the samples that await it, and to be referred to. */
static void on_rest(struct session *session, const struct sample_record *record,
		    const struct profile_sample *stack)
{
	struct stack_ticket ticket = ticket_of(record);
	const struct profile_sample *awaited;
	u32 node = PROFILE_NODE_NONE;

	if (profile_place(session->profile, stack, &node))
		node = PROFILE_NODE_NONE;
	while ((awaited = awaited_stacks_take(session->awaited, &ticket))) {
		struct profile_sample sample = sample_with(awaited, stack);
		u32 ignored;

		count_sample(session, &sample, &ignored);
	}
	note_result(session, &ticket, stack, node);
	remember_stack(session, record->identity, stack, node);
}

/* The chunks before it; false when one is missing. */
static bool take_parts(struct session *session, const struct sample_record *record,
		       struct profile_sample *sample)
{
	struct stack_ticket ticket = ticket_of(record);
	const struct stack_part *part;

	if (!record->chunk)
		return true;
	part = awaited_stacks_part(session->awaited, &ticket, record->chunk);
	if (!part)
		return false;
	memcpy(session->frame_ids, part->frame_ids, part->frame_cnt * sizeof(u32));
	sample->frame_cnt = part->frame_cnt;
	sample->unnamed_cnt = part->unnamed_cnt;
	sample->lineless_cnt = part->lineless_cnt;
	return true;
}

static void on_chunk(struct session *session, const struct sample_record *record, size_t sz)
{
	struct profile_sample sample = {.frame_ids = session->frame_ids};
	struct target *target;
	struct code_source source;
	struct stack_ticket ticket;
	struct stack_part *part;

	if (!sample_is_valid(record, sz) || record->chunk >= LIMIT_RESUME_CHUNKS) {
		session->losses[SUMMARY_LOSS_RECORD_INVALID]++;
		return;
	}
	ticket = ticket_of(record);
	target = target_table_find(session->targets, record->epoch);
	part = target ? awaited_stacks_part(session->awaited, &ticket, record->chunk) : NULL;
	if (!part)
		return; /* its last record will miss it */
	source = source_of(target);
	name_frames(session, &source, record->frames, record->frame_cnt, &sample);
	memcpy(part->frame_ids + part->frame_cnt, session->frame_ids, sample.frame_cnt * sizeof(u32));
	part->frame_cnt += sample.frame_cnt;
	part->unnamed_cnt += sample.unnamed_cnt;
	part->lineless_cnt += sample.lineless_cnt;
	part->chunk_cnt++;
}

/* A record of a process that is not known (any more): what it would have told is counted as lost. */
static void on_unknown_process(struct session *session, const struct sample_record *record)
{
	struct profile_sample none = {};

	if (record->flags & SAMPLE_OF_RESUME) {
		struct stack_ticket ticket = ticket_of(record);

		give_up_awaited(session, &ticket);
	} else {
		session->losses[SUMMARY_LOSS_PROCESS_UNKNOWN]++;
	}
	remember_stack(session, record->identity, &none, PROFILE_NODE_NONE);
}

static void on_stack_missing(struct session *session, const struct sample_record *record)
{
	struct stack_ticket ticket = ticket_of(record);
	struct profile_sample none = {};

	give_up_awaited(session, &ticket);
	remember_stack(session, record->identity, &none, PROFILE_NODE_NONE);
}

static void on_sample(struct session *session, const struct sample_record *record, size_t sz)
{
	struct profile_sample sample = {.frame_ids = session->frame_ids};
	u32 node = PROFILE_NODE_NONE;
	struct code_source source;
	struct target *target;

	if (!sample_is_valid(record, sz)) {
		session->losses[SUMMARY_LOSS_RECORD_INVALID]++;
		return;
	}
	target = target_table_find(session->targets, record->epoch);
	if (!target) {
		on_unknown_process(session, record);
		return;
	}
	if ((record->flags & SAMPLE_RESUME_FAILED) || !take_parts(session, record, &sample)) {
		on_stack_missing(session, record);
		return;
	}
	known_stacks_prefetch(session->stacks, record->identity);
	source = source_of(target);
	sample.process_id = target->process->id;
	note_name(session, sample.process_id, record->tgid, record->tid, record->comm);
	sample.tid = record->tid;
	sample.thread_comm = record->comm;
	sample.time_ns = record->hdr.time_ns;
	sample.weight_ns = session->options->period_ns * record->weight;
	sample.status = record->status;
	sample.reason = record->reason;
	name_frames(session, &source, record->frames, record->frame_cnt, &sample);
	if (record->flags & SAMPLE_AWAITS_RESUME) {
		await_rest(session, record, &sample);
		return;
	}
	late_stacks_complete(session->late, &source, record, &sample, session->frame_ids, MAX_STACK_FRAMES);
	if (record->flags & SAMPLE_OF_RESUME) {
		on_rest(session, record, &sample);
		return;
	}
	if (record->reason == SAMPLE_REASON_THREAD_SCAN)
		target_table_seed_threads(session->targets, target);
	count_sample(session, &sample, &node);
	remember_stack(session, record->identity, &sample, node);
}

/* As on_rest, of a stack that is known. */
static void on_known_rest(struct session *session, const struct repeat_record *record,
			  const struct known_stack *stack)
{
	struct stack_ticket ticket = {.epoch = record->epoch, .tid = record->tid, .ticket = record->ticket};
	struct profile_sample known = {
		.status = SAMPLE_COMPLETED,
		.unnamed_cnt = stack->unnamed_cnt,
		.lineless_cnt = stack->lineless_cnt,
	};
	const struct profile_sample *awaited;

	while ((awaited = awaited_stacks_take(session->awaited, &ticket))) {
		struct profile_sample sample = sample_with(awaited, &known);

		if (profile_repeat(session->profile, &sample, stack->node))
			session->losses[SUMMARY_LOSS_NO_MEMORY]++;
	}
	note_result(session, &ticket, &known, stack->node);
}

/* false: the stack it refers to is not known (yet). */
static bool on_repeat(void *ctx, const struct repeat_record *record)
{
	struct session *session = ctx;
	const struct known_stack *stack = known_stacks_find(session->stacks, record->identity);
	struct profile_sample sample = {
		.tid = record->tid,
		.thread_comm = record->comm,
		.time_ns = record->hdr.time_ns,
		.weight_ns = session->options->period_ns * record->weight,
		.status = SAMPLE_EXACT,
	};

	if (!stack)
		return false;
	if (record->flags & SAMPLE_OF_RESUME) {
		on_known_rest(session, record, stack);
		return true;
	}
	sample.process_id = stack->process_id;
	note_name(session, stack->process_id, record->tgid, record->tid, record->comm);
	sample.unnamed_cnt = stack->unnamed_cnt;
	sample.lineless_cnt = stack->lineless_cnt;
	if (profile_repeat(session->profile, &sample, stack->node))
		session->losses[SUMMARY_LOSS_NO_MEMORY]++;
	return true;
}

static void lose_repeat(void *ctx, const struct repeat_record *record)
{
	struct session *session = ctx;
	struct stack_ticket ticket = {.epoch = record->epoch, .tid = record->tid, .ticket = record->ticket};

	if (record->flags & SAMPLE_OF_RESUME)
		give_up_awaited(session, &ticket);
	else
		session->losses[SUMMARY_LOSS_STACK_UNKNOWN]++;
	sent_stacks_clear(bpf_loader_sent_stacks_fd(session->loader), record->identity);
}

static void defer_repeat(struct session *session, const struct repeat_record *record)
{
	if (!deferred_repeats_put(session->deferred, record))
		lose_repeat(session, record);
}

void session_settle_repeats(struct session *session)
{
	const struct deferred_repeats_ops ops = {on_repeat, lose_repeat, session};

	deferred_repeats_settle(session->deferred, &ops);
}

void session_expire_awaited(struct session *session, u64 time_ns)
{
	const struct profile_sample *awaited;
	u32 node;

	while ((awaited = awaited_stacks_expire(session->awaited, time_ns)))
		count_sample(session, awaited, &node);
}

static void on_code(struct session *session, const struct code_record *record, size_t sz)
{
	const struct target *target;
	struct code_source source;

	if (sz < sizeof(*record)) {
		session->losses[SUMMARY_LOSS_RECORD_INVALID]++;
		return;
	}
	target = target_table_find(session->targets, record->epoch);
	if (!target)
		return; /* its samples are counted */
	source = source_of(target);
	code_cache_on_record(session->codes, record, sz, &source);
}

void session_on_record(struct session *session, const void *data, size_t sz)
{
	const struct record_header *header = data;

	if (sz >= sizeof(*header) && header->kind == RECORD_SAMPLE)
		on_sample(session, data, sz);
	else if (sz >= sizeof(struct sample_record) && header->kind == RECORD_CHUNK)
		on_chunk(session, data, sz);
	else if (sz >= sizeof(struct repeat_record) && header->kind == RECORD_REPEAT) {
		if (!on_repeat(session, data))
			defer_repeat(session, data);
	} else if (sz >= sizeof(*header) && header->kind == RECORD_CODE)
		on_code(session, data, sz);
	else
		session->losses[SUMMARY_LOSS_RECORD_INVALID]++;
}
