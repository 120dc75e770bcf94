/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_session.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/known_stacks.h"
#include "late_stack.h"
#include "sim_interpreter.h"
#include "sim_rules.h"
#include "stack_slot.h"
#include "symbolize/code_object.h"
#include "walker.h"

enum {
	QUEUE_MAX = 256, /* records of one CPU that wait */
	PENDING_MAX = 64,
	NODES_MAX = 1 << 16,
	LATE_MAX = 4 * SIM_DEPTH_MAX,
	IDS_MAX = SIM_DEPTH_MAX + LATE_MAX,
};

/* A record on its way, with what is true of it. */
struct queued {
	u64 time_ns;
	void *record;		 /* owned */
	struct sim_truth *truth; /* owned; NULL for code records */
	size_t truth_cnt;
};

struct queue {
	struct queued entries[QUEUE_MAX];
	size_t first, cnt;
};

struct node {
	u32 *ids; /* owned */
	size_t cnt;
};

struct session {
	struct sim_random random;
	struct py_layout layout;
	struct sim_interpreter sim;
	struct sim_memory memory;
	u64 epoch;
	u64 time_ns;
	struct sim_totals *totals;
	char failure[512];
	/* The kernel side. */
	u64 sent[STACK_SLOT_CNT];
	struct queue queues[WALKER_CPUS];
	/* User space. */
	struct remote_mem *mem;
	bool is_torn; /* the program runs on while it is read */
	struct frame_table *frames;
	struct code_cache *codes;
	struct known_stacks *stacks;
	struct late_stacks *late;
	struct node nodes[NODES_MAX];
	size_t node_cnt;
	struct queued pending[PENDING_MAX];
	size_t pending_cnt;
	u32 ids[IDS_MAX];
};

static bool fail(struct session *s, const char *format, ...)
{
	va_list args;

	if (!s->failure[0]) {
		va_start(args, format);
		vsnprintf(s->failure, sizeof(s->failure), format, args);
		va_end(args);
	}
	return false;
}

static size_t view(void *ctx, remote_addr_t addr, void *ret_buf, size_t sz)
{
	struct session *s = ctx;

	for (u32 i = s->is_torn ? sim_below(&s->random, 4) : 0; i > 0; i--)
		sim_step(&s->sim);
	return sim_user_read(&s->memory, addr, ret_buf, sz);
}

static void release_queued(struct queued *entry)
{
	free(entry->record);
	free(entry->truth);
	*entry = (struct queued){0};
}

/* A frame's name is the true one, or it has none. */
static bool check_name(struct session *s, u32 id, u32 serial, s32 line, const char *what)
{
	struct string_table *strings = frame_table_strings(s->frames);
	const struct frame *frame = frame_table_at(s->frames, id);
	char name[32];
	const char *text;
	size_t sz;

	s->totals->frames++;
	if (id == FRAME_ID_UNNAMED) {
		s->totals->unnamed++;
		return true;
	}
	sim_name(serial, name, sizeof(name));
	text = string_table_at(strings, frame->qualname_id, &sz);
	if (sz != strlen(name) || memcmp(text, name, sz) != 0 || (line && frame->line != line))
		return fail(s, "%s: a frame is %.*s:%d, in truth %s:%d", what, (int)sz, text, frame->line,
			    name, line);
	return true;
}

static bool check_names(struct session *s, const u32 *ids, size_t cnt, const struct sim_truth *truth,
			const char *what)
{
	for (size_t i = 0; i < cnt; i++) {
		if (!check_name(s, ids[i], truth[i].serial, sim_line(truth[i].serial, truth[i].line), what))
			return false;
	}
	return true;
}

/* ---- the kernel side ---- */

static void enqueue(struct session *s, u32 cpu, const void *record, size_t sz, const struct sim_truth *truth,
		    size_t truth_cnt)
{
	struct queue *queue = &s->queues[cpu];
	struct queued entry = {.time_ns = s->time_ns, .truth_cnt = truth_cnt};

	entry.record = malloc(sz);
	memcpy(entry.record, record, sz);
	if (truth) {
		entry.truth = malloc((truth_cnt + 1) * sizeof(*truth));
		memcpy(entry.truth, truth, truth_cnt * sizeof(*truth));
	}
	queue->entries[(queue->first + queue->cnt++) % QUEUE_MAX] = entry;
}

static bool ring_has_room(struct session *s, u32 cpu)
{
	return s->queues[cpu].cnt < QUEUE_MAX && !sim_chance(&s->random, 50);
}

/* As sample_send() of bpf/sampler.bpf.c. */
static void send_sample(struct session *s, u32 cpu, const struct sim_thread *thread,
			const struct walker_output *walk, const struct sim_truth *truth, size_t truth_cnt)
{
	u64 *sent = &s->sent[stack_slot_idx(walk->identity)];
	size_t sz = sizeof(struct sample_record) + walk->frame_cnt * sizeof(struct py_frame);
	struct sample_record *record = calloc(1, sz);
	struct repeat_record repeat = {.identity = walk->identity};

	record->hdr.kind = RECORD_SAMPLE;
	record->hdr.time_ns = s->time_ns;
	record->hdr.size = (u32)sz;
	record->epoch = s->epoch;
	record->tid = thread->tid;
	record->tstate_addr = walk->tstate;
	record->resume_frame = walk->resume_frame;
	record->frame_cnt = walk->frame_cnt;
	record->status = (u8)walk->status;
	record->reason = (u8)walk->reason;
	record->identity = walk->identity;
	memcpy(record->frames, walk->frames, walk->frame_cnt * sizeof(struct py_frame));
	repeat.hdr = record->hdr;
	repeat.hdr.kind = RECORD_REPEAT;
	repeat.epoch = s->epoch;
	repeat.tid = thread->tid;
	if (!ring_has_room(s, cpu)) {
		free(record);
		return;
	}
	if (walk->identity && *sent == walk->identity) {
		enqueue(s, cpu, &repeat, sizeof(repeat), truth, truth_cnt);
	} else {
		if (walk->identity)
			*sent = walk->identity;
		/* Some are lost on the way, though the kernel side counts them as sent. */
		if (!sim_chance(&s->random, 60))
			enqueue(s, cpu, record, sz, truth, truth_cnt);
	}
	free(record);
}

static bool check_frames(struct session *s, const struct walker_output *walk, const struct sim_truth *truth,
			 size_t truth_cnt)
{
	if (walk->frame_cnt > truth_cnt)
		return fail(s, "the walk has %u frames, in truth %zu", walk->frame_cnt, truth_cnt);
	for (u32 i = 0; i < walk->frame_cnt; i++) {
		u32 version = walk->frames[i].fingerprint;

		if (walk->frames[i].code != truth[i].code ||
		    walk->frames[i].instr_off != sim_instr_off(&s->layout, truth[i].line))
			return fail(s, "the walk's frame %u is not the true one", i);
		if (s->layout.traits & PY_TRAIT_CODE_VERSION)
			sim_read(&s->memory, truth[i].code + s->layout.code_version, &version,
				 sizeof(version));
		if (walk->frames[i].fingerprint != version)
			return fail(s, "frame %u has fingerprint %u, in truth %u", i,
				    walk->frames[i].fingerprint, version);
	}
	return true;
}

static bool check_walk(struct session *s, const struct walker_output *walk, const struct sim_truth *truth,
		       size_t truth_cnt, bool has_holes, u32 budget)
{
	bool is_cut = budget && truth_cnt > budget;

	if (!check_frames(s, walk, truth, truth_cnt))
		return false;
	if (has_holes && truth_cnt && walk->status != SAMPLE_EXACT) {
		if (walk->status == SAMPLE_TRUNCATED &&
		    (walk->reason == SAMPLE_REASON_PAGE_FAULT || walk->reason == SAMPLE_REASON_BUDGET))
			return true;
		return fail(s, "status %d, reason %d over pages that are away", walk->status, walk->reason);
	}
	/* 3.11 and 3.12, entering the first evaluation: its cframe is not filled, and nothing says that it is the first. */
	if (!truth_cnt && (s->layout.traits & PY_TRAIT_CFRAME) && walk->status == SAMPLE_TRUNCATED &&
	    walk->reason == SAMPLE_REASON_MID_TRANSITION)
		return true;
	if (!truth_cnt) {
		if (walk->status != SAMPLE_NONE || walk->reason != SAMPLE_REASON_NO_FRAMES)
			return fail(s, "status %d, reason %d without frames", walk->status, walk->reason);
	} else if (is_cut) {
		if (walk->status != SAMPLE_TRUNCATED || walk->reason != SAMPLE_REASON_BUDGET ||
		    walk->frame_cnt != budget || walk->resume_frame != truth[budget].addr)
			return fail(s, "status %d, reason %d, %u frames over a budget of %u", walk->status,
				    walk->reason, walk->frame_cnt, budget);
	} else if (walk->status != SAMPLE_EXACT || walk->frame_cnt != truth_cnt) {
		return fail(s, "status %d, reason %d, %u of %zu frames", walk->status, walk->reason,
			    walk->frame_cnt, truth_cnt);
	}
	return true;
}

/* Takes some of the thread's data stack away, or brings it back. */
static void take_pages_away(struct session *s, const struct sim_truth *truth, size_t truth_cnt, bool away)
{
	/* 3.11, 3.12: if a leaf in the heap cannot be read, its evaluation seems not to have begun. */
	bool spares_leaf = s->layout.traits & PY_TRAIT_CFRAME;

	for (size_t i = 0; i < truth_cnt; i++) {
		size_t page = (truth[i].addr - SIM_BASE) / SIM_PAGE_SZ;

		if (spares_leaf && page == (truth[0].addr - SIM_BASE) / SIM_PAGE_SZ &&
		    sim_is_generator(truth[0].addr))
			continue;
		s->memory.is_away[page] = away && (s->memory.is_away[page] || sim_chance(&s->random, 30));
	}
}

static bool sample(struct session *s)
{
	struct sim_thread *thread = &s->sim.threads[sim_below(&s->random, SIM_THREADS)];
	struct sim_truth truth[SIM_DEPTH_MAX];
	struct walker_output walk;
	u32 budget =
		sim_chance(&s->random, 2) ? 1 + sim_below(&s->random, sim_chance(&s->random, 2) ? 3 : 24) : 0;
	bool has_holes = sim_chance(&s->random, 10);
	struct walker_input input = {
		.layout = &s->layout,
		.runtime_addr = s->sim.runtime,
		.task_id = thread->thread_id,
		.epoch = s->epoch,
		.cpu = sim_below(&s->random, WALKER_CPUS),
		.kernel_frames = budget,
		.tstate_hint = sim_chance(&s->random, 2) ? thread->tstate : 0,
		.read = sim_kernel_read,
		.ctx = &s->memory,
	};
	size_t cnt;
	const char *broken;

	if (!thread->is_alive)
		return true;
	input.user_sp = thread->stacks[thread->current].sp - 64;
	broken = sim_rules_broken(&s->layout, thread->tstate, input.user_sp, sim_kernel_read, &s->memory);
	if (broken)
		return fail(s, "the simulation broke a rule: %s", broken);
	cnt = sim_truth_of(&s->sim, thread, truth);
	if (has_holes)
		take_pages_away(s, truth, cnt, true);
	walker_walk(&input, &walk);
	take_pages_away(s, truth, cnt, false);
	s->totals->walks++;
	s->totals->exact += walk.status == SAMPLE_EXACT;
	s->totals->truncated += walk.status == SAMPLE_TRUNCATED;
	for (size_t i = 0; i < walk.code_cnt; i++) {
		if (s->queues[input.cpu].cnt < QUEUE_MAX / 2 && !sim_chance(&s->random, 20))
			enqueue(s, input.cpu, walk.codes[i], walk.codes[i]->hdr.size, NULL, 0);
	}
	if (!check_walk(s, &walk, truth, cnt, has_holes, budget))
		return false;
	send_sample(s, input.cpu, thread, &walk, truth, cnt);
	return true;
}

/* ---- user space, as user/session_samples.c ---- */

static struct code_source source_of(struct session *s, u64 epoch)
{
	return (struct code_source){
		.epoch = epoch,
		.layout = &s->layout,
		.mem = epoch == s->epoch ? s->mem : NULL,
	};
}

/* What a stack read without any cache, frame by frame, is now. */
struct naive_stack {
	struct sim_truth frames[LATE_MAX];
	bool is_known[LATE_MAX]; /* whose code object it is */
	bool has_line[LATE_MAX];
	u32 index[LATE_MAX]; /* of the copy of the bytecode */
	size_t cnt;
};

static u64 naive_u64(const u8 *bytes)
{
	u64 value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static s64 naive_off(struct session *s, const u8 *bytes, u64 code, u32 index)
{
	const struct py_layout *layout = &s->layout;
	s32 lasti;

	if (!(layout->traits & PY_TRAIT_FRAME_OBJECT))
		return sim_bytecode_off(&s->sim, code, naive_u64(bytes + layout->frame_instr), index);
	memcpy(&lasti, bytes + layout->frame_instr, sizeof(lasti));
	return (s32)((u32)lasti * (layout->traits & PY_TRAIT_LASTI_UNITS ? 2 : 1));
}

static bool naive_frame(struct session *s, u64 addr, struct naive_stack *stack, u64 *ret_previous)
{
	const struct py_layout *layout = &s->layout;
	u8 bytes[LIMIT_FRAME_SPAN];
	struct sim_truth *frame = &stack->frames[stack->cnt];
	s64 off;
	bool is_entry;

	if (sim_read(&s->memory, addr, bytes, layout->frame_sz))
		return false;
	memcpy(&frame->code, bytes + layout->frame_executable, sizeof(u64));
	memcpy(ret_previous, bytes + layout->frame_previous, sizeof(u64));
	is_entry = layout->traits & PY_TRAIT_OWNER_ENTRY ? bytes[layout->frame_owner] >= layout->owner_entry
							 : bytes[layout->frame_is_entry] != 0;
	if (layout->traits & PY_TRAIT_FRAME_OBJECT)
		is_entry = !naive_u64(bytes + layout->frame_owner);
	if (!*ret_previous && !is_entry)
		return false;
	if ((layout->traits & PY_TRAIT_OWNER_ENTRY) && is_entry)
		return true;
	if (layout->traits & PY_TRAIT_TAGGED_EXECUTABLE)
		frame->code &= ~3ULL;
	if (!frame->code)
		return false;
	stack->index[stack->cnt] = 0;
	if (layout->code_tlbc)
		memcpy(&stack->index[stack->cnt], bytes + layout->frame_tlbc_index, sizeof(u32));
	off = naive_off(s, bytes, frame->code, stack->index[stack->cnt]);
	frame->line = off < 0 ? 0 : (u32)off / SIM_UNIT;
	frame->serial = sim_serial_at(&s->sim, frame->code);
	stack->is_known[stack->cnt] = frame->serial != SIM_CODE_NONE;
	stack->has_line[stack->cnt] = off < SIM_LINES * SIM_UNIT && (off >= 0 || !layout->code_tlbc);
	/* The last line of co_lnotab has no end. */
	if ((layout->traits & PY_TRAIT_LNOTAB) && !stack->has_line[stack->cnt]) {
		frame->line = SIM_LINES;
		stack->has_line[stack->cnt] = true;
	}
	stack->cnt++;
	return true;
}

/* A chain that went astray may hold frames of two threads that run the same code object: user space reads one
 * copy of its bytecode, so some of them have no line. */
static void naive_mark_astray(struct naive_stack *stack)
{
	for (size_t i = 0; i < stack->cnt; i++) {
		for (size_t j = 0; j < stack->cnt; j++) {
			if (stack->frames[i].code == stack->frames[j].code && stack->index[i] &&
			    stack->index[j] && stack->index[i] != stack->index[j])
				stack->has_line[i] = false;
		}
	}
}

/* False: it cannot be read to its end. */
static bool naive_read(struct session *s, u64 addr, struct naive_stack *stack)
{
	stack->cnt = 0;
	for (size_t i = 0; addr; i++) {
		if (i == LATE_MAX || !naive_frame(s, addr, stack, &addr))
			return false;
	}
	if (s->layout.code_tlbc)
		naive_mark_astray(stack);
	return true;
}

static bool check_late(struct session *s, const struct sample_record *record,
		       const struct profile_sample *sample, bool can_be_read, const struct naive_stack *naive)
{
	const struct stack_stats *stats = late_stacks_stats(s->late);
	size_t cnt = sample->frame_cnt - record->frame_cnt;

	s->totals->late += sample->status == SAMPLE_LATE;
	if (s->is_torn) {
		s->totals->late_torn += sample->status == SAMPLE_LATE;
		return true;
	}
	if (sample->status == SAMPLE_LATE && !can_be_read)
		return fail(s, "a stack came late that cannot be read to its end");
	if (sample->status != SAMPLE_LATE) {
		/* Costly ones may be left for a second. */
		return !can_be_read || stats->postponed ||
		       fail(s, "a stack of %zu frames could be read and was not", naive->cnt);
	}
	if (cnt != naive->cnt)
		return fail(s, "%zu late frames, in truth %zu", cnt, naive->cnt);
	for (size_t i = 0; i < cnt; i++) {
		const struct sim_truth *frame = &naive->frames[i];

		if (naive->is_known[i] &&
		    !check_name(s, sample->frame_ids[record->frame_cnt + i], frame->serial,
				naive->has_line[i] ? sim_line(frame->serial, frame->line) : 0, "late"))
			return false;
	}
	return true;
}

static bool complete(struct session *s, const struct sample_record *record, const struct code_source *source,
		     struct profile_sample *sample)
{
	static struct naive_stack naive;
	bool can_be_read;

	if (sample->status != SAMPLE_TRUNCATED || !source->mem)
		return true;
	can_be_read = naive_read(s, record->resume_frame, &naive) && record->resume_frame;
	s->is_torn = sim_chance(&s->random, 6);
	late_stacks_complete(s->late, source, record, sample, s->ids, IDS_MAX);
	can_be_read = check_late(s, record, sample, can_be_read, &naive);
	s->is_torn = false;
	return can_be_read;
}

static void clear_sent(struct session *s, u64 identity)
{
	s->sent[stack_slot_idx(identity)] = 0;
}

static void remember(struct session *s, u64 identity, const struct profile_sample *sample)
{
	struct known_stack stack = {.identity = identity, .unnamed_cnt = sample->unnamed_cnt};
	struct node *node = &s->nodes[s->node_cnt];

	if (!identity)
		return;
	if (s->node_cnt < NODES_MAX) {
		stack.node = (u32)s->node_cnt++;
		node->cnt = sample->frame_cnt;
		node->ids = malloc((node->cnt + 1) * sizeof(*node->ids));
		memcpy(node->ids, sample->frame_ids, node->cnt * sizeof(*node->ids));
		known_stacks_put(s->stacks, &stack);
	}
	if (s->node_cnt == NODES_MAX || sample->unnamed_cnt)
		clear_sent(s, identity);
}

static bool on_sample(struct session *s, const struct queued *entry)
{
	const struct sample_record *record = entry->record;
	struct code_source source = source_of(s, record->epoch);
	struct profile_sample sample = {.frame_ids = s->ids, .status = record->status};

	for (u32 i = 0; i < record->frame_cnt; i++) {
		s->ids[i] = FRAME_ID_UNNAMED;
		sample.unnamed_cnt +=
			code_cache_name(s->codes, &source, &record->frames[i], &s->ids[i]) == FRAME_UNNAMED;
	}
	sample.frame_cnt = record->frame_cnt;
	if (!check_names(s, s->ids, record->frame_cnt, entry->truth, "sample") ||
	    !complete(s, record, &source, &sample))
		return false;
	remember(s, record->identity, &sample);
	return true;
}

/* 1: it refers to a stack that is not known. */
static int on_repeat(struct session *s, const struct queued *entry)
{
	const struct repeat_record *record = entry->record;
	const struct known_stack *stack = known_stacks_find(s->stacks, record->identity);
	const struct node *node;

	if (!stack)
		return 1;
	node = &s->nodes[stack->node];
	s->totals->repeats++;
	if (node->cnt != entry->truth_cnt) {
		fail(s, "a repeat of %zu frames, in truth %zu", node->cnt, entry->truth_cnt);
		return -1;
	}
	return check_names(s, node->ids, node->cnt, entry->truth, "repeat") ? 0 : -1;
}

static void lose_repeat(struct session *s, const struct queued *entry)
{
	s->totals->repeats_unknown++;
	clear_sent(s, ((const struct repeat_record *)entry->record)->identity);
}

static bool on_record(struct session *s, struct queued *entry)
{
	const struct record_header *header = entry->record;
	bool ok = true;

	if (header->kind == RECORD_CODE) {
		const struct code_record *record = entry->record;
		struct code_source source = source_of(s, record->epoch);

		code_cache_on_record(s->codes, record, header->size, &source);
	} else if (header->kind == RECORD_SAMPLE) {
		ok = on_sample(s, entry);
	} else {
		int unknown = on_repeat(s, entry);

		ok = unknown >= 0;
		if (unknown == 1 && s->pending_cnt < PENDING_MAX) {
			s->pending[s->pending_cnt++] = *entry;
			return true;
		}
		if (unknown == 1)
			lose_repeat(s, entry);
	}
	release_queued(entry);
	return ok;
}

/* The queue whose head is the oldest; now and then another one: records of several CPUs come out of order. */
static struct queue *next_queue(struct session *s)
{
	struct queue *oldest = NULL;
	bool any = sim_chance(&s->random, 8);

	for (size_t i = 0; i < WALKER_CPUS; i++) {
		struct queue *queue = &s->queues[i];

		if (queue->cnt && (!oldest || (any ? sim_chance(&s->random, 2)
						   : queue->entries[queue->first].time_ns <
							       oldest->entries[oldest->first].time_ns)))
			oldest = queue;
	}
	return oldest;
}

static bool drain(struct session *s)
{
	struct queue *queue;

	while ((queue = next_queue(s))) {
		struct queued entry = queue->entries[queue->first];

		queue->first = (queue->first + 1) % QUEUE_MAX;
		queue->cnt--;
		if (!on_record(s, &entry))
			return false;
	}
	for (size_t i = 0; i < s->pending_cnt; i++) {
		int unknown = on_repeat(s, &s->pending[i]);

		if (unknown < 0)
			return false;
		if (unknown)
			lose_repeat(s, &s->pending[i]);
		release_queued(&s->pending[i]);
	}
	s->pending_cnt = 0;
	return true;
}

/* exec: other memory at the same addresses. */
static void new_epoch(struct session *s)
{
	if (s->epoch && sim_chance(&s->random, 2))
		code_cache_forget(s->codes, s->epoch);
	s->epoch++;
	s->totals->epochs++;
	sim_start(&s->sim, &s->memory, &s->layout, &s->random,
		  s->sim.next_serial ? s->sim.next_serial : SIM_CODE_NONE + 1);
}

static bool run(struct session *s, u64 steps)
{
	new_epoch(s);
	for (u64 i = 0; i < steps; i++) {
		s->totals->steps++;
		s->time_ns += 1000000;
		if (sim_chance(&s->random, 60000))
			new_epoch(s);
		sim_step(&s->sim);
		/* Often in a row: a stack that does not change is sent once. */
		while (sim_chance(&s->random, 4)) {
			if (!sample(s))
				return fail(s, "sample");
		}
		if (sim_chance(&s->random, 60) && !drain(s))
			return false;
	}
	return drain(s);
}

static void add_stats(struct stack_stats *totals, const struct stack_stats *stats)
{
	totals->hits += stats->hits;
	totals->partial += stats->partial;
	totals->misses += stats->misses;
	totals->failed += stats->failed;
	totals->postponed += stats->postponed;
	totals->frames_read += stats->frames_read;
	totals->frames_reused += stats->frames_reused;
	totals->remote_calls += stats->remote_calls;
	totals->evicted_threads += stats->evicted_threads;
}

static int open_session(struct session *s)
{
	struct code_cache_config config = {.full_paths = true};
	int err = frame_table_new(&s->frames, 1 << 22);

	config.frames = s->frames;
	/* Small ones, so that entries are evicted. */
	config.max_codes = sim_chance(&s->random, 2) ? 40 : 0;
	err = err ?: code_cache_new(&s->codes, &config);
	err = err ?: known_stacks_new(&s->stacks);
	err = err ?: late_stacks_new(&s->late, s->codes, LATE_MAX);
	return err ?: remote_mem_open_view(&s->mem, view, s);
}

static void close_session(struct session *s)
{
	for (size_t cpu = 0; cpu < WALKER_CPUS; cpu++) {
		for (size_t i = 0; i < QUEUE_MAX; i++) {
			if (i < s->queues[cpu].cnt)
				release_queued(
					&s->queues[cpu].entries[(s->queues[cpu].first + i) % QUEUE_MAX]);
		}
	}
	for (size_t i = 0; i < s->pending_cnt; i++)
		release_queued(&s->pending[i]);
	for (size_t i = 0; i < s->node_cnt; i++)
		free(s->nodes[i].ids);
	remote_mem_close(s->mem);
	late_stacks_free(s->late);
	known_stacks_free(s->stacks);
	code_cache_free(s->codes);
	frame_table_free(s->frames);
}

const char *sim_session_run(const struct py_layout *layout, u64 seed, u64 steps, struct sim_totals *totals)
{
	static char failure[600];
	struct session *s = calloc(1, sizeof(*s));
	bool ok;

	if (!s)
		return "no memory";
	s->random.state = seed;
	s->layout = *layout;
	s->totals = totals;
	walker_reset();
	ok = open_session(s) == 0 && run(s, steps);
	snprintf(failure, sizeof(failure), "step %llu: %s", (unsigned long long)s->time_ns / 1000000,
		 s->failure[0] ? s->failure : "no memory");
	if (s->late)
		add_stats(&totals->stacks, late_stacks_stats(s->late));
	close_session(s);
	free(s);
	return ok ? NULL : failure;
}
