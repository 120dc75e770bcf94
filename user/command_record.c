/* SPDX-License-Identifier: Apache-2.0 */
/* `panopy record`: one session from the command line to the files and the exit status. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "commands.h"
#include "exit_codes.h"
#include "export/exporter.h"
#include "export/summary_json.h"
#include "launch.h"
#include "options.h"
#include "selection.h"
#include "session.h"
#include "stop_signals.h"

enum {
	MESSAGE_SZ = 512,
	/* After Ctrl-C the command got it too: its status is worth a short wait. */
	CHILD_GRACE_MS = 500,
	PRIORITY = -10,
	SLICE_NS = 100000,
	MAX_DEFAULT_NAMES = 1000,
};

/* On a host whose CPUs are all busy, samples wait in the rings until panopy gets one, and short-lived
 * processes must be looked at while they are there. It needs little, but soon. The command does not
 * inherit this: it was forked before. */
static void priority_raise(void)
{
	/* Linux, include/uapi/linux/sched/types.h, first version; the header is at odds with glibc's <sched.h>. */
	const struct {
		u32 size, policy;
		u64 flags;
		s32 nice;
		u32 priority;
		u64 runtime, deadline, period;
	} attr = {
		.size = sizeof(attr),
		.nice = PRIORITY,
		/* A short slice is what lets a waking process in at once (Linux 6.12, kernel/sched/fair.c); before,
		 * it is ignored. The workers that read other processes have it too. */
		.runtime = SLICE_NS,
	};

	/* Who runs panopy under another policy (chrt) wants it there. */
	if (sched_getscheduler(0) != SCHED_OTHER)
		return;
	/* May be refused; then samples wait a little longer. */
	if (syscall(SYS_sched_setattr, 0, &attr, 0))
		setpriority(PRIO_PROCESS, 0, PRIORITY);
}

/* Each process that is sampled takes a descriptor, each CPU several. */
static void open_files_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	/* May be refused; then processes beyond the limit are counted as left out. */
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* What the path stands for, whether it is there yet or not; NULL if even its folder is not. */
static char *canonical_path(const char *path)
{
	const char *slash = strrchr(path, '/');
	CLEANUP_FREE char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	CLEANUP_FREE char *real_folder = folder ? realpath(folder, NULL) : NULL;
	char *real = realpath(path, NULL);

	if (!real && real_folder && asprintf(&real, "%s/%s", real_folder, slash ? slash + 1 : path) < 0)
		real = NULL;
	return real;
}

/* NULL for standard output, too. */
static char *file_of(const char *option)
{
	return option && strcmp(option, "-") != 0 ? canonical_path(option) : NULL;
}

/* One path in two spellings: the summary would replace the stacks. */
static int outputs_check(const struct options *options)
{
	CLEANUP_FREE char *output = file_of(options->output);
	CLEANUP_FREE char *summary = file_of(options->summary);
	struct stat st;

	if (!output || !summary || strcmp(output, summary) != 0 ||
	    (stat(output, &st) == 0 && !S_ISREG(st.st_mode)))
		return 0;
	log_error(LOG_TOPIC_EXPORT, "--output and --summary both write to %s: give one of them another path",
		  output);
	return -EEXIST;
}

/* An output that cannot be written is better told before the recording than after it. */
static int output_check(const char *path)
{
	struct atomic_file *file;
	struct stat st;
	int err;

	if (!path)
		return 0;
	if (!strcmp(path, "-")) {
		/* Of nothing: tells whether it is open at all. */
		if (write(STDOUT_FILENO, "", 0) == 0 || errno != EBADF)
			return 0;
		log_error(LOG_TOPIC_EXPORT, "standard output cannot be written: it is closed, or open for "
					    "reading only");
		return -EBADF;
	}
	/* A reader at the other end of a pipe would take the probe for the end. */
	if (!stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return 0;
	err = atomic_file_open(&file, path);
	if (err) {
		log_error(LOG_TOPIC_EXPORT, "%s cannot be written: %s", path, strerror(-err));
		return err;
	}
	atomic_file_discard(file);
	return 0;
}

/* The folder is made at once, so that it is known to be writable. */
static int split_check(const char *path)
{
	int err = path ? split_dir_make(path) : 0;

	if (!err && path && access(path, W_OK | X_OK) < 0)
		err = -errno;
	if (err)
		log_error(LOG_TOPIC_EXPORT, "nothing can be written into the folder %s: %s", path,
			  strerror(-err));
	return err;
}

/* Another recording of the same second may have taken the default name; its profile stays. */
static int write_default(const struct exporter_input *input, struct options *options)
{
	const struct exporter_ops *ops = exporter_find("folded");
	int stem_sz = (int)(strlen(options->output) - strlen(ops->suffix) - 1);
	int err = exporter_write(ops, input, options->output);

	for (int i = 2; err == -EEXIST && i <= MAX_DEFAULT_NAMES; i++) {
		char *name;

		if (asprintf(&name, "%.*s-%d.%s", stem_sz, options->output, i, ops->suffix) < 0)
			return -ENOMEM;
		err = exporter_write(ops, input, name);
		if (err) {
			free(name);
		} else {
			free(options->output);
			options->output = name;
		}
	}
	return err;
}

static int write_split(const struct exporter_input *input, const struct options *options,
		       struct summary *summary)
{
	int err = split_dir_make(options->split);

	if (!err)
		err = exporter_split(exporter_find("folded"), input, options->split, &summary->split_cnt);
	if (err)
		log_error(LOG_TOPIC_EXPORT, "the files in %s were not all written: %s", options->split,
			  strerror(-err));
	else
		summary->split_path = options->split;
	return err;
}

static int write_whole(const struct exporter_input *given, struct options *options, struct summary *summary)
{
	struct exporter_input input = *given;
	bool is_stdout = strcmp(options->output, "-") == 0;
	int err;

	input.keep_existing = options->output_is_default;
	err = options->output_is_default ? write_default(&input, options)
					 : exporter_write(exporter_find("folded"), &input, options->output);
	if (err)
		log_error(LOG_TOPIC_EXPORT, "%s was not written: %s",
			  is_stdout ? "standard output" : options->output, strerror(-err));
	else
		summary->output_path = options->output;
	return err;
}

static int write_profile(struct options *options, struct summary *summary)
{
	static const enum exporter_per pers[] = {
		[OPTIONS_PER_PROCESS] = EXPORTER_PER_PROCESS,	  [OPTIONS_PER_THREAD] = EXPORTER_PER_THREAD,
		[OPTIONS_PER_CONTAINER] = EXPORTER_PER_CONTAINER, [OPTIONS_PER_CGROUP] = EXPORTER_PER_CGROUP,
		[OPTIONS_PER_USER] = EXPORTER_PER_USER,		  [OPTIONS_PER_NONE] = EXPORTER_PER_NONE,
	};
	const struct exporter_input input = {
		.profile = summary->profile,
		.processes = summary->processes_table,
		.per = pers[options->per],
	};
	int err = options->split ? write_split(&input, options, summary) : 0;

	return options->output ? write_whole(&input, options, summary) ?: err : err;
}

static int write_summary(const struct options *options, const struct summary *summary)
{
	int err = options->summary ? summary_json_write(options->summary, summary) : 0;

	if (err)
		log_error(LOG_TOPIC_EXPORT, "the summary %s was not written: %s", options->summary,
			  strerror(-err));
	return err;
}

static bool has_process(const struct summary *summary, enum py_refusal refusal)
{
	for (size_t i = 0; i < summary->process_cnt; i++) {
		if (summary->processes[i].refusal == refusal)
			return true;
	}
	return false;
}

static int strict_verdict(const struct options *options, const struct summary *summary)
{
	double bad = summary_bad_percent(summary);

	if (!options->strict || bad <= options->strict_percent)
		return EXIT_CODE_OK;
	log_error(LOG_TOPIC_MAIN,
		  "--strict: %.3g %% of the samples are lost, late, truncated or unnamed (%.3g %% allowed)",
		  bad, options->strict_percent);
	return EXIT_CODE_STRICT;
}

static int verdict(const struct options *options, const struct summary *summary)
{
	if (!has_process(summary, PY_REFUSAL_NONE) && has_process(summary, PY_REFUSAL_NOT_PERMITTED)) {
		log_error(LOG_TOPIC_MAIN,
			  "panopy may look into none of the Python processes: run it as root or "
			  "with CAP_SYS_PTRACE");
		return EXIT_CODE_PRIVILEGE;
	}
	if (!has_process(summary, PY_REFUSAL_NONE)) {
		log_error(LOG_TOPIC_MAIN,
			  "no Python process that can be profiled was seen%s (`panopy ps` lists "
			  "those there are and why)",
			  selection_is_empty(options->selection) ? "" : " in the selection");
		return EXIT_CODE_NO_PYTHON;
	}
	return strict_verdict(options, summary);
}

/* The command's own status; 0 if it still runs after `grace_ms`. */
static int child_status(const struct session *session, pid_t child, int grace_ms)
{
	struct timespec step = {.tv_nsec = 10 * CLOCK_NS_PER_MS};
	int status = 0;

	if (!session_child_status(session, &status)) {
		for (int waited = 0; waitpid(child, &status, WNOHANG) != child; waited += 10) {
			if (waited >= grace_ms)
				return EXIT_CODE_OK;
			nanosleep(&step, NULL);
		}
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int finish(struct session *session, struct options *options, const struct launched *launched,
		  enum session_stop stop)
{
	char message[MESSAGE_SZ];
	struct summary summary;
	int err, status, strict;

	stop_signals_abort(stop == SESSION_STOP_INTERRUPTED);
	session_finish(session);
	/* There is nothing to write, and what an output file has from before stays. */
	if (options->argv && launch_has_failed(launched, options->argv, message, sizeof(message))) {
		log_hurry(false);
		log_error(LOG_TOPIC_MAIN, "%s", message);
		return child_status(session, launched->pid, CHILD_GRACE_MS);
	}
	session_summarize(session, &summary);
	summary.format = "folded";
	err = write_profile(options, &summary);
	err = write_summary(options, &summary) ?: err;
	log_hurry(false);
	if (!options->quiet)
		summary_print(stderr, &summary, log_use_color());
	if (err)
		return EXIT_CODE_FAILURE;
	if (!options->argv)
		return verdict(options, &summary);
	/* A command need not be Python, and its own failure goes first. */
	status = child_status(session, launched->pid, stop == SESSION_STOP_INTERRUPTED ? CHILD_GRACE_MS : 0);
	strict = strict_verdict(options, &summary);
	return status ?: strict;
}

int command_record(struct options *options)
{
	struct session_config config = {
		.options = options,
		.child_go_fd = -1,
		.begun_ns = clock_monotonic_ns(),
	};
	struct launched launched = {.go_fd = -1, .failure_fd = -1};
	struct session *session;
	char message[MESSAGE_SZ];
	int exit_code = EXIT_CODE_FAILURE;
	int err;

	if (outputs_check(options))
		return EXIT_CODE_USAGE;
	if (output_check(options->output) || output_check(options->summary) || split_check(options->split))
		return EXIT_CODE_FAILURE;
	if (selection_resolve(options->selection, options->wait, message, sizeof(message))) {
		log_error(LOG_TOPIC_MAIN, "%s", message);
		return EXIT_CODE_FAILURE;
	}
	selection_warn(options->selection);
	stop_signals_block();
	/* No signal would end the wait for a reader of messages. */
	log_hurry(true);
	if (options->argv) {
		err = launch_command(options->argv, &launched);
		if (err) {
			log_error(LOG_TOPIC_MAIN, "the command cannot be started: %s", strerror(-err));
			return EXIT_CODE_FAILURE;
		}
		config.child = launched.pid;
		config.child_go_fd = launched.go_fd;
	}
	/* Only now: the command would inherit it. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	/* Ignored by who started panopy: the command's end would never be told, nor its status. */
	signal(SIGCHLD, SIG_DFL);
	open_files_raise();
	priority_raise();
	err = session_open(&session, &config, message, sizeof(message), &exit_code);
	if (config.child_go_fd >= 0)
		close(config.child_go_fd);
	if (err) {
		stop_signals_abort(true);
		log_hurry(false);
		log_error(LOG_TOPIC_MAIN, "%s", message);
		return exit_code;
	}
	exit_code = finish(session, options, &launched, session_run(session));
	session_close(session);
	return exit_code;
}
