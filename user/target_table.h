/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that are sampled: how each is read, keyed by the epoch that its samples carry. Carries
 * out the control flow: mappings and life-cycle events in, published process_configs out.
 */
#ifndef PANOPY_TARGET_TABLE_H
#define PANOPY_TARGET_TABLE_H

#include <stdbool.h>

#include "discover/process_table.h"
#include "export/summary.h"
#include "kernel/mapping_events.h"
#include "process_event.h"
#include "runtime/py_runtime.h"
#include "selection.h"
#include "symbolize/code_cache.h"

/* One image of one process. */
struct target {
	u64 epoch;
	struct process *process;
	struct py_runtime runtime;
	struct remote_mem *mem; /* NULL once it could not be opened */
	bool ended;
	u64 ended_ns;
	u64 seed_next_ns; /* not before that are its thread states handed to the kernel side again */
};

struct target_table;

struct target_table_config {
	int processes_fd;
	int thread_slots_fd;
	const pid_t *pids; /* only these; pid_cnt 0: every process */
	size_t pid_cnt;
	bool subprocesses;		       /* of the pids, too */
	struct selection *selection;	       /* NULL: everything */
	struct code_cache *codes;	       /* told when an epoch is over */
	struct remote_mem_stats *remote_reads; /* of all targets */
	/* Whether a process has samples; one that ended without is forgotten once there are too many. */
	bool (*was_sampled)(void *ctx, u32 process_id);
	void *was_sampled_ctx;
	/* Called between two looks of a scan, to do what else is due; false ends the scan. NULL: nothing is due. */
	bool (*goes_on)(void *ctx);
	void *goes_on_ctx;
};

int target_table_new(struct target_table **ret_table, const struct target_table_config *config);
void target_table_free(struct target_table *table);

/* Looks for processes that are there already: all of /proc, or the pids and their descendants. A pid
 * that does not exist: -ESRCH, and which one in ret_pid. Again: for what was missed; what is known stays as it is,
 * and a pid that ended is no error. -ECANCELED: goes_on() said so. */
int target_table_scan(struct target_table *table, pid_t *ret_pid);
/* Adds one process that the caller started and that has not run yet. */
int target_table_follow(struct target_table *table, pid_t pid);

void target_table_on_mapping(struct target_table *table, const struct mapping_event *mapping);
void target_table_on_event(struct target_table *table, const struct process_event *event);

/* NULL: a sample of a process that is not known (any more). */
struct target *target_table_find(struct target_table *table, u64 epoch);
/* Gives the kernel side the states of all threads of a target that has too many to search. */
void target_table_seed_threads(struct target_table *table, struct target *target);
/* Frees targets that ended longer ago than any record can still be on its way. */
void target_table_expire(struct target_table *table, u64 now_ns);
/* Looks again at processes that could not be decided on; true while there are such. */
bool target_table_retry(struct target_table *table, u64 now_ns);
/* At the end: CPU time of the processes that still run. */
void target_table_settle(struct target_table *table);

struct process_table *target_table_processes(struct target_table *table);

/* The Python processes seen, refused ones included, by process id. */
const struct summary_process *target_table_summaries(const struct target_table *table, size_t *ret_cnt);
/* At the end: forgets the processes that were never selected and never sampled. */
void target_table_drop_unselected(struct target_table *table);
/* Followed processes that have not ended; 0 ends a recording of given pids. */
size_t target_table_live_count(const struct target_table *table);
/* Processes left out because a table, or that of open files, was full. */
u64 target_table_full_count(const struct target_table *table);

#endif
