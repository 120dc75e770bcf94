/* SPDX-License-Identifier: Apache-2.0 */
/* The table compares start times as /proc gave them (clock ticks), never with what the kernel side stored
 * in start_boottime_ns meanwhile: the two differ in resolution, and in a time namespace by its offset.
 *
 * Entries are allocated one by one: pointers to them stay valid for the table's life.
 */
#define _GNU_SOURCE
#include "discover/process_table.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Out of memory leaves the element out and its handle's table NULL. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/deadline_call.h"
#include "base/log.h"
#include "base/text_file.h"
#include "discover/command_text.h"
#include "discover/python_command.h"
#include "discover/user_names.h"

enum {
	/* 52 numbers of at most 20 digits and a name of 64 (kernel threads). */
	STAT_SZ = 2048,
	/* Group lists may be long (65,536 groups), but what is read stands before and after them. */
	STATUS_SZ = 1 << 20,
	CMDLINE_DEADLINE_NS = 500 * 1000 * 1000,
	/* Fields of stat: proc(5). */
	FIELD_STATE = 3, /* right behind the name */
	FIELD_FLAGS = 9,
	FIELD_START = 22,
	FORGET_LOOKS = 4096,
	/* Once the table is half full, so many entries are looked at for each new one. Of a process that is not sampled
	 * nobody tells when it ends. */
	GONE_LOOKS = 4,
	FLAG_EXITING = 0x4, /* PF_EXITING, Linux, include/linux/sched.h: as long as there are flags in stat */
};

struct entry {
	struct process process; /* first: entries and processes have one address */
	u64 start_ticks;
	UT_hash_handle hh; /* in `live`, by process.pid */
};

struct process_table {
	const char *proc_root;
	bool is_real_proc;
	size_t max_processes;
	struct entry **entries;
	size_t cnt;
	size_t cap;
	struct entry *live;
	bool (*may_forget)(void *ctx, const struct process *process); /* may be NULL */
	void *may_forget_ctx;
	size_t forget_at; /* index from which one is looked for */
	size_t gone_at;	  /* likewise, that is no longer there */
	struct user_names *users;
	struct container_table *containers;
	bool has_warned_of_containers;
};

/* What stat says. */
struct stat_line {
	char comm[LIMIT_COMM_SZ];
	bool is_exiting; /* or has: a zombie is one, too */
	u64 start_ticks;
};

int process_table_new_at(struct process_table **ret_table, size_t max_processes, const char *proc_root,
			 const char *state_root)
{
	struct process_table *table = calloc(1, sizeof(*table));
	int err;

	if (!table)
		return -ENOMEM;
	table->proc_root = proc_root;
	table->is_real_proc = strcmp(proc_root, "/proc") == 0;
	table->max_processes = max_processes;
	err = container_table_new(&table->containers, state_root);
	err = err ?: user_names_new(&table->users);
	if (err) {
		process_table_free(table);
		return err;
	}
	*ret_table = table;
	return 0;
}

int process_table_new(struct process_table **ret_table, size_t max_processes)
{
	/* From inside of a container that shares the host's pids, that is where the host's files are. */
	static const char host_root[] = "/proc/1/root";

	return process_table_new_at(ret_table, max_processes, "/proc",
				    access(host_root, X_OK) == 0 ? host_root : "/");
}

static void entry_free(struct entry *entry)
{
	free(entry->process.command);
	free(entry->process.subject);
	free(entry->process.exe);
	free(entry->process.cgroup);
	free(entry);
}

void process_table_free(struct process_table *table)
{
	if (!table)
		return;
	user_names_free(table->users);
	HASH_CLEAR(hh, table->live);
	for (size_t i = 0; i < table->cnt; i++)
		entry_free(table->entries[i]);
	free(table->entries);
	container_table_free(table->containers);
	free(table);
}

/* A file of a process; -ESRCH when there is no such process. */
static ssize_t read_text(const char *path, char *ret_text, size_t sz)
{
	ssize_t have = text_file_read(path, ret_text, sz);

	return have == -ENOENT ? -ESRCH : have;
}

/* For files that need nothing of the process's memory: stat and status. */
static ssize_t read_proc_file(const struct process_table *table, pid_t pid, const char *name, char *ret_text,
			      size_t sz)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%d/%s", table->proc_root, (int)pid, name);
	return read_text(path, ret_text, sz);
}

/* "pid (name) state ppid ...": the name may hold anything, ")" too, so the last one counts. */
static int decode_stat(const char *text, struct stat_line *ret_stat)
{
	const char *begin = strchr(text, '(');
	const char *end = strrchr(text, ')');
	struct stat_line stat = {0};
	const char *field;
	size_t comm_sz;

	if (!begin || !end || end < begin)
		return -EINVAL;
	comm_sz = (size_t)(end - begin - 1);
	if (comm_sz > sizeof(stat.comm) - 1)
		comm_sz = sizeof(stat.comm) - 1;
	memcpy(stat.comm, begin + 1, comm_sz);
	field = end + 1;
	for (int i = FIELD_STATE; i < FIELD_START; i++) {
		field = *field == ' ' ? strchr(field + 1, ' ') : NULL;
		if (!field)
			return -EINVAL;
		if (i + 1 == FIELD_FLAGS)
			stat.is_exiting = strtoul(field, NULL, 10) & FLAG_EXITING;
	}
	stat.start_ticks = strtoull(field, NULL, 10);
	*ret_stat = stat;
	return 0;
}

static int read_stat(const struct process_table *table, pid_t pid, struct stat_line *ret_stat)
{
	char text[STAT_SZ];
	ssize_t sz = read_proc_file(table, pid, "stat", text, sizeof(text));

	return sz < 0 ? (int)sz : decode_stat(text, ret_stat);
}

/* The text behind "\nKEY:"; the first line of status is the (escaped) name and never looked for. */
static const char *find_status(const char *text, const char *key)
{
	char line_start[32];
	const char *found;

	snprintf(line_start, sizeof(line_start), "\n%s:", key);
	found = strstr(text, line_start);
	return found ? found + strlen(line_start) : NULL;
}

/* NSpid lists the pid in every namespace from ours inwards. */
static pid_t last_number(const char *text)
{
	long value = 0;

	while (*text && *text != '\n') {
		char *end;
		long number = strtol(text, &end, 10);

		if (end == text)
			break;
		value = number;
		text = end;
		while (*text == ' ' || *text == '\t')
			text++;
	}
	return (pid_t)value;
}

static int read_status(const struct process_table *table, struct process *process)
{
	CLEANUP_FREE char *text = malloc(STATUS_SZ);
	const char *value;
	ssize_t sz;

	if (!text)
		return -ENOMEM;
	sz = read_proc_file(table, process->pid, "status", text, STATUS_SZ);
	if (sz < 0)
		return (int)sz;
	/* /proc shows a thread under its own id, too, but lists only processes. */
	value = find_status(text, "Tgid");
	if (value && (pid_t)strtol(value, NULL, 10) != process->pid)
		return -ESRCH;
	value = find_status(text, "PPid");
	if (value)
		process->parent_pid = (pid_t)strtol(value, NULL, 10);
	value = find_status(text, "Uid");
	if (value)
		process->uid = (uid_t)strtoul(value, NULL, 10);
	value = find_status(text, "NSpid");
	if (value)
		process->ns_pid = last_number(value);
	return 0;
}

/* cmdline is read from the process's memory (fs/proc/base.c get_mm_cmdline, Linux 6.1), which may never
 * answer. */
struct cmdline_call {
	ssize_t result;
	char path[PATH_MAX];
	char text[COMMAND_TEXT_INPUT_SZ];
};

static void run_read_cmdline(void *block)
{
	struct cmdline_call *call = block;

	call->result = read_text(call->path, call->text, sizeof(call->text));
}

static ssize_t read_cmdline(const struct process_table *table, pid_t pid,
			    char ret_text[COMMAND_TEXT_INPUT_SZ])
{
	struct cmdline_call *call = malloc(sizeof(*call));
	ssize_t result;

	if (!call)
		return -ENOMEM;
	snprintf(call->path, sizeof(call->path), "%s/%d/cmdline", table->proc_root, (int)pid);
	result = deadline_call(deadline_subject_pid(pid), run_read_cmdline, free, call, CMDLINE_DEADLINE_NS);
	if (result == -ETIMEDOUT)
		return result;
	if (result == 0)
		result = call->result;
	if (result > 0)
		memcpy(ret_text, call->text, (size_t)result);
	free(call);
	return result;
}

/* The arguments as text, and what they run. */
static char *read_command(const struct process_table *table, struct process *process)
{
	char cmdline[COMMAND_TEXT_INPUT_SZ], text[COMMAND_TEXT_SZ];
	ssize_t sz = read_cmdline(table, process->pid, cmdline);

	free(process->subject);
	process->subject = NULL;
	if (sz > 0) {
		size_t subject_sz;
		const char *subject = python_command_subject(cmdline, (size_t)sz, &subject_sz);

		process->subject = subject ? strndup(subject, subject_sz) : NULL;
		command_text_format(cmdline, (size_t)sz, text);
	} else {
		/* Kernel threads, zombies, memory that does not answer: as ps(1) shows them. */
		char bracketed[LIMIT_COMM_SZ + 2];
		int len = snprintf(bracketed, sizeof(bracketed), "[%s]", process->comm);

		command_text_format(bracketed, (size_t)len, text);
	}
	return strdup(text);
}

static char *read_exe(const struct process_table *table, pid_t pid)
{
	char path[PATH_MAX], target[PATH_MAX];
	ssize_t sz;

	snprintf(path, sizeof(path), "%s/%d/exe", table->proc_root, (int)pid);
	sz = readlink(path, target, sizeof(target) - 1);
	if (sz < 0)
		return NULL;
	target[sz] = '\0';
	return strdup(target);
}

/* Of a task that is exiting, hierarchies of version 1 show their root (Linux, kernel/cgroup/cgroup.c,
 * proc_cgroup_show), "0::" alone is of version 2. Asked after the text was read, as it may have begun meanwhile. */
static bool is_cgroup_true(const struct process_table *table, pid_t pid, const char *text)
{
	return strncmp(text, "0::", 3) == 0 || process_table_is_running(table, pid);
}

static void warn_of_containers(struct process_table *table)
{
	if (!table->has_warned_of_containers)
		log_warning(LOG_TOPIC_DISCOVER,
			    "%d containers have been seen: what runs in more of them is shown as '?'",
			    CONTAINER_TABLE_MAX);
	table->has_warned_of_containers = true;
}

/* What cannot be read stays as it was, at first unknown; the process is a process all the same. */
static void read_cgroup(struct process_table *table, struct process *process)
{
	CLEANUP_FREE char *text = malloc(CONTAINER_TEXT_SZ);
	struct container_id id;
	ssize_t sz;

	if (!text)
		return;
	sz = read_proc_file(table, process->pid, "cgroup", text, CONTAINER_TEXT_SZ);
	if (sz < 0)
		return;
	/* No hierarchy is mounted: there are no containers to tell. */
	if (sz == 0)
		process->container = NULL;
	if (decode_proc_cgroup(text, (size_t)sz, &id) || !is_cgroup_true(table, process->pid, text))
		return;
	free(process->cgroup);
	process->cgroup = strdup(id.path);
	process->container = container_table_find(table->containers, &id);
	if (process->container == &CONTAINER_UNKNOWN)
		warn_of_containers(table);
}

u64 process_table_cpu_ns(const struct process_table *table, const struct process *process)
{
	struct timespec used;
	clockid_t clock;

	if (!table->is_real_proc || clock_getcpuclockid(process->pid, &clock) != 0 ||
	    clock_gettime(clock, &used) != 0)
		return 0;
	return (u64)used.tv_sec * 1000000000ULL + (u64)used.tv_nsec;
}

static u64 ns_from_ticks(u64 ticks)
{
	long hz = sysconf(_SC_CLK_TCK);

	return hz > 0 ? ticks * (1000000000ULL / (u64)hz) : 0;
}

/* comm, command and exe: what exec changes. */
static int read_image(const struct process_table *table, struct process *process, const char *comm)
{
	char *command;

	memcpy(process->comm, comm, sizeof(process->comm));
	command = read_command(table, process);
	if (!command)
		return -ENOMEM;
	free(process->command);
	process->command = command;
	free(process->exe);
	process->exe = read_exe(table, process->pid);
	return 0;
}

static int entry_new(struct process_table *table, pid_t pid, const struct stat_line *stat,
		     struct entry **ret_entry)
{
	struct entry *entry = calloc(1, sizeof(*entry));
	int err;

	if (!entry)
		return -ENOMEM;
	entry->process.pid = pid;
	entry->start_ticks = stat->start_ticks;
	entry->process.start_boottime_ns = ns_from_ticks(stat->start_ticks);
	entry->process.container = &CONTAINER_UNKNOWN;
	err = read_status(table, &entry->process);
	if (!err)
		err = read_image(table, &entry->process, stat->comm);
	if (err) {
		entry_free(entry);
		return err;
	}
	read_cgroup(table, &entry->process);
	entry->process.cpu_start_ns = process_table_cpu_ns(table, &entry->process);
	*ret_entry = entry;
	return 0;
}

void process_table_on_full(struct process_table *table,
			   bool (*may_forget)(void *ctx, const struct process *process), void *ctx)
{
	table->may_forget = may_forget;
	table->may_forget_ctx = ctx;
}

/* Leaves forget_at at one that may be forgotten. -ENOSPC: none among those that were looked at. */
static int find_forgettable(struct process_table *table)
{
	if (!table->may_forget)
		return -ENOSPC;
	for (size_t i = 0; i < FORGET_LOOKS; i++) {
		const struct entry *entry;

		if (++table->forget_at >= table->cnt)
			table->forget_at = 0;
		entry = table->entries[table->forget_at];
		if (entry->process.ended && table->may_forget(table->may_forget_ctx, &entry->process))
			return 0;
	}
	return -ENOSPC;
}

static void end_gone(struct process_table *table)
{
	if (!table->may_forget || table->cnt <= table->max_processes / 2)
		return;
	for (size_t i = 0; i < GONE_LOOKS; i++) {
		if (++table->gone_at >= table->cnt)
			table->gone_at = 0;
		(void)process_table_end_gone(table, &table->entries[table->gone_at]->process);
	}
}

static int reserve_slot(struct process_table *table)
{
	size_t cap = table->cap ? 2 * table->cap : 64;
	struct entry **entries;

	end_gone(table);
	if (table->cnt >= table->max_processes)
		return find_forgettable(table);
	if (table->cnt < table->cap)
		return 0;
	entries = reallocarray(table->entries, cap, sizeof(struct entry *));
	if (!entries)
		return -ENOMEM;
	table->entries = entries;
	table->cap = cap;
	return 0;
}

static struct entry *find_live(const struct process_table *table, pid_t pid)
{
	struct entry *entry;

	HASH_FIND_INT(table->live, &pid, entry);
	return entry;
}

/* Puts a new entry into the table, or frees it. */
static int entry_insert(struct process_table *table, struct entry *entry, struct process **ret_process)
{
	HASH_ADD_INT(table->live, process.pid, entry);
	if (!entry->hh.tbl) {
		entry_free(entry);
		return -ENOMEM;
	}
	if (table->cnt == table->max_processes) {
		entry->process.id = (u32)table->forget_at;
		entry_free(table->entries[table->forget_at]);
		table->entries[table->forget_at] = entry;
	} else {
		entry->process.id = (u32)table->cnt;
		table->entries[table->cnt++] = entry;
	}
	*ret_process = &entry->process;
	return 0;
}

/* What was read from several files is one process's only if the pid still is the same process's. */
static int check_unchanged(const struct process_table *table, const struct entry *entry)
{
	struct stat_line stat;
	int err = read_stat(table, entry->process.pid, &stat);

	if (err)
		return err;
	return stat.start_ticks == entry->start_ticks ? 0 : -ESRCH;
}

int process_table_add(struct process_table *table, pid_t pid, struct process **ret_process)
{
	struct entry *entry = find_live(table, pid);
	struct stat_line stat;
	int err = read_stat(table, pid, &stat);

	if (err)
		return err;
	if (entry && entry->start_ticks == stat.start_ticks) {
		*ret_process = &entry->process;
		return 0;
	}
	if (entry)
		process_table_end(table, &entry->process);
	err = reserve_slot(table);
	if (!err)
		err = entry_new(table, pid, &stat, &entry);
	if (err)
		return err;
	err = check_unchanged(table, entry);
	if (err) {
		entry_free(entry);
		return err;
	}
	return entry_insert(table, entry, ret_process);
}

static char *copy_text(const char *text)
{
	return text ? strdup(text) : NULL;
}

/* What a fork leaves as it was. */
static int inherit(struct process *process, const struct process *parent)
{
	char *command = strdup(parent->command);

	if (!command)
		return -ENOMEM;
	free(process->command);
	free(process->subject);
	free(process->exe);
	free(process->cgroup);
	process->command = command;
	process->subject = copy_text(parent->subject);
	process->exe = copy_text(parent->exe);
	process->cgroup = copy_text(parent->cgroup);
	process->container = parent->container;
	return 0;
}

/* A child of which /proc says nothing any more. */
static int add_gone(struct process_table *table, pid_t pid, const struct process *parent, const char *comm,
		    u64 start_boottime_ns, struct process **ret_process)
{
	struct entry *entry = find_live(table, pid);
	struct process *process;
	int err;

	if (entry)
		process_table_end(table, &entry->process);
	err = reserve_slot(table);
	if (err)
		return err;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	process = &entry->process;
	process->pid = pid;
	process->parent_pid = parent->pid;
	process->uid = parent->uid;
	process->start_boottime_ns = start_boottime_ns;
	memcpy(process->comm, comm, LIMIT_COMM_SZ);
	process->comm[LIMIT_COMM_SZ - 1] = '\0';
	err = inherit(process, parent);
	if (err) {
		entry_free(entry);
		return err;
	}
	return entry_insert(table, entry, ret_process);
}

bool process_table_is_running(const struct process_table *table, pid_t pid)
{
	struct stat_line stat;

	return read_stat(table, pid, &stat) == 0 && !stat.is_exiting;
}

bool process_table_still_runs(const struct process_table *table, const struct process *process)
{
	const struct entry *entry = (const struct entry *)process;
	struct stat_line stat;

	return !process->ended && read_stat(table, process->pid, &stat) == 0 && !stat.is_exiting &&
	       stat.start_ticks == entry->start_ticks;
}

bool process_table_end_gone(struct process_table *table, struct process *process)
{
	const struct entry *entry = (const struct entry *)process;
	struct stat_line stat;
	int err = process->ended ? 0 : read_stat(table, process->pid, &stat);

	if (process->ended || (err && err != -ESRCH) || (!err && stat.start_ticks == entry->start_ticks))
		return false;
	process_table_end(table, process);
	return true;
}

int process_table_add_child(struct process_table *table, pid_t pid, const struct process *parent,
			    const char *comm, u64 start_boottime_ns, struct process **ret_process)
{
	bool is_known = find_live(table, pid);
	int err = process_table_add(table, pid, ret_process);

	if (!parent)
		return err;
	if (err)
		return add_gone(table, pid, parent, comm, start_boottime_ns, ret_process);
	/* Arguments, executable and cgroup go before the process does. */
	if (!is_known && !process_table_is_running(table, pid))
		return inherit(*ret_process, parent);
	return 0;
}

struct process *process_table_find(struct process_table *table, pid_t pid)
{
	struct entry *entry = find_live(table, pid);

	return entry ? &entry->process : NULL;
}

struct process *process_table_at(struct process_table *table, u32 id)
{
	return id < table->cnt ? &table->entries[id]->process : NULL;
}

size_t process_table_count(const struct process_table *table)
{
	return table->cnt;
}

int process_table_refresh(struct process_table *table, struct process *process)
{
	const struct entry *entry = (const struct entry *)process;
	struct stat_line stat;
	int err = read_stat(table, process->pid, &stat);

	if (err)
		return err;
	if (process->ended || stat.start_ticks != entry->start_ticks)
		return -ESRCH;
	read_cgroup(table, process);
	process_table_refresh_user(table, process);
	return read_image(table, process, stat.comm);
}

void process_table_refresh_user(struct process_table *table, struct process *process)
{
	struct process now = *process;

	if (!process->ended && read_status(table, &now) == 0)
		process->uid = now.uid;
}

const char *process_table_user_name(struct process_table *table, uid_t uid)
{
	return user_names_find(table->users, uid);
}

void process_table_end(struct process_table *table, struct process *process)
{
	struct entry *entry = (struct entry *)process;

	if (process->ended)
		return;
	process->ended = true;
	process->ended_ns = clock_monotonic_ns();
	HASH_DEL(table->live, entry);
}
