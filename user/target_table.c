/* SPDX-License-Identifier: Apache-2.0 */
/* How a process becomes a target:
 *
 *   scan, mapping, exec --> interpreter found? --> process_config published --> sampled
 *   fork of a target ----> the kernel side copied its entry already; this side follows
 *
 * A publish may race with an exec: the exec hook then voids the entry and tells so, and the process is
 * looked at again. What the selection refuses by name, executable or version is not published at all; a process
 * whose arguments are not there yet, as it is in the middle of an exec, is looked at again in a moment, and at last
 * decided on without them.
 *
 * A fork before the publish is caught by a look at the children behind it. Of given pids, every descendant is
 * followed before any is looked at, as looking takes its time: whatever they fork meanwhile is followed by then.
 */
#include "target_table.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "awaited_pids.h"
#include "base/clock.h"
#include "base/log.h"
#include "discover/proc_scan.h"
#include "discover/proc_tree.h"
#include "followed_tree.h"
#include "kernel/process_publish.h"
#include "look_debt.h"
#include "process_rows.h"
#include "runtime/runtime_detect.h"
#include "thread_seed.h"

enum {
	/* Processes remembered by one recording, ended ones included: 300 bytes and their texts each. */
	MAX_PROCESSES = 1 << 18,
	/* Records may be this late; only then is what names them dropped. */
	EXPIRE_NS = 3 * CLOCK_NS_PER_S,
	/* A sample may wait for ten seconds until the rest of its stack comes. */
	FORGET_NS = 15 * CLOCK_NS_PER_S,
};

struct entry {
	struct target target; /* first: entries and targets have one address */
	UT_hash_handle hh;
};

struct target_table {
	struct target_table_config config;
	struct process_table *processes;
	struct runtime_detector *detector;
	struct entry *targets; /* by epoch */
	struct process_rows rows;
	u64 full_cnt;
	u64 last_epoch;
	u64 expired_ns;
	struct awaited_pids undecided;
	struct look_debts debts;
	pid_t decided_pid; /* looked at for the last time */
	pid_t *children;   /* of processes just found, to be looked at */
	size_t child_cnt;
	size_t child_cap;
	bool has_scanned;
};

static bool may_forget(void *ctx, const struct process *process)
{
	struct target_table *table = ctx;

	if (clock_monotonic_ns() - process->ended_ns < FORGET_NS || process->target_cnt ||
	    table->config.was_sampled(table->config.was_sampled_ctx, process->id))
		return false;
	process_rows_forget(&table->rows, process->id);
	return true;
}

int target_table_new(struct target_table **ret_table, const struct target_table_config *config)
{
	struct target_table *table = calloc(1, sizeof(*table));
	int err;

	if (!table)
		return -ENOMEM;
	table->config = *config;
	process_rows_init(&table->rows, MAX_PROCESSES);
	err = process_table_new(&table->processes, MAX_PROCESSES);
	err = err ?: runtime_detector_new(&table->detector);
	if (err) {
		target_table_free(table);
		return err;
	}
	process_table_on_full(table->processes, may_forget, table);
	*ret_table = table;
	return 0;
}

static void target_drop(struct target_table *table, struct entry *entry)
{
	code_cache_forget(table->config.codes, entry->target.epoch);
	remote_mem_close(entry->target.mem);
	entry->target.process->target_cnt--;
	HASH_DEL(table->targets, entry);
	free(entry);
}

void target_table_free(struct target_table *table)
{
	struct entry *entry, *next;

	if (!table)
		return;
	HASH_ITER(hh, table->targets, entry, next)
	{
		target_drop(table, entry);
	}
	process_table_free(table->processes);
	runtime_detector_free(table->detector);
	process_rows_release(&table->rows);
	free(table->children);
	free(table);
}

static bool follows_pids(const struct target_table *table)
{
	return table->config.pid_cnt != 0;
}

struct target *target_table_find(struct target_table *table, u64 epoch)
{
	struct entry *entry;

	HASH_FIND(hh, table->targets, &epoch, sizeof(epoch), entry);
	return entry ? &entry->target : NULL;
}

static struct target *target_of(struct target_table *table, const struct process *process)
{
	struct target *target = process ? target_table_find(table, process->epoch) : NULL;

	return target && !target->ended ? target : NULL;
}

/* Epochs are clock readings that name one image each. */
static u64 epoch_new(struct target_table *table)
{
	u64 epoch = clock_monotonic_ns();

	if (epoch <= table->last_epoch)
		epoch = table->last_epoch + 1;
	table->last_epoch = epoch;
	return epoch;
}

static void target_end(struct target *target)
{
	if (!target || target->ended)
		return;
	target->ended = true;
	target->ended_ns = clock_monotonic_ns();
}

static int target_add(struct target_table *table, struct process *process, u64 epoch,
		      const struct py_runtime *runtime, struct target **ret_target)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return -ENOMEM;
	entry->target.epoch = epoch;
	entry->target.process = process;
	entry->target.runtime = *runtime;
	if (!remote_mem_open_process(&entry->target.mem, process->pid))
		remote_mem_count(entry->target.mem, table->config.remote_reads);
	HASH_ADD(hh, table->targets, target.epoch, sizeof(u64), entry);
	if (!entry->hh.tbl) {
		remote_mem_close(entry->target.mem);
		free(entry);
		return -ENOMEM;
	}
	process->epoch = epoch;
	process->target_cnt++;
	*ret_target = &entry->target;
	return 0;
}

static void note_outside(struct target_table *table, const struct process *process, u64 ticks)
{
	struct summary_process *row = ticks ? process_rows_find(&table->rows, process->id) : NULL;

	if (row)
		row->outside_ticks += ticks;
}

static void note_row(struct target_table *table, const struct process *process,
		     const struct py_runtime *runtime)
{
	if (process_rows_note(&table->rows, process->id, runtime,
			      selection_holds(table->config.selection, process)))
		table->full_cnt++;
}

static int target_publish(struct target_table *table, struct process *process,
			  const struct py_runtime *runtime, u64 epoch)
{
	struct process_config config = {
		.epoch = epoch,
		.runtime_addr = runtime->runtime_addr,
		.state = PROCESS_CONFIG_READY,
		.flags = follows_pids(table) && table->config.subprocesses ? PROCESS_CONFIG_FOLLOW_CHILDREN
									   : 0,
		.layout = runtime->layout,
	};
	/* The record of the exec that ended its image may be on its way still. */
	struct target *target = target_of(table, process);
	int err;

	target_end(target);
	err = target_add(table, process, epoch, runtime, &target);
	if (err)
		return err;
	err = process_publish_put(table->config.processes_fd, process->pid, &config);
	if (err)
		target_end(target);
	return err;
}

static void on_child(void *ctx, pid_t pid)
{
	struct target_table *table = ctx;

	if (table->child_cnt == table->child_cap) {
		size_t cap = table->child_cap ? 2 * table->child_cap : 64;
		pid_t *children = reallocarray(table->children, cap, sizeof(*children));

		if (!children) {
			table->full_cnt++;
			return;
		}
		table->children = children;
		table->child_cap = cap;
	}
	table->children[table->child_cnt++] = pid;
}

/* Decides whether to look at the process at all, and under which epoch. false: leave it alone. */
static bool epoch_for(struct target_table *table, pid_t pid, u64 *ret_epoch)
{
	struct process_config config;
	int err = process_publish_get(table->config.processes_fd, pid, &config);

	if (err && follows_pids(table))
		return false;
	/* An entry that the kernel side copied at a fork may be of a parent that is not known here. */
	if (!err && config.state == PROCESS_CONFIG_READY && target_table_find(table, config.epoch))
		return false;
	*ret_epoch = err ? epoch_new(table) : config.epoch;
	return true;
}

static void await_decision(struct target_table *table, pid_t pid)
{
	if (awaited_pids_add(&table->undecided, pid, clock_monotonic_ns()))
		table->full_cnt++;
}

/* What the selection says of an image, by what /proc says of it now. */
static bool is_accepted(struct target_table *table, struct process *process, const struct py_runtime *runtime)
{
	enum selection_verdict verdict;

	/* Only what runs Python gives a process its name. */
	if (process->epoch || selection_judges(table->config.selection))
		process_table_refresh(table->processes, process);
	verdict = selection_judge(table->config.selection, process, runtime,
				  process->pid == table->decided_pid);
	if (verdict == SELECTION_UNDECIDED)
		await_decision(table, process->pid);
	return verdict == SELECTION_ACCEPTED;
}

static void target_take_back(struct target_table *table, struct process *process, u64 epoch)
{
	struct process_config config = {
		.epoch = epoch,
		.state = PROCESS_CONFIG_UNDECIDED,
		.flags = table->config.subprocesses ? PROCESS_CONFIG_FOLLOW_CHILDREN : 0,
	};

	target_end(target_table_find(table, epoch));
	process->epoch = 0;
	if (follows_pids(table))
		process_publish_put(table->config.processes_fd, process->pid, &config);
	if (process_table_still_runs(table->processes, process)) {
		if (!follows_pids(table))
			process_publish_remove(table->config.processes_fd, process->pid);
		await_decision(table, process->pid);
		return;
	}
	/* The exit hook may have been there before the entry, which would be the next one's of that pid. */
	process_publish_remove(table->config.processes_fd, process->pid);
	process->cpu_end_ns = process_table_cpu_ns(table->processes, process);
	process_table_end(table->processes, process);
}

/* An exec, or the end, between the first look and the publishing went unseen: nothing was published that the kernel
 * side could have voided. What was looked at is looked at once more. */
static void look_again(struct target_table *table, struct process *process, const struct py_runtime *runtime,
		       u64 epoch)
{
	if (!process_table_still_runs(table->processes, process) ||
	    !runtime_is_mapped(process->pid, runtime) ||
	    (selection_judges(table->config.selection) && !is_accepted(table, process, runtime)))
		target_take_back(table, process, epoch);
}

static void discover_one(struct target_table *table, pid_t pid, const struct mapping_event *mapping)
{
	struct process *process;
	struct py_runtime runtime;
	u64 epoch;
	int err;

	if (!epoch_for(table, pid, &epoch))
		return;
	if (mapping)
		err = runtime_detect_mapping(table->detector, pid, mapping->start, mapping->end,
					     mapping->file_offset, &runtime);
	else
		err = runtime_detect(table->detector, pid, &runtime);
	table->full_cnt += err == -EMFILE || err == -ENFILE;
	if (err)
		return;
	err = process_table_add(table->processes, pid, &process);
	if (!err) {
		if (!is_accepted(table, process, &runtime))
			return;
		note_row(table, process, &runtime);
		if (runtime.refusal != PY_REFUSAL_NONE)
			return;
		err = target_publish(table, process, &runtime, epoch);
		if (!err)
			look_again(table, process, &runtime, epoch);
	}
	if (err == -ENOSPC || err == -E2BIG || err == -ENOMEM)
		table->full_cnt++;
	/* A child that was forked before its parent was published has no entry. */
	if (!err && !follows_pids(table))
		proc_tree_children(pid, on_child, table);
}

/* Children wait in a list: a chain of processes may be as deep as somebody likes, and the stack is not. */
static void discover(struct target_table *table, pid_t pid, const struct mapping_event *mapping)
{
	discover_one(table, pid, mapping);
	while (table->child_cnt)
		discover_one(table, table->children[--table->child_cnt], NULL);
}

/* A process that is looked at all the time waits for its turn, though not for good. */
static void look_at(struct target_table *table, pid_t pid, const struct mapping_event *mapping, bool is_last)
{
	u64 now = clock_monotonic_ns();

	if (!is_last && look_debts_hold(&table->debts, pid, now)) {
		await_decision(table, pid);
		return;
	}
	discover(table, pid, mapping);
	look_debts_note(&table->debts, pid, clock_monotonic_ns() - now, now);
}

static int on_scanned_pid(void *ctx, pid_t pid)
{
	struct target_table *table = ctx;

	discover(table, pid, NULL);
	return !table->config.goes_on || table->config.goes_on(table->config.goes_on_ctx) ? 0 : -ECANCELED;
}

int target_table_follow(struct target_table *table, pid_t pid)
{
	struct process_config config = {
		.epoch = epoch_new(table),
		.state = PROCESS_CONFIG_UNDECIDED,
		.flags = table->config.subprocesses ? PROCESS_CONFIG_FOLLOW_CHILDREN : 0,
	};
	struct process *process;
	int err = process_table_add(table->processes, pid, &process);

	err = err ?: process_publish_put(table->config.processes_fd, pid, &config);
	if (err)
		return err;
	process->epoch = config.epoch;
	/* The exit hook may have been there before the entry, which would be the next one's of that pid. */
	if (!process_table_is_running(table->processes, pid))
		process_publish_remove(table->config.processes_fd, pid);
	return 0;
}

static int on_new_pid(void *ctx, pid_t pid)
{
	return target_table_follow(ctx, pid);
}

static int follow_pids(struct target_table *table, pid_t *ret_pid)
{
	struct followed_tree tree = {
		.processes = table->processes,
		.processes_fd = table->config.processes_fd,
		.follow = on_new_pid,
		.ctx = table,
	};
	int err = 0;

	if (!table->has_scanned)
		err = followed_tree_add_all(&tree, table->config.pids, table->config.pid_cnt, ret_pid);
	return err || !table->config.subprocesses ? err : followed_tree_descend(&tree);
}

/* Whose end was told of in a record that found no room. */
static void end_gone(struct target_table *table)
{
	for (size_t id = 0; id < process_table_count(table->processes); id++) {
		struct process *process = process_table_at(table->processes, (u32)id);

		if (process_table_end_gone(table->processes, process))
			target_end(target_of(table, process));
	}
}

int target_table_scan(struct target_table *table, pid_t *ret_pid)
{
	int err;

	end_gone(table);
	if (!follows_pids(table))
		return proc_scan(on_scanned_pid, table);
	err = follow_pids(table, ret_pid);
	if (err)
		return err;
	table->has_scanned = true;
	for (size_t id = 0; id < process_table_count(table->processes) && !err; id++) {
		const struct process *process = process_table_at(table->processes, id);

		if (!process->ended)
			err = on_scanned_pid(table, process->pid);
	}
	return err;
}

void target_table_on_mapping(struct target_table *table, const struct mapping_event *mapping)
{
	look_at(table, mapping->pid, mapping, false);
}

/* Whether the child had what is published of its parent, and not what was copied before that. A child that ended or
 * runs its next image by now does not tell: what was sampled before that has the parent's. */
static bool is_copy_published(const struct target_table *table, const struct process_event *event)
{
	struct process_config config;

	return process_publish_get(table->config.processes_fd, event->tgid, &config) ||
	       config.epoch != event->epoch || config.state == PROCESS_CONFIG_READY;
}

/* The child runs another image already, which was found first. What was sampled before that has the epoch of the
 * fork; its memory is gone. */
static void add_overtaken(struct target_table *table, struct process *process, const struct target *parent,
			  u64 epoch)
{
	u64 current = process->epoch;
	struct target *target;

	if (!parent || target_table_find(table, epoch) ||
	    target_add(table, process, epoch, &parent->runtime, &target))
		return;
	remote_mem_close(target->mem);
	target->mem = NULL;
	target_end(target);
	process->epoch = current;
}

/* The parent's image that the child was forked from. NULL: it is not known, or no longer the parent's. */
static struct target *forked_from(struct target_table *table, const struct process *parent, u64 epoch)
{
	struct target *target = target_of(table, parent);

	return target && target->epoch < epoch ? target : NULL;
}

static void on_fork_event(struct target_table *table, const struct process_event *event)
{
	struct process *parent = process_table_find(table->processes, event->parent_tgid);
	struct target *target = forked_from(table, parent, event->epoch);
	struct process *process = process_table_find(table->processes, event->tgid);
	int err;

	/* A look at /proc was faster. */
	if (process && process->epoch >= event->epoch) {
		add_overtaken(table, process, target, event->epoch);
		return;
	}
	err = process_table_add_child(table->processes, event->tgid, parent, event->comm,
				      event->start_boottime_ns, &process);
	if (err) {
		table->full_cnt += err == -ENOSPC;
		return;
	}
	process->start_boottime_ns = event->start_boottime_ns;
	process->parent_pid = event->parent_tgid;
	process->cpu_start_ns = 0;
	process->epoch = event->epoch;
	if (!target || !is_copy_published(table, event)) {
		discover(table, event->tgid, NULL);
		return;
	}
	note_row(table, process, &target->runtime);
	target_add(table, process, event->epoch, &target->runtime, &target);
}

/* The kernel side voids the old image at exec, but what the new image's first mappings gave may be published
 * right after that, still under the old epoch. Voids it again. */
static void void_overtaken(struct target_table *table, pid_t pid, u64 epoch)
{
	struct process_config config;

	if (process_publish_get(table->config.processes_fd, pid, &config) || config.epoch >= epoch)
		return;
	if (!follows_pids(table)) {
		process_publish_remove(table->config.processes_fd, pid);
		return;
	}
	config = (struct process_config){
		.epoch = epoch,
		.state = PROCESS_CONFIG_UNDECIDED,
		.flags = config.flags,
	};
	process_publish_put(table->config.processes_fd, pid, &config);
}

static void on_exec_event(struct target_table *table, const struct process_event *event)
{
	struct process *process = process_table_find(table->processes, event->tgid);
	struct target *target = target_of(table, process);

	if (process)
		note_outside(table, process, event->outside_ticks);
	/* The mapping records may have been faster: the target at hand is the new image. */
	if (target && target->epoch >= event->epoch)
		return;
	target_end(target);
	if (process) {
		process->epoch = event->epoch;
		/* Stands if what it runs from now on is not Python. */
		process->cpu_end_ns = process_table_cpu_ns(table->processes, process);
	}
	void_overtaken(table, event->tgid, event->epoch);
	discover(table, event->tgid, NULL);
}

static void on_exit_event(struct target_table *table, const struct process_event *event)
{
	struct process *process = process_table_find(table->processes, event->tgid);

	if (!process || (process->epoch && process->epoch != event->epoch))
		return;
	process->cpu_end_ns = event->cpu_ns;
	note_outside(table, process, event->outside_ticks);
	target_end(target_of(table, process));
	process_table_end(table->processes, process);
}

void target_table_on_event(struct target_table *table, const struct process_event *event)
{
	switch (event->kind) {
	case PROCESS_EVENT_FORK:
		on_fork_event(table, event);
		break;
	case PROCESS_EVENT_EXEC:
		on_exec_event(table, event);
		break;
	case PROCESS_EVENT_EXIT:
		on_exit_event(table, event);
		break;
	default:
		break;
	}
}

void target_table_seed_threads(struct target_table *table, struct target *target)
{
	thread_seed(target, table->config.thread_slots_fd);
}

void target_table_expire(struct target_table *table, u64 now_ns)
{
	struct entry *entry, *next;

	if (now_ns - table->expired_ns < CLOCK_NS_PER_S)
		return;
	table->expired_ns = now_ns;
	HASH_ITER(hh, table->targets, entry, next)
	{
		if (entry->target.process->ended)
			target_end(&entry->target);
		if (entry->target.ended && now_ns > entry->target.ended_ns + EXPIRE_NS)
			target_drop(table, entry);
	}
}

bool target_table_retry(struct target_table *table, u64 now_ns)
{
	struct awaited_pid due[AWAITED_PIDS_MAX];
	size_t due_cnt = awaited_pids_take_due(&table->undecided, now_ns, due);

	for (size_t i = 0; i < due_cnt; i++) {
		bool is_last = awaited_pid_is_last(&due[i]);

		table->decided_pid = is_last ? due[i].pid : 0;
		look_at(table, due[i].pid, NULL, is_last);
		awaited_pids_prolong(&table->undecided, &due[i], now_ns);
	}
	table->decided_pid = 0;
	return table->undecided.cnt != 0;
}

static void settle_process(struct target_table *table, struct process *process)
{
	struct summary_process *row = process_rows_find(&table->rows, process->id);
	struct process_config config;

	process->cpu_end_ns = process_table_cpu_ns(table->processes, process);
	process_table_refresh_user(table->processes, process);
	if (row && !row->selected)
		row->selected = selection_holds(table->config.selection, process);
	if (row && !process_publish_get(table->config.processes_fd, process->pid, &config) &&
	    config.epoch == process->epoch)
		row->outside_ticks += config.outside_ticks;
}

void target_table_settle(struct target_table *table)
{
	for (size_t id = 0; id < process_table_count(table->processes); id++) {
		struct process *process = process_table_at(table->processes, id);

		if (!process->ended && target_of(table, process))
			settle_process(table, process);
	}
}

static bool is_kept(void *ctx, const struct summary_process *row)
{
	const struct target_table_config *config = ctx;

	return row->selected || config->was_sampled(config->was_sampled_ctx, row->process_id);
}

void target_table_drop_unselected(struct target_table *table)
{
	process_rows_filter(&table->rows, is_kept, &table->config);
}

struct process_table *target_table_processes(struct target_table *table)
{
	return table->processes;
}

const struct summary_process *target_table_summaries(const struct target_table *table, size_t *ret_cnt)
{
	*ret_cnt = table->rows.cnt;
	return table->rows.rows;
}

size_t target_table_live_count(const struct target_table *table)
{
	size_t cnt = 0;

	for (size_t id = 0; id < process_table_count(table->processes); id++) {
		const struct process *process = process_table_at(table->processes, id);

		cnt += !process->ended && (kill(process->pid, 0) == 0 || errno == EPERM);
	}
	return cnt;
}

u64 target_table_full_count(const struct target_table *table)
{
	return table->full_cnt;
}
