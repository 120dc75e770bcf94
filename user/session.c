/* SPDX-License-Identifier: Apache-2.0 */
/* Both flows in one place: process events and mappings go to the target table (control), samples and
 * code objects through completion and naming into the profile (data).
 *
 * One thread, one epoll loop. Samples wait in the rings until a batch is due; process events and
 * mappings wake the loop at once.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/deadline_call.h"
#include "kernel/bpf_counters.h"
#include "kernel/sent_stacks.h"
#include "progress.h"
#include "session_internal.h"
#include "symbolize/code_object.h"

enum {
	/* Samples wait at most this long for their batch. */
	LOOP_INTERVAL_MS = 100,
	LOOP_EVENTS = 4,
};

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
		u32 id = FRAME_ID_UNNAMED;
		enum frame_name_result result = code_cache_name(session->codes, source, &frames[i], &id);

		if (result == FRAME_HIDDEN)
			continue;
		sample->unnamed_cnt += result == FRAME_UNNAMED;
		session->frame_ids[sample->frame_cnt++] = id;
	}
}

/* What was read later has no fingerprint of the sample's time; the present one serves, as the stack is
 * flagged as late anyway. */
static void name_late_frames(struct session *session, const struct code_source *source,
			     const struct py_frame *frames, size_t cnt, struct profile_sample *sample)
{
	for (size_t i = 0; i < cnt; i++) {
		struct py_frame frame = frames[i];

		code_object_fingerprint(source->mem, source->layout, frame.code, &frame.fingerprint);
		name_frames(session, source, &frame, 1, sample);
	}
}

static bool can_be_completed(const struct sample_record *record)
{
	return record->status == SAMPLE_TRUNCATED && record->resume_frame &&
	       (record->reason == SAMPLE_REASON_BUDGET || record->reason == SAMPLE_REASON_PAGE_FAULT);
}

static void complete(struct session *session, const struct code_source *source,
		     const struct sample_record *record, struct profile_sample *sample)
{
	const struct py_frame *frames;
	size_t cnt;

	if (!source->mem || stack_complete(session->completer, source->mem, source->layout,
					   record->resume_frame, &frames, &cnt))
		return;
	sample->status = SAMPLE_LATE;
	name_late_frames(session, source, frames, cnt, sample);
}

static bool sample_is_valid(const struct sample_record *record, size_t sz)
{
	return sz >= sizeof(*record) && record->frame_cnt <= LIMIT_SAMPLE_FRAMES &&
	       sz >= sizeof(*record) + record->frame_cnt * sizeof(struct py_frame) &&
	       record->status < SAMPLE_STATUS_COUNT && record->reason < SAMPLE_REASON_COUNT;
}

/* From now on the kernel side sends the identity only. A stack that could not be named or kept whole is
 * to be sent again, but until then it may be referred to. */
static void remember_stack(struct session *session, u64 identity, const struct profile_sample *sample,
			   u32 node)
{
	struct known_stack stack = {
		.identity = identity,
		.process_id = sample->process_id,
		.node = node,
		.unnamed_cnt = sample->unnamed_cnt,
	};

	if (!identity)
		return;
	if (node != PROFILE_NODE_NONE)
		known_stacks_put(session->stacks, &stack);
	if (node == PROFILE_NODE_NONE || sample->unnamed_cnt)
		sent_stacks_clear(bpf_loader_sent_stacks_fd(session->loader), identity);
}

static void session_on_sample(struct session *session, const struct sample_record *record, size_t sz)
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
		session->losses[SUMMARY_LOSS_PROCESS_UNKNOWN]++;
		remember_stack(session, record->identity, &sample, node);
		return;
	}
	source = source_of(target);
	sample.process_id = target->process->id;
	sample.tid = record->tid;
	sample.thread_comm = record->comm;
	sample.time_ns = record->hdr.time_ns;
	sample.weight_ns = session->options->period_ns * (1 + record->missed_ticks);
	sample.status = record->status;
	sample.reason = record->reason;
	name_frames(session, &source, record->frames, record->frame_cnt, &sample);
	if (can_be_completed(record))
		complete(session, &source, record, &sample);
	if (record->reason == SAMPLE_REASON_THREAD_SCAN)
		target_table_seed_threads(session->targets, target);
	if (profile_add(session->profile, &sample, &node)) {
		session->losses[SUMMARY_LOSS_NO_MEMORY]++;
		node = PROFILE_NODE_NONE;
	}
	remember_stack(session, record->identity, &sample, node);
}

/* false: the stack it refers to is not known (yet). */
static bool session_on_repeat(struct session *session, const struct repeat_record *record)
{
	const struct known_stack *stack = known_stacks_find(session->stacks, record->identity);
	struct profile_sample sample = {
		.tid = record->tid,
		.thread_comm = record->comm,
		.time_ns = record->hdr.time_ns,
		.weight_ns = session->options->period_ns * (1 + record->missed_ticks),
		.status = SAMPLE_EXACT,
	};

	if (!stack)
		return false;
	sample.process_id = stack->process_id;
	sample.unnamed_cnt = stack->unnamed_cnt;
	if (profile_repeat(session->profile, &sample, stack->node))
		session->losses[SUMMARY_LOSS_NO_MEMORY]++;
	return true;
}

static void lose_repeat(struct session *session, const struct repeat_record *record)
{
	session->losses[SUMMARY_LOSS_STACK_UNKNOWN]++;
	sent_stacks_clear(bpf_loader_sent_stacks_fd(session->loader), record->identity);
}

/* A sample may be older than the one that sent its stack from another CPU: the rings are merged by the
 * time of the tick, not of the record. So it waits until all rings were read. */
static void defer_repeat(struct session *session, const struct repeat_record *record)
{
	if (session->pending_cnt == MAX_PENDING)
		lose_repeat(session, record);
	else
		session->pending[session->pending_cnt++] = *record;
}

static void settle_pending(struct session *session)
{
	for (size_t i = 0; i < session->pending_cnt; i++) {
		if (!session_on_repeat(session, &session->pending[i]))
			lose_repeat(session, &session->pending[i]);
	}
	session->pending_cnt = 0;
}

static void session_on_code(struct session *session, const struct code_record *record, size_t sz)
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

static void on_record(void *ctx, size_t ring, const void *data, size_t sz)
{
	struct session *session = ctx;
	const struct record_header *header = data;

	if (ring == session->event_ring) {
		if (sz >= sizeof(struct process_event))
			target_table_on_event(session->targets, data);
		return;
	}
	if (sz >= sizeof(*header) && header->kind == RECORD_SAMPLE)
		session_on_sample(session, data, sz);
	else if (sz >= sizeof(struct repeat_record) && header->kind == RECORD_REPEAT) {
		if (!session_on_repeat(session, data))
			defer_repeat(session, data);
	} else if (sz >= sizeof(*header) && header->kind == RECORD_CODE)
		session_on_code(session, data, sz);
	else
		session->losses[SUMMARY_LOSS_RECORD_INVALID]++;
}

static void on_mapping(void *ctx, const struct mapping_event *mapping)
{
	struct session *session = ctx;

	target_table_on_mapping(session->targets, mapping);
}

static void drain(struct session *session, u64 until_ns)
{
	u64 lost = mapping_events_drain(session->mappings, on_mapping, session);

	session->losses[SUMMARY_LOSS_SIDEBAND] += lost;
	session->rescan |= lost != 0;
	ring_reader_drain(session->rings, until_ns, on_record, session);
	settle_pending(session);
}

static void on_child_signal(struct session *session)
{
	int status;

	if (!session->child || session->child_ended ||
	    waitpid(session->child, &status, WNOHANG) != session->child)
		return;
	session->child_ended = true;
	session->child_status = status;
}

static void on_signals(struct session *session)
{
	struct signalfd_siginfo info;

	while (read(session->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			on_child_signal(session);
		else
			session->stop = SESSION_STOP_INTERRUPTED;
	}
}

static u64 own_cpu_ns(u64 *ret_user_ns, u64 *ret_system_ns)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	*ret_user_ns = usage.ru_utime.tv_sec * CLOCK_NS_PER_S + usage.ru_utime.tv_usec * CLOCK_NS_PER_US;
	*ret_system_ns = usage.ru_stime.tv_sec * CLOCK_NS_PER_S + usage.ru_stime.tv_usec * CLOCK_NS_PER_US +
			 deadline_call_cpu_ns();
	return *ret_user_ns + *ret_system_ns;
}

static void draw_progress(struct session *session, u64 now)
{
	u64 stats[BPF_STAT_COUNT] = {};
	struct progress_values values = {
		.elapsed_ns = now - session->started_ns,
		.duration_ns = session->options->duration_ns,
		.threads = profile_thread_count(session->profile),
	};
	u64 user_ns, system_ns;

	bpf_counters_read(bpf_loader_stats_fd(session->loader), stats);
	target_table_summaries(session->targets, &values.processes);
	values.samples = profile_totals(session->profile)->samples;
	values.lost = stats[BPF_STAT_SAMPLES_DROPPED];
	values.own_cpu_ns = own_cpu_ns(&user_ns, &system_ns) + stats[BPF_STAT_SAMPLE_NS];
	progress_draw(&values, session->options->quiet);
}

static void every_second(struct session *session, u64 now)
{
	pid_t ignored;

	if (now - session->second_ns < CLOCK_NS_PER_S)
		return;
	session->second_ns = now;
	if (perf_timers_refresh(session->timers) > 0) {
		mapping_events_refresh(session->mappings);
		session->rescan = true;
	}
	if (session->rescan) {
		session->rescan = false;
		target_table_scan(session->targets, &ignored);
	}
	if (session->options->pid_cnt && !session->stop && !target_table_live_count(session->targets))
		session->stop = SESSION_STOP_TARGETS_ENDED;
	draw_progress(session, now);
}

/* Milliseconds until the loop has something to do by itself. */
static int loop_timeout(const struct session *session, u64 now)
{
	u64 duration = session->options->duration_ns;
	u64 left;

	if (!duration)
		return LOOP_INTERVAL_MS;
	left = session->started_ns + duration > now ? session->started_ns + duration - now : 0;
	left = left / CLOCK_NS_PER_MS + 1;
	return left < LOOP_INTERVAL_MS ? (int)left : LOOP_INTERVAL_MS;
}

static void check_ends(struct session *session, u64 now)
{
	if (session->stop)
		return;
	if (session->options->duration_ns && now >= session->started_ns + session->options->duration_ns)
		session->stop = SESSION_STOP_DURATION;
	else if (session->child_ended && !target_table_live_count(session->targets))
		session->stop = SESSION_STOP_COMMAND_ENDED;
}

enum session_stop session_run(struct session *session)
{
	struct epoll_event events[LOOP_EVENTS];

	while (!session->stop) {
		u64 now = clock_monotonic_ns();

		if (epoll_wait(session->epoll_fd, events, LOOP_EVENTS, loop_timeout(session, now)) < 0 &&
		    errno != EINTR)
			break;
		on_signals(session);
		now = clock_monotonic_ns();
		drain(session, now);
		target_table_expire(session->targets, now);
		every_second(session, now);
		check_ends(session, now);
	}
	return session->stop;
}

void session_finish(struct session *session)
{
	perf_timers_stop(session->timers);
	session->stopped_ns = clock_monotonic_ns();
	target_table_settle(session->targets);
	drain(session, ~0ULL);
	progress_clear();
}

bool session_child_status(const struct session *session, int *ret_status)
{
	*ret_status = session->child_status;
	return session->child_ended;
}

static const char *stop_text(enum session_stop stop)
{
	switch (stop) {
	case SESSION_STOP_DURATION:
		return "duration";
	case SESSION_STOP_TARGETS_ENDED:
		return "targets ended";
	case SESSION_STOP_COMMAND_ENDED:
		return "command ended";
	default:
		return "interrupted";
	}
}

void session_summarize(struct session *session, struct summary *ret_summary)
{
	struct summary *summary = ret_summary;
	struct rusage usage;

	memset(summary, 0, sizeof(*summary));
	summary->profile = session->profile;
	summary->processes_table = target_table_processes(session->targets);
	summary->processes = target_table_summaries(session->targets, &summary->process_cnt);
	summary->code_stats = code_cache_stats(session->codes);
	summary->start_real_ns = session->start_real_ns;
	summary->duration_ns = session->stopped_ns - session->started_ns;
	summary->startup_ns = session->started_ns - session->begun_ns;
	summary->period_ns = session->options->period_ns;
	bpf_counters_read(bpf_loader_stats_fd(session->loader), summary->bpf_stats);
	memcpy(summary->losses, session->losses, sizeof(summary->losses));
	summary->losses[SUMMARY_LOSS_PROCESS_TABLE_FULL] += target_table_full_count(session->targets);
	own_cpu_ns(&summary->own_user_ns, &summary->own_system_ns);
	getrusage(RUSAGE_SELF, &usage);
	summary->own_peak_rss_bytes = (u64)usage.ru_maxrss << 10;
	summary->stop_reason = stop_text(session->stop);
	summary->argc = session->options->argc;
	summary->argv = session->options->full_argv;
	summary->strict = session->options->strict;
	summary->strict_percent = session->options->strict_percent;
}
