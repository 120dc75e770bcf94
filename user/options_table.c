/* SPDX-License-Identifier: Apache-2.0 */
#include "options_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/printable.h"
#include "options_value.h"
#include "selection.h"
#include "shared_limits.h"

/* The loop that prints them comes round this often. */
enum { STATS_INTERVAL_MIN_NS = 100 * 1000 * 1000 };

#define FAIL(error, ...) (snprintf(error, OPTIONS_ERROR_SZ, __VA_ARGS__), -EINVAL)

static int append_pid(struct options *options, pid_t pid, char *error)
{
	pid_t *grown;

	for (size_t i = 0; i < options->pid_cnt; i++)
		if (options->pids[i] == pid)
			return 0;
	if (options->pid_cnt >= OPTIONS_MAX_PIDS)
		return FAIL(error, "--pid names more than %d processes: leave it out to profile all of them",
			    OPTIONS_MAX_PIDS);
	grown = realloc(options->pids, (options->pid_cnt + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	options->pids = grown;
	options->pids[options->pid_cnt++] = pid;
	return 0;
}

static int apply_pid(struct options *options, const char *given, const char *value, char *error)
{
	const char *p = value;

	for (;;) {
		const char *end = p + strcspn(p, ",");
		pid_t pid;
		int err;

		if (options_decode_pid(p, end, &pid))
			return FAIL(error, "%s: '%.*s' is not a process id: give numbers, as in %s 1234,1300",
				    given, (int)(end - p), p, given);
		err = append_pid(options, pid, error);
		if (err)
			return err;
		if (*end == '\0')
			return 0;
		p = end + 1;
	}
}

static int apply_duration(struct options *options, const char *given, const char *value, char *error)
{
	int err = options_decode_duration(value, &options->duration_ns);

	if (err == -ERANGE)
		return FAIL(error, "%s %s is out of range: give more than 0 and at most 365 days", given,
			    value);
	if (err)
		return FAIL(error,
			    "%s: '%s' is no duration: give seconds or a unit, as in %s 10, 500ms or 2m",
			    given, value, given);
	return 0;
}

static int apply_rate(struct options *options, const char *given, const char *value, char *error)
{
	int err = options_decode_rate(value, &options->period_ns);

	if (err == -ERANGE)
		return FAIL(error, "%s %s is out of range: give 1 to %d Hz, or a period of 50us to 1s", given,
			    value, OPTIONS_RATE_MAX_HZ);
	if (err)
		return FAIL(error, "%s: '%s' is no rate: give Hz or a period, as in %s 99, 1khz or 100us",
			    given, value, given);
	options->rate_hz = (u32)((CLOCK_NS_PER_S + options->period_ns / 2) / options->period_ns);
	return 0;
}

static int set_path(char **path, const char *given, const char *value, char *error)
{
	char *copy;

	if (*value == '\0')
		return FAIL(error, "%s needs a path: give one, or - for standard output", given);
	copy = strdup(value);
	if (!copy)
		return -ENOMEM;
	free(*path);
	*path = copy;
	return 0;
}

static int apply_output(struct options *options, const char *given, const char *value, char *error)
{
	return set_path(&options->output, given, value, error);
}

static int apply_summary(struct options *options, const char *given, const char *value, char *error)
{
	return set_path(&options->summary, given, value, error);
}

static int apply_split(struct options *options, const char *given, const char *value, char *error)
{
	if (*value == '\0' || strcmp(value, "-") == 0)
		return FAIL(error, "%s needs a folder: give its path", given);
	return set_path(&options->split, given, value, error);
}

static int apply_per(struct options *options, const char *given, const char *value, char *error)
{
	static const char *const names[] = {
		[OPTIONS_PER_PROCESS] = "process",     [OPTIONS_PER_THREAD] = "thread",
		[OPTIONS_PER_CONTAINER] = "container", [OPTIONS_PER_CGROUP] = "cgroup",
		[OPTIONS_PER_USER] = "user",	       [OPTIONS_PER_NONE] = "none",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(value, names[i]) == 0) {
			options->per = i;
			return 0;
		}
	}
	return FAIL(error, "%s: '%s' is not known: give process, thread, container, cgroup, user or none",
		    given, value);
}

static int apply_color(struct options *options, const char *given, const char *value, char *error)
{
	if (strcmp(value, "auto") == 0)
		options->color = LOG_COLOR_AUTO;
	else if (strcmp(value, "always") == 0)
		options->color = LOG_COLOR_ALWAYS;
	else if (strcmp(value, "never") == 0)
		options->color = LOG_COLOR_NEVER;
	else
		return FAIL(error, "%s: '%s' is not known: give auto, always or never", given, value);
	return 0;
}

static int apply_strict(struct options *options, const char *given, const char *value, char *error)
{
	options->strict = true;
	options->strict_percent = 0;
	if (value && options_decode_percent(value, &options->strict_percent))
		return FAIL(error, "%s: '%s' is no percentage: give 0 to 100, as in --strict=0.5", given,
			    value);
	return 0;
}

static int apply_kernel_frames(struct options *options, const char *given, const char *value, char *error)
{
	pid_t cnt;

	if (options_decode_pid(value, value + strlen(value), &cnt) || cnt > LIMIT_SAMPLE_FRAMES)
		return FAIL(error, "%s: '%s' is no number of frames: give 1 to %d", given, value,
			    LIMIT_SAMPLE_FRAMES);
	options->kernel_frames = cnt;
	return 0;
}

static int apply_stats(struct options *options, const char *given, const char *value, char *error)
{
	int err = value ? options_decode_duration(value, &options->stats_interval_ns) : 0;

	options->stats = true;
	if (err || (value && options->stats_interval_ns < STATS_INTERVAL_MIN_NS))
		return FAIL(error, "%s: '%s' is no interval: give 0.1 seconds or more, as in --stats=5",
			    given, value);
	return 0;
}

static int apply_selection(struct options *options, const char *given, const char *value, char *error,
			   int kind)
{
	char why[OPTIONS_ERROR_SZ / 2], shown[128];
	int err = options->selection ? 0 : selection_new(&options->selection);

	if (err)
		return err;
	if (kind < SELECTION_KIND_COUNT)
		err = selection_add(options->selection, kind, false, value, why, sizeof(why));
	else
		err = selection_exclude(options->selection, value, why, sizeof(why));
	if (err == -EINVAL)
		return FAIL(error, "%s: '%s' %s", given, printable_text(shown, sizeof(shown), value), why);
	return err;
}

#define DEFINE_APPLY_SELECTION(name, kind)                                                                   \
	static int apply_##name(struct options *options, const char *given, const char *value, char *error)  \
	{                                                                                                    \
		return apply_selection(options, given, value, error, kind);                                  \
	}

DEFINE_APPLY_SELECTION(cgroup, SELECTION_CGROUP)
DEFINE_APPLY_SELECTION(unit, SELECTION_UNIT)
DEFINE_APPLY_SELECTION(container, SELECTION_CONTAINER)
DEFINE_APPLY_SELECTION(pod, SELECTION_POD)
DEFINE_APPLY_SELECTION(user, SELECTION_USER)
DEFINE_APPLY_SELECTION(name, SELECTION_NAME)
DEFINE_APPLY_SELECTION(exe, SELECTION_EXE)
DEFINE_APPLY_SELECTION(python, SELECTION_PYTHON)
DEFINE_APPLY_SELECTION(exclude, SELECTION_KIND_COUNT)

#define DEFINE_APPLY(name, statement)                                                                        \
	static int apply_##name(struct options *options, const char *given, const char *value, char *error)  \
	{                                                                                                    \
		(void)given, (void)value, (void)error;                                                       \
		statement;                                                                                   \
		return 0;                                                                                    \
	}

DEFINE_APPLY(full_paths, options->full_paths = true)
DEFINE_APPLY(no_lines, options->lines = false)
DEFINE_APPLY(no_subprocesses, options->subprocesses = false)
DEFINE_APPLY(subprocesses, options->subprocesses = true)
DEFINE_APPLY(wait, options->wait = true)
DEFINE_APPLY(json, options->json = true)
DEFINE_APPLY(quiet, options->quiet = true)
DEFINE_APPLY(verbose, options->verbosity++)
DEFINE_APPLY(version, options->command = OPTIONS_COMMAND_VERSION)
DEFINE_APPLY(completion, options->command = OPTIONS_COMMAND_COMPLETION)

static int apply_help(struct options *options, const char *given, const char *value, char *error)
{
	(void)given, (void)value, (void)error;
	options->help_of = options->command;
	options->command = OPTIONS_COMMAND_HELP;
	return 0;
}

const struct command_spec COMMAND_TABLE[] = {
	{"record", OPTIONS_COMMAND_RECORD, "[OPTION]... [-- COMMAND [ARGUMENT]...]",
	 "profile Python processes and write their stacks",
	 "Samples every Python process of this host on its CPU time, whatever container it runs in, "
	 "started before or during the recording, until Ctrl-C or the end of --duration; with --pid only "
	 "those processes, with a COMMAND only that one, each with its children. Writes collapsed stacks: "
	 "one line per distinct stack, frames from root to leaf separated by ';', and the number of "
	 "samples."},
	{"ps", OPTIONS_COMMAND_PS, "[OPTION]...", "list the Python processes of this host",
	 "Lists every Python process: pid (and pid inside its namespace), user, version, build, "
	 "interpreter, threads and command; for one that cannot be profiled, why."},
	{"doctor", OPTIONS_COMMAND_DOCTOR, "[OPTION]...", "say what this kernel and these privileges allow",
	 "Tries every feature that a recording uses and says which are missing, what is lost without them "
	 "and the smallest fix. Exits with 0 when a recording can run, 3 when a privilege is missing and 5 "
	 "when the kernel lacks something essential."},
	{NULL, OPTIONS_COMMAND_COUNT, NULL, NULL, NULL},
};

const struct option_spec OPTION_TABLE[] = {
	{"pid", 'p', OPTION_CMDS_SELECT, OPTION_ARGUMENT_REQUIRED, OPTION_COMPLETION_PID, "PID[,PID]...",
	 "only these processes and their children; may be repeated", apply_pid},
	{"cgroup", 0, OPTION_CMDS_SELECT, OPTION_ARGUMENT_REQUIRED, OPTION_COMPLETION_NONE, "PATH|ID",
	 "only processes in this cgroup or below: its path from the hierarchy's root or in the file "
	 "system, or its id; may be repeated, as all that select",
	 apply_cgroup},
	{"unit", 0, OPTION_CMDS_SELECT, OPTION_ARGUMENT_REQUIRED, OPTION_COMPLETION_NONE, "NAME",
	 "only processes of this systemd unit, as in foo.service", apply_unit},
	{"container", 0, OPTION_CMDS_SELECT, OPTION_ARGUMENT_REQUIRED, OPTION_COMPLETION_NONE, "NAME|ID",
	 "only processes of containers whose name or id begins so", apply_container},
	{"pod", 0, OPTION_CMDS_SELECT, OPTION_ARGUMENT_REQUIRED, OPTION_COMPLETION_NONE, "NAMESPACE/NAME|UID",
	 "only processes of this Kubernetes pod", apply_pod},
	{"user", 'u', OPTION_CMDS_SELECT, OPTION_ARGUMENT_REQUIRED, OPTION_COMPLETION_NONE, "NAME|UID",
	 "only processes of this user", apply_user},
	{"name", 0, OPTION_CMDS_SELECT, OPTION_ARGUMENT_REQUIRED, OPTION_COMPLETION_NONE, "REGEX",
	 "only processes whose name, script or module the extended regular expression is found in",
	 apply_name},
	{"exe", 0, OPTION_CMDS_SELECT, OPTION_ARGUMENT_REQUIRED, OPTION_COMPLETION_NONE, "GLOB",
	 "only processes whose executable fits, by its path or, without a slash, its last name", apply_exe},
	{"python", 0, OPTION_CMDS_SELECT, OPTION_ARGUMENT_REQUIRED, OPTION_COMPLETION_NONE, "VERSION",
	 "only Pythons of this version: 3.12, 3.12+ or 3.11-3.13", apply_python},
	{"exclude", 0, OPTION_CMDS_SELECT, OPTION_ARGUMENT_REQUIRED, OPTION_COMPLETION_NONE, "KIND=VALUE",
	 "leave out what an option from --cgroup to --python, without its dashes, would select: --exclude "
	 "user=root",
	 apply_exclude},
	{"wait", 0, OPTION_CMDS_RECORD, OPTION_ARGUMENT_NONE, OPTION_COMPLETION_NONE, NULL,
	 "wait for a --cgroup, --unit, --container or --pod that is not there yet", apply_wait},
	{"subprocesses", 's', OPTION_CMDS_SELECT, OPTION_ARGUMENT_NONE, OPTION_COMPLETION_NONE, NULL,
	 "with --pid, or a COMMAND of record: children, too (the default)", apply_subprocesses},
	{"duration", 'd', OPTION_CMDS_RECORD, OPTION_ARGUMENT_REQUIRED, OPTION_COMPLETION_NONE, "TIME",
	 "stop after TIME: seconds, or with a unit as in 500ms, 10s, 2m, 1h (default: until Ctrl-C)",
	 apply_duration},
	{"rate", 'r', OPTION_CMDS_RECORD, OPTION_ARGUMENT_REQUIRED, OPTION_COMPLETION_NONE, "RATE",
	 "samples per second of CPU time, 1 to 20000, or a period: 99, 1khz, 100us (default: 99)",
	 apply_rate},
	{"output", 'o', OPTION_CMDS_RECORD, OPTION_ARGUMENT_REQUIRED, OPTION_COMPLETION_FILE, "FILE",
	 "write the stacks to FILE, - for standard output (default: panopy-HOST-TIME.folded)", apply_output},
	{"per", 0, OPTION_CMDS_RECORD, OPTION_ARGUMENT_REQUIRED, OPTION_COMPLETION_WORDS,
	 "process|thread|container|cgroup|user|none",
	 "what the root frames say: the process, its thread too, the container's, cgroup's or user's "
	 "name alone, so that equal programs in it merge, or nothing (default: process)",
	 apply_per},
	{"split", 0, OPTION_CMDS_RECORD, OPTION_ARGUMENT_REQUIRED, OPTION_COMPLETION_FILE, "DIR",
	 "write one file for each value of --per into the folder DIR, which is made if it is not there; "
	 "without --output nothing else is written",
	 apply_split},
	{"full-paths", 0, OPTION_CMDS_RECORD, OPTION_ARGUMENT_NONE, OPTION_COMPLETION_NONE, NULL,
	 "show whole file names instead of the part below the package's root", apply_full_paths},
	{"no-lines", 0, OPTION_CMDS_RECORD, OPTION_ARGUMENT_NONE, OPTION_COMPLETION_NONE, NULL,
	 "leave line numbers out, so that a function is one frame", apply_no_lines},
	{"no-subprocesses", 0, OPTION_CMDS_SELECT, OPTION_ARGUMENT_NONE, OPTION_COMPLETION_NONE, NULL,
	 "with --pid, or a COMMAND of record: leave children out", apply_no_subprocesses},
	{"summary", 0, OPTION_CMDS_RECORD, OPTION_ARGUMENT_REQUIRED, OPTION_COMPLETION_FILE, "FILE",
	 "write the final summary as JSON to FILE, - for standard output", apply_summary},
	{"strict", 0, OPTION_CMDS_RECORD, OPTION_ARGUMENT_OPTIONAL, OPTION_COMPLETION_NONE, "PERCENT",
	 "exit with 6 when more than PERCENT of the samples were lost, late, truncated or unnamed "
	 "(default: 0)",
	 apply_strict},
	{"kernel-frames", 0, OPTION_CMDS_RECORD, OPTION_ARGUMENT_REQUIRED, OPTION_COMPLETION_NONE, "N",
	 "read at most N frames of a stack in the interrupt, the rest when the thread returns to user mode "
	 "(Linux 6.18) or late (default: 4096)",
	 apply_kernel_frames},
	{"stats", 0, OPTION_CMDS_RECORD, OPTION_ARGUMENT_OPTIONAL, OPTION_COMPLETION_NONE, "SECONDS",
	 "print at the end how the samples were taken in and what that cost, and every SECONDS as well",
	 apply_stats},
	{"json", 0, OPTION_CMDS_LISTS, OPTION_ARGUMENT_NONE, OPTION_COMPLETION_NONE, NULL,
	 "print JSON instead of a table", apply_json},
	{"quiet", 'q', OPTION_CMDS_ALL, OPTION_ARGUMENT_NONE, OPTION_COMPLETION_NONE, NULL,
	 "print errors only", apply_quiet},
	{"verbose", 'v', OPTION_CMDS_ALL, OPTION_ARGUMENT_NONE, OPTION_COMPLETION_NONE, NULL,
	 "say more about what is done; twice for the libraries' messages too", apply_verbose},
	{"color", 0, OPTION_CMDS_ALL, OPTION_ARGUMENT_REQUIRED, OPTION_COMPLETION_WORDS, "auto|always|never",
	 "colour the text (default: auto, on a terminal unless NO_COLOR is set)", apply_color},
	{"help", 'h', OPTION_CMDS_ALL | OPTION_CMDS_TOP, OPTION_ARGUMENT_NONE, OPTION_COMPLETION_NONE, NULL,
	 "print this help", apply_help},
	{"version", 'V', OPTION_CMDS_TOP, OPTION_ARGUMENT_NONE, OPTION_COMPLETION_NONE, NULL,
	 "print the version", apply_version},
	{"bash-completion", 0, OPTION_CMDS_TOP, OPTION_ARGUMENT_NONE, OPTION_COMPLETION_NONE, NULL,
	 "print the completion script for bash", apply_completion},
	{NULL, 0, 0, OPTION_ARGUMENT_NONE, OPTION_COMPLETION_NONE, NULL, NULL, NULL},
};
