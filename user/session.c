/* SPDX-License-Identifier: Apache-2.0 */
/* The loop that both flows share: process events and mappings go to the target table (control), the
 * records of the sample rings to session_samples.c (data).
 *
 * One thread, one epoll loop. Samples wait in the rings until a batch is due; process events wake the loop at
 * once, and so does the first mapping, but not each of many.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "kernel/bpf_counters.h"
#include "progress.h"
#include "session_internal.h"

enum {
	/* Samples wait at most this long for their batch. */
	LOOP_INTERVAL_MS = 250,
	/* While a process is in the middle of an exec. */
	UNDECIDED_INTERVAL_MS = 5,
	/* Between two wake-ups by mappings: an exec makes a dozen of them, and perf's records of every fork and exit of
	 * the host, threads included, come along (Linux, kernel/events/core.c, perf_event_task_match). */
	MAPPINGS_INTERVAL_MS = 10,
	LOOP_EVENTS = 4,
	/* Looking at processes takes at most this long in a row, or as long as one of them: samples, signals and the
	 * end wait meanwhile. */
	LOOKS_MS = 50,
	/* What was read of the stack of a thread that has not returned to user mode by then serves. */
	AWAIT_S = 10,
	AWAIT_LAST_MS = 100,
};

static bool on_record(void *ctx, size_t ring, const void *data, size_t sz)
{
	struct session *session = ctx;

	if (ring != session->event_ring) {
		session_on_record(session, data, sz);
		return true;
	}
	if (sz >= sizeof(struct process_event))
		target_table_on_event(session->targets, data);
	return clock_monotonic_ns() < session->looks_until_ns;
}

static void on_mapping(void *ctx, const struct mapping_event *mapping)
{
	struct session *session = ctx;

	target_table_on_mapping(session->targets, mapping);
}

static void drain_mappings(struct session *session)
{
	u64 until_ns = clock_monotonic_ns() + LOOKS_MS * CLOCK_NS_PER_MS;
	u64 lost = mapping_events_drain(session->mappings, until_ns, on_mapping, session);

	session->losses[SUMMARY_LOSS_SIDEBAND] += lost;
	session->rescan |= lost != 0;
	session->looks_wait = clock_monotonic_ns() >= until_ns;
}

static void drain_rings(struct session *session, u64 until_ns)
{
	bool is_whole;

	session->looks_until_ns = clock_monotonic_ns() + LOOKS_MS * CLOCK_NS_PER_MS;
	is_whole = ring_reader_drain(session->rings, until_ns, on_record, session);
	session->looks_wait |= !is_whole;
	if (is_whole)
		session_settle_repeats(session);
}

/* All that there is. */
static void drain_last(struct session *session)
{
	do {
		session->looks_wait = false;
		drain_rings(session, ~0ULL);
	} while (session->looks_wait);
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

/* Says once that CPUs which came online are not sampled, or that what starts on them is found late. */
static void warn_of_cpus(struct session *session, int err)
{
	if (session->has_warned_of_cpus)
		return;
	session->has_warned_of_cpus = true;
	log_warning(LOG_TOPIC_KERNEL,
		    "a CPU that came online cannot be sampled yet (it is tried every second): %s",
		    strerror(-err));
}

/* Follows CPU hotplug. */
static void refresh_cpus(struct session *session, u64 now)
{
	bool changed;
	int err = perf_timers_refresh(session->timers, now, &changed);

	if (changed || session->listens_anew) {
		int listening = mapping_events_refresh(session->mappings);

		session->listens_anew = listening < 0;
		session->rescan = true;
		err = err ?: listening;
	}
	if (err)
		warn_of_cpus(session, err);
}

/* A process event that found no room told of a process that the scan finds, or of one that it misses. */
static void note_dropped_events(struct session *session)
{
	u64 dropped;

	if (bpf_counters_read_one(bpf_loader_stats_fd(session->loader), BPF_STAT_EVENTS_DROPPED, &dropped))
		return;
	session->rescan |= dropped != session->events_dropped;
	session->events_dropped = dropped;
}

static void every_second(struct session *session, u64 now)
{
	if (now - session->second_ns < CLOCK_NS_PER_S)
		return;
	session->second_ns = now;
	session_expire_awaited(session, now - AWAIT_S * CLOCK_NS_PER_S);
	refresh_cpus(session, now);
	note_dropped_events(session);
	/* A scan may find others that are followed. */
	if (session->options->pid_cnt && !session->stop && !session->rescan && !session->scans &&
	    !target_table_live_count(session->targets))
		session->stop = SESSION_STOP_TARGETS_ENDED;
	session_draw_progress(session, now);
}

/* Milliseconds until the loop has something to do by itself. */
static int loop_timeout(const struct session *session, u64 now)
{
	u64 duration = session->options->duration_ns;
	int interval = session->undecided	  ? UNDECIDED_INTERVAL_MS
		       : session->mappings_due_ns ? MAPPINGS_INTERVAL_MS
						  : LOOP_INTERVAL_MS;
	u64 left;

	if (session->looks_wait)
		return 0;
	if (!duration)
		return interval;
	left = session->started_ns + duration > now ? session->started_ns + duration - now : 0;
	left = left / CLOCK_NS_PER_MS + 1;
	return left < (u64)interval ? (int)left : interval;
}

static void check_ends(struct session *session, u64 now)
{
	if (session->stop)
		return;
	if (session->options->duration_ns && session->started_ns &&
	    now >= session->started_ns + session->options->duration_ns)
		session->stop = SESSION_STOP_DURATION;
	else if (session->child_ended && !target_table_live_count(session->targets))
		session->stop = SESSION_STOP_COMMAND_ENDED;
}

static bool is_among(const struct epoll_event *events, int cnt, int fd)
{
	for (int i = 0; i < cnt; i++) {
		if (events[i].data.fd == fd)
			return true;
	}
	return false;
}

/* Mappings woke the loop once: they do so again after a while. */
static void pace_mappings(struct session *session, bool woke, u64 now)
{
	int fd = mapping_events_fd(session->mappings);
	struct epoll_event again = {.events = EPOLLIN | EPOLLONESHOT, .data.fd = fd};

	if (woke)
		session->mappings_due_ns = now + MAPPINGS_INTERVAL_MS * CLOCK_NS_PER_MS;
	if (session->mappings_due_ns && now >= session->mappings_due_ns &&
	    !epoll_ctl(session->epoll_fd, EPOLL_CTL_MOD, fd, &again))
		session->mappings_due_ns = 0;
}

static void take_turn(struct session *session, u64 now)
{
	drain_mappings(session);
	drain_rings(session, now);
	target_table_expire(session->targets, now);
	session->undecided = target_table_retry(session->targets, now);
	session_refresh_selection(session, now);
	every_second(session, now);
	session_print_stats(session, now);
	check_ends(session, now);
}

bool session_goes_on(void *ctx)
{
	struct session *session = ctx;
	u64 now = clock_monotonic_ns();

	if (now - session->turn_ns >= LOOKS_MS * CLOCK_NS_PER_MS) {
		on_signals(session);
		take_turn(session, now);
		session->turn_ns = clock_monotonic_ns();
	}
	return !session->stop;
}

int session_scan(struct session *session, pid_t *ret_missing)
{
	int err;

	session->rescan = false;
	session->scans = true;
	err = target_table_scan(session->targets, ret_missing);
	session->scans = false;
	session->scanned_ns = clock_monotonic_ns();
	if (err != -ECANCELED)
		return err;
	log_warning(LOG_TOPIC_DISCOVER, "the recording ended before every process had been looked at: those "
					"that were not are missing from it");
	return 0;
}

/* For what was missed. */
static void scan_again(struct session *session, u64 now)
{
	pid_t ignored;

	if (session->rescan && !session->stop && now - session->scanned_ns >= CLOCK_NS_PER_S)
		session_scan(session, &ignored);
}

enum session_stop session_run(struct session *session)
{
	struct epoll_event events[LOOP_EVENTS];

	while (!session->stop) {
		u64 now = clock_monotonic_ns();
		int cnt = epoll_wait(session->epoll_fd, events, LOOP_EVENTS, loop_timeout(session, now));

		if (cnt < 0 && errno != EINTR)
			break;
		if (is_among(events, cnt, session->signal_fd))
			on_signals(session);
		now = clock_monotonic_ns();
		pace_mappings(session, is_among(events, cnt, mapping_events_fd(session->mappings)), now);
		take_turn(session, now);
		scan_again(session, now);
	}
	return session->stop;
}

/* Threads that were interrupted just before the end are reading their stacks now. */
static void await_last(struct session *session)
{
	const struct timespec step = {.tv_nsec = CLOCK_NS_PER_MS};

	for (int i = 0; i < AWAIT_LAST_MS && awaited_stacks_count(session->awaited); i++) {
		nanosleep(&step, NULL);
		drain_last(session);
	}
}

void session_finish(struct session *session)
{
	perf_timers_stop(session->timers);
	session->stopped_ns = clock_monotonic_ns();
	target_table_settle(session->targets);
	drain_mappings(session);
	drain_last(session);
	await_last(session);
	/* No stack comes any more. */
	session_settle_repeats(session);
	session_expire_awaited(session, ~0ULL);
	progress_clear();
}

bool session_child_status(const struct session *session, int *ret_status)
{
	*ret_status = session->child_status;
	return session->child_ended;
}
