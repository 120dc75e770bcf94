/* SPDX-License-Identifier: Apache-2.0 */
/* Result of stage 1: the processes of the host that may run Python, keyed by pid and start time, so
 * that a reused pid is another process. A process that ended stays in the table until the end of the
 * recording (its samples still carry its name), but is no longer found by pid; once the table is full, those that
 * nobody needs make room.
 */
#ifndef PANOPY_DISCOVER_PROCESS_TABLE_H
#define PANOPY_DISCOVER_PROCESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "discover/container_table.h"
#include "shared_limits.h"
#include "shared_types.h"

struct process {
	u32 id; /* index in the table; given to another process only as process_table_on_full() allows */
	pid_t pid;
	pid_t ns_pid; /* in its innermost pid namespace; 0 when unknown */
	pid_t parent_pid;
	uid_t uid;
	u64 start_boottime_ns; /* from the kernel, or from /proc in 10 ms steps */
	u64 epoch;	       /* of its current image; 0 when not published */
	u32 target_cnt;	       /* of its images that the target table keeps */
	u64 cpu_start_ns;      /* CPU time used when it began to be watched */
	u64 cpu_end_ns;	       /* CPU time at its end or the recording's; 0 when not known */
	bool ended;
	u64 ended_ns; /* CLOCK_MONOTONIC */
	char comm[LIMIT_COMM_SZ];
	char *command; /* its arguments, joined by spaces, control characters escaped; owned */
	/* What it runs (python_command_subject()); owned. NULL: its arguments are not there yet, or cannot be
	 * read. */
	char *subject;
	char *exe;			   /* link text of /proc/PID/exe; owned, NULL when unreadable */
	char *cgroup;			   /* as decode_proc_cgroup() chooses; owned, NULL when not known */
	const struct container *container; /* NULL: in none; &CONTAINER_UNKNOWN */
};

struct process_table;

/* At most `max_processes` are kept, ended ones included; add then fails with -ENOSPC. */
int process_table_new(struct process_table **ret_table, size_t max_processes);
/* The same over another proc file system than /proc; CPU times are then 0. Containers' names are looked for below
 * `state_root` (NULL: nowhere). For tests; both strings must outlive the table. */
int process_table_new_at(struct process_table **ret_table, size_t max_processes, const char *proc_root,
			 const char *state_root);
void process_table_free(struct process_table *table);
/* Asked, when the table is full, of processes that ended: true lets the process be forgotten and its id
 * be another one's. Without it add fails. */
void process_table_on_full(struct process_table *table,
			   bool (*may_forget)(void *ctx, const struct process *process), void *ctx);

/* Reads what /proc says about `pid`. -ESRCH when it is gone, or only a thread. A live entry with the same pid and
 * start time is returned as it is (0), one with another start time is marked ended first. */
int process_table_add(struct process_table *table, pid_t pid, struct process **ret_process);
/* A child that the kernel told of. What is not known of one that ended, or is about to, before /proc could be read is
 * its parent's. Without a parent it fails as above. `comm` is LIMIT_COMM_SZ bytes. */
int process_table_add_child(struct process_table *table, pid_t pid, const struct process *parent,
			    const char *comm, u64 start_boottime_ns, struct process **ret_process);
/* Whether there is such a process, and its main thread has not begun to exit. */
bool process_table_is_running(const struct process_table *table, pid_t pid);
/* The same of this very process, and not of the next one of its pid. */
bool process_table_still_runs(const struct process_table *table, const struct process *process);
/* Ends it if it is no longer there; true then. For where nobody tells of that. */
bool process_table_end_gone(struct process_table *table, struct process *process);
struct process *process_table_find(struct process_table *table, pid_t pid); /* live only */
struct process *process_table_at(struct process_table *table, u32 id);
size_t process_table_count(const struct process_table *table); /* ids are 0..count-1 */
/* After exec: all but the pids and the start time is read again. Where it runs stays as it was while it exits. */
int process_table_refresh(struct process_table *table, struct process *process);
/* The user alone is read again: a daemon becomes another one after its fork, without exec. */
void process_table_refresh_user(struct process_table *table, struct process *process);
/* The name of a user, or its number as text; asked of the system's name services once for each, which may take
 * its time. Valid as long as the table. "?" without memory. */
const char *process_table_user_name(struct process_table *table, uid_t uid);
/* CPU time used so far; 0 when it is gone. */
u64 process_table_cpu_ns(const struct process_table *table, const struct process *process);
void process_table_end(struct process_table *table, struct process *process);

#endif
