/* SPDX-License-Identifier: Apache-2.0 */
/* `panopy ps`: looks at every process once. A process that ends while it is looked at is left out. */
#include "commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "discover/proc_scan.h"
#include "discover/proc_tree.h"
#include "discover/process_table.h"
#include "exit_codes.h"
#include "options.h"
#include "ps_table.h"
#include "runtime/runtime_detect.h"
#include "selection.h"

enum {
	MAX_PROCESSES = 4 << 20, /* the kernel's own limit of pids (PID_MAX_LIMIT) */
};

enum {
	MESSAGE_SZ = 512,
};

struct scan {
	const struct options *options;
	pid_t *pids; /* those of --pid and their descendants */
	size_t pid_cnt;
	struct process_table *table;
	struct runtime_detector *detector;
	struct ps_row *rows;
	size_t cnt;
	size_t cap;
	size_t unreadable_cnt;
};

static int count_thread(void *ctx, pid_t tid)
{
	(void)tid;
	++*(size_t *)ctx;
	return 0;
}

/* A guess for a process whose mappings cannot be read: its program is called python. */
static bool is_named_python(const struct process *process)
{
	const char *name = process->command;
	const char *end = name + strcspn(name, " ");

	for (const char *p = name; p < end; p++)
		if (*p == '/')
			name = p + 1;
	return strncmp(name, "python", 6) == 0 || strncmp(process->comm, "python", 6) == 0;
}

/* Kernel threads have no arguments; process_table shows their name in brackets, as ps does. */
static bool is_kernel_thread(const struct process *process)
{
	return !process->command || !process->command[0] || process->command[0] == '[';
}

static int add_row(struct scan *scan, const struct process *process, const struct py_runtime *runtime)
{
	struct ps_row *row;

	if (scan->cnt == scan->cap) {
		size_t cap = scan->cap ? scan->cap * 2 : 64;
		struct ps_row *grown = reallocarray(scan->rows, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		scan->rows = grown;
		scan->cap = cap;
	}
	row = &scan->rows[scan->cnt++];
	*row = (struct ps_row){.process = process, .unreadable = !runtime};
	if (runtime)
		row->runtime = *runtime;
	snprintf(row->user, sizeof(row->user), "%s", process_table_user_name(scan->table, process->uid));
	(void)proc_scan_threads(process->pid, count_thread, &row->thread_cnt);
	return 0;
}

static void on_descendant(void *ctx, pid_t pid)
{
	struct scan *scan = ctx;
	pid_t *grown = reallocarray(scan->pids, scan->pid_cnt + 1, sizeof(*grown));

	if (!grown)
		return;
	scan->pids = grown;
	scan->pids[scan->pid_cnt++] = pid;
}

/* The processes of --pid, and those below them. */
static int read_pids(struct scan *scan)
{
	const struct options *options = scan->options;

	for (size_t i = 0; i < options->pid_cnt; i++)
		on_descendant(scan, options->pids[i]);
	if (!options->pid_cnt || !options->subprocesses)
		return 0;
	return proc_tree_descendants(options->pids, options->pid_cnt, on_descendant, scan);
}

static bool is_among_pids(const struct scan *scan, pid_t pid)
{
	for (size_t i = 0; i < scan->pid_cnt; i++) {
		if (scan->pids[i] == pid)
			return true;
	}
	return !scan->options->pid_cnt;
}

/* One that cannot be looked into has no version. */
static bool is_selected(const struct scan *scan, struct process *process, const struct py_runtime *runtime)
{
	static const struct py_runtime UNKNOWN;
	struct selection *selection = scan->options->selection;
	enum selection_verdict verdict;

	runtime = runtime ? runtime : &UNKNOWN;
	verdict = selection_judge(selection, process, runtime, false);
	/* It was in the middle of an exec, or has no arguments. */
	if (verdict == SELECTION_UNDECIDED) {
		process_table_refresh(scan->table, process);
		verdict = selection_judge(selection, process, runtime, true);
	}
	return verdict == SELECTION_ACCEPTED && selection_holds(selection, process);
}

static int on_pid(void *ctx, pid_t pid)
{
	struct scan *scan = ctx;
	struct py_runtime runtime;
	struct process *process;
	int err;

	if (!is_among_pids(scan, pid))
		return 0;
	err = process_table_add(scan->table, pid, &process);
	if (err)
		return err == -ENOMEM ? err : 0;
	err = runtime_detect(scan->detector, pid, &runtime);
	if (err == 0)
		return is_selected(scan, process, &runtime) ? add_row(scan, process, &runtime) : 0;
	if (err == -ENOMEM)
		return err;
	if ((err != -EACCES && err != -EPERM) || is_kernel_thread(process) ||
	    !is_selected(scan, process, NULL))
		return 0;
	if (is_named_python(process))
		return add_row(scan, process, NULL);
	scan->unreadable_cnt++;
	return 0;
}

static void print_listing(const struct scan *scan, const struct options *options)
{
	struct ps_listing listing = {
		.rows = scan->rows, .cnt = scan->cnt, .unreadable_cnt = scan->unreadable_cnt};

	if (options->json) {
		int err = ps_table_print_json(stdout, &listing);

		if (err)
			log_error(LOG_TOPIC_MAIN, "the listing could not be written: %s", strerror(-err));
	} else if (scan->cnt) {
		ps_table_print(stdout, &listing, log_terminal_width(STDOUT_FILENO));
		fflush(stdout); /* or what follows on stderr may come out in the middle of it */
	} else {
		log_info(LOG_TOPIC_MAIN, "no Python process was found");
	}
	if (access("/proc/1", F_OK) < 0)
		log_warning(LOG_TOPIC_MAIN,
			    "/proc hides the processes of other users (mounted with hidepid): "
			    "run panopy as root to see them");
	if (scan->unreadable_cnt)
		log_warning(LOG_TOPIC_MAIN,
			    "%zu other process%s may not be read, so whether Python runs there is unknown "
			    "(root with CAP_SYS_PTRACE may read most)",
			    scan->unreadable_cnt, scan->unreadable_cnt == 1 ? "" : "es");
}

int command_ps(const struct options *options)
{
	struct scan scan = {.options = options};
	char message[MESSAGE_SZ];
	int err;

	if (selection_resolve(options->selection, false, message, sizeof(message))) {
		log_error(LOG_TOPIC_MAIN, "%s", message);
		return EXIT_CODE_FAILURE;
	}
	selection_warn(options->selection);
	err = read_pids(&scan);
	err = err ?: process_table_new(&scan.table, MAX_PROCESSES);
	if (!err)
		err = runtime_detector_new(&scan.detector);
	if (!err)
		err = proc_scan(on_pid, &scan);
	if (!err)
		print_listing(&scan, options);
	else
		log_error(LOG_TOPIC_MAIN, "the processes in /proc could not be listed: %s",
			  err == -ENOENT ? "it is not mounted: mount -t proc proc /proc" : strerror(-err));
	free(scan.rows);
	free(scan.pids);
	runtime_detector_free(scan.detector);
	process_table_free(scan.table);
	return err ? EXIT_CODE_FAILURE : EXIT_CODE_OK;
}
