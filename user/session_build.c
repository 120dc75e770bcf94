/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a recording in the order of its stages, and says in one sentence what stood in the way. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "kernel/features.h"
#include "session_internal.h"
#include "stop_signals.h"

enum {
	MAX_KERNEL_PROCESSES = 16384,
	/* Maps, programs and links; of each CPU its rings and perf events. */
	MIN_OPEN_FILES = 40,
	MIN_OPEN_FILES_PER_CPU = 4,
};

struct failure {
	char *message;
	size_t sz;
	int *exit_code;
};

static int fail(const struct failure *failure, int exit_code, int err, const char *what)
{
	bool too_many_files = err == -EMFILE;

	if (too_many_files)
		what = "raise the limit of open files with `ulimit -n 4096`";
	snprintf(failure->message, failure->sz, "%s: %s", what, strerror(-err));
	*failure->exit_code = too_many_files ? EXIT_CODE_FAILURE : exit_code;
	return err;
}

/* Told beforehand: libbpf takes a descriptor that its probes do not get for a feature that the kernel lacks. */
static int check_open_files(const struct failure *failure)
{
	rlim_t needed = MIN_OPEN_FILES + MIN_OPEN_FILES_PER_CPU * (rlim_t)sysconf(_SC_NPROCESSORS_ONLN);
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= needed)
		return 0;
	return fail(failure, EXIT_CODE_FAILURE, -EMFILE, "open files");
}

static int check_features(const struct failure *failure)
{
	struct features features;

	features_probe_essential(&features);
	*failure->exit_code = features_check_essential(&features, failure->message, failure->sz);
	return *failure->exit_code == EXIT_CODE_OK ? 0 : -EPERM;
}

static int open_kernel(struct session *session, const struct failure *failure)
{
	struct bpf_loader_config loader_config = {
		.period_ns = session->options->period_ns,
		.only_followed = session->options->pid_cnt || session->child,
		.kernel_frames = session->options->kernel_frames,
		.max_processes = MAX_KERNEL_PROCESSES,
		.variant = getenv("PANOPY_SAMPLER"),
		.compare = getenv("PANOPY_COMPARE") != NULL,
	};
	struct perf_timers_config timers_config = {.period_ns = session->options->period_ns};
	size_t cnt, wanted, sz;
	const int *rings;
	int err;

	selection_configure(session->options->selection, &loader_config.selection);
	err = bpf_loader_open(&session->loader, &loader_config);

	if (err == -EINVAL && loader_config.variant)
		return fail(failure, EXIT_CODE_KERNEL, err,
			    "this kernel does not take the sampler of PANOPY_SAMPLER");
	if (err)
		return fail(
			failure, EXIT_CODE_KERNEL, err,
			"the kernel did not take the BPF programs (`panopy doctor` says what is missing)");
	log_debug(LOG_TOPIC_KERNEL, "sampler: %s", bpf_loader_variant(session->loader));
	err = session_publish_selection(session);
	if (err)
		return fail(failure, EXIT_CODE_FAILURE, err, "the cgroups cannot be handed to the kernel");
	if (session->options->wait && !session->child)
		session_await_selection(session);
	sz = bpf_loader_ring_sz(session->loader, &wanted);
	if (sz < wanted)
		log_warning(LOG_TOPIC_KERNEL,
			    "the memlock limit leaves %zu KiB of %zu KiB for each ring; raise it with "
			    "`ulimit -l`",
			    sz >> 10, wanted >> 10);
	rings = bpf_loader_rings(session->loader, &cnt);
	session->event_ring = cnt - 1;
	err = ring_reader_open(&session->rings, rings, cnt);
	if (err)
		return fail(failure, EXIT_CODE_FAILURE, err, "the ring buffers cannot be mapped");
	err = mapping_events_open(&session->mappings);
	if (err)
		return fail(failure, EXIT_CODE_PRIVILEGE, err,
			    "perf does not report mappings (CAP_PERFMON?)");
	timers_config.sampler_fd = bpf_loader_sampler_fd(session->loader);
	timers_config.last_ticks_fd = bpf_loader_last_ticks_fd(session->loader);
	err = perf_timers_open(&session->timers, &timers_config);
	if (err)
		return fail(failure, EXIT_CODE_PRIVILEGE, err, "the sampling timers cannot be opened");
	err = bpf_loader_attach_watch(session->loader);
	return err ? fail(failure, EXIT_CODE_KERNEL, err, "the process tracepoints cannot be attached") : 0;
}

static bool was_sampled(void *profile, u32 process_id)
{
	return profile_process_totals(profile, process_id) != NULL;
}

static int open_user(struct session *session, const pid_t *pids, size_t pid_cnt)
{
	struct profile_config profile_config = {};
	struct code_cache_config code_config = {
		.full_paths = session->options->full_paths,
		.no_lines = !session->options->lines,
	};
	struct target_table_config target_config = {
		.processes_fd = bpf_loader_processes_fd(session->loader),
		.thread_slots_fd = bpf_loader_thread_slots_fd(session->loader),
		.pids = pids,
		.pid_cnt = pid_cnt,
		.subprocesses = session->options->subprocesses,
		.selection = session->options->selection,
		.remote_reads = &session->remote_reads,
	};
	int err = profile_new(&session->profile, &profile_config);

	if (err)
		return err;
	code_config.frames = profile_frames(session->profile);
	err = code_cache_new(&session->codes, &code_config);
	if (err)
		return err;
	target_config.codes = session->codes;
	target_config.was_sampled = was_sampled;
	target_config.was_sampled_ctx = session->profile;
	target_config.goes_on = session_goes_on;
	target_config.goes_on_ctx = session;
	err = target_table_new(&session->targets, &target_config);
	err = err ?: late_stacks_new(&session->late, session->codes, MAX_COMPLETED_FRAMES);
	err = err ?: awaited_stacks_new(&session->awaited);
	err = err ?: known_stacks_new(&session->stacks);
	err = err ?: deferred_repeats_new(&session->deferred);
	session->frame_ids = malloc(MAX_STACK_FRAMES * sizeof(*session->frame_ids));
	return err ?: session->frame_ids ? 0 : -ENOMEM;
}

static int watch_fd(struct session *session, int fd, u32 events)
{
	struct epoll_event event = {.events = events, .data.fd = fd};

	return epoll_ctl(session->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

/* The signals are blocked by command_record before anything else runs. */
static int open_loop(struct session *session)
{
	sigset_t signals;
	int err;

	stop_signals_set(&signals);
	sigaddset(&signals, SIGCHLD);
	session->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	session->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (session->signal_fd < 0 || session->epoll_fd < 0)
		return -errno;
	err = watch_fd(session, session->signal_fd, EPOLLIN);
	/* A ring is readable as long as it holds anything: told of that instead of its wake-ups, the loop
	 * would come round for every sample. */
	err = err ?: watch_fd(session, ring_reader_fd(session->rings), EPOLLIN | EPOLLET);
	return err ?: watch_fd(session, mapping_events_fd(session->mappings), EPOLLIN | EPOLLONESHOT);
}

/* Given pids of which none runs Python, or none that can be profiled: said at once. */
static int check_pids(const struct session *session, const struct failure *failure)
{
	pid_t pid = session->options->pids[0];
	size_t cnt;
	const struct summary_process *rows = target_table_summaries(session->targets, &cnt);
	const struct summary_process *refused = NULL;

	for (size_t i = 0; i < cnt; i++) {
		if (rows[i].refusal == PY_REFUSAL_NONE)
			return 0;
		refused = &rows[i];
	}
	if (refused)
		snprintf(failure->message, failure->sz, "process %d cannot be profiled: %s",
			 (int)process_table_at(target_table_processes(session->targets), refused->process_id)
				 ->pid,
			 py_refusal_text(refused->refusal));
	else
		snprintf(failure->message, failure->sz,
			 process_table_is_running(target_table_processes(session->targets), pid)
				 ? "process %d runs no Python, nor does any child of it (`panopy ps` "
				   "lists those that do)"
				 : "process %d has ended, or its main thread has: nothing can be read of it",
			 (int)pid);
	*failure->exit_code = refused && refused->refusal == PY_REFUSAL_NOT_PERMITTED ? EXIT_CODE_PRIVILEGE
										      : EXIT_CODE_NO_PYTHON;
	return -ESRCH;
}

static int start(struct session *session, const struct session_config *config, const struct failure *failure)
{
	pid_t missing = 0;
	int err;

	err = session_scan(session, &missing);
	if (err == -ESRCH && missing) {
		snprintf(failure->message, failure->sz,
			 kill(missing, 0) == 0 ? "%d is a thread: give the id of its process"
					       : "there is no process %d",
			 (int)missing);
		*failure->exit_code = EXIT_CODE_NO_PYTHON;
		return err;
	}
	if (err)
		return fail(failure, EXIT_CODE_FAILURE, err, "/proc cannot be read");
	/* What else is selected may become true of them later. */
	if (session->options->pid_cnt && !config->child && !session->stop &&
	    selection_is_empty(session->options->selection))
		err = check_pids(session, failure);
	if (err)
		return err;
	/* Not before: a process would miss the samples of the time until it had been looked at. */
	session->start_real_ns = clock_real_ns();
	session->started_ns = clock_monotonic_ns();
	err = perf_timers_start(session->timers);
	if (err)
		return fail(failure, EXIT_CODE_FAILURE, err, "the sampling timers cannot be started");
	if (config->child_go_fd >= 0 && write(config->child_go_fd, "", 1) != 1)
		return fail(failure, EXIT_CODE_FAILURE, -errno, "the command cannot be started");
	return 0;
}

int session_open(struct session **ret_session, const struct session_config *config, char *ret_message,
		 size_t message_sz, int *ret_exit_code)
{
	struct failure failure = {ret_message, message_sz, ret_exit_code};
	struct session *session = calloc(1, sizeof(*session));
	const struct options *options = config->options;
	int err;

	if (!session)
		return fail(&failure, EXIT_CODE_FAILURE, -ENOMEM, "the recording cannot be set up");
	session->options = options;
	session->child = config->child;
	session->begun_ns = config->begun_ns;
	session->epoll_fd = -1;
	session->signal_fd = -1;
	err = check_open_files(&failure) ?: check_features(&failure);
	err = err ?: open_kernel(session, &failure);
	if (!err) {
		err = open_user(session, config->child ? &session->child : options->pids,
				config->child ? 1 : options->pid_cnt);
		err = err ?: open_loop(session);
		if (err)
			fail(&failure, EXIT_CODE_FAILURE, err, "the recording cannot be set up");
	}
	err = err ?: start(session, config, &failure);
	if (err) {
		session_close(session);
		return err;
	}
	session_own_cpu_ns(&session->startup_user_ns, &session->startup_system_ns);
	*ret_session = session;
	return 0;
}

void session_close(struct session *session)
{
	if (!session)
		return;
	perf_timers_close(session->timers);
	mapping_events_close(session->mappings);
	ring_reader_close(session->rings);
	target_table_free(session->targets);
	late_stacks_free(session->late);
	awaited_stacks_free(session->awaited);
	code_cache_free(session->codes);
	profile_free(session->profile);
	bpf_loader_close(session->loader);
	if (session->epoll_fd >= 0)
		close(session->epoll_fd);
	if (session->signal_fd >= 0)
		close(session->signal_fd);
	known_stacks_free(session->stacks);
	deferred_repeats_free(session->deferred);
	free(session->frame_ids);
	free(session);
}
