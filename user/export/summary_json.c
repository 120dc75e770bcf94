/* SPDX-License-Identifier: Apache-2.0 */
/* Every number is there even when it is 0, so that readers need no default. json-c takes NULL for JSON's
 * null; an object that could not be allocated for want of memory becomes null as well, and only the root
 * is checked.
 */
#include "export/summary_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic_file.h"
#include "base/clock.h"
#include "base/printable.h"
#include "base/python_version.h"
#include "export/json_text.h"
#include "export/process_json.h"
#include "export/sample_text.h"
#include "export/stats_table.h"

enum {
	FORMAT_VERSION = 1,
	HOTTEST_CNT = 10,
	TEXT_SZ = 4096,
};

static void add_u64(struct json_object *object, const char *key, u64 value)
{
	json_object_object_add(object, key, json_object_new_uint64(value));
}

/* Six significant digits: seventeen would suggest a precision that is not there. */
static void add_double(struct json_object *object, const char *key, double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.6g", value);
	json_object_object_add(object, key, json_object_new_double_s(value, text));
}

static void add_text(struct json_object *object, const char *key, const char *text)
{
	char buf[TEXT_SZ];

	json_object_object_add(object, key,
			       text ? json_object_new_string(printable_text(buf, sizeof(buf), text)) : NULL);
}

static struct json_object *add_object(struct json_object *object, const char *key)
{
	struct json_object *child = json_object_new_object();

	json_object_object_add(object, key, child);
	return child;
}

static struct json_object *add_array(struct json_object *object, const char *key)
{
	struct json_object *child = json_object_new_array();

	json_object_object_add(object, key, child);
	return child;
}

static void add_recording(struct json_object *root, const struct summary *summary)
{
	struct json_object *words = add_array(root, "command_line");
	char start[40];

	for (int i = 0; i < summary->argc; i++) {
		char buf[TEXT_SZ];

		json_object_array_add(
			words, json_object_new_string(printable_text(buf, sizeof(buf), summary->argv[i])));
	}
	add_text(root, "start", clock_format_utc(start, sizeof(start), summary->start_real_ns));
	add_u64(root, "duration_ns", summary->duration_ns);
	add_u64(root, "startup_ns", summary->startup_ns);
	add_text(root, "stop_reason", summary->stop_reason);
	add_text(root, "output", summary->output_path);
	add_text(root, "split", summary->split_path);
	add_u64(root, "split_files", summary->split_cnt);
	add_text(root, "format", summary->format);
}

static void add_rate(struct json_object *root, const struct summary *summary)
{
	struct json_object *rate = add_object(root, "rate");

	add_u64(rate, "period_ns", summary->period_ns);
	add_double(rate, "asked_hz", (double)CLOCK_NS_PER_S / (double)summary->period_ns);
	add_double(rate, "achieved_hz", summary_achieved_hz(summary));
}

static void add_statuses(struct json_object *object, const struct profile_totals *totals)
{
	struct json_object *statuses = add_object(object, "statuses");
	struct json_object *reasons = add_object(object, "reasons");

	for (int status = 0; status < SAMPLE_STATUS_COUNT; status++)
		add_u64(statuses, sample_status_name(status), totals->by_status[status]);
	for (int reason = 1; reason < SAMPLE_REASON_COUNT; reason++)
		add_u64(reasons, sample_reason_name(reason), totals->by_reason[reason]);
}

static void add_lost(struct json_object *root, const struct summary *summary)
{
	static const char *const NAMES[SUMMARY_LOSS_COUNT] = {
#define SUMMARY_LOSS_NAME(name, json, text) [name] = (json),
		SUMMARY_LOSSES(SUMMARY_LOSS_NAME)
#undef SUMMARY_LOSS_NAME
	};
	const struct profile_totals *totals = profile_totals(summary->profile);
	struct json_object *lost = add_object(root, "lost");

	add_u64(lost, "samples_dropped", summary->bpf_stats[BPF_STAT_SAMPLES_DROPPED]);
	add_u64(lost, "codes_dropped", summary->bpf_stats[BPF_STAT_CODES_DROPPED]);
	add_u64(lost, "events_dropped", summary->bpf_stats[BPF_STAT_EVENTS_DROPPED]);
	add_u64(lost, "processes_full", summary->bpf_stats[BPF_STAT_PROCESSES_FULL]);
	add_u64(lost, "not_delivered", summary->bpf_stats[BPF_STAT_TICKS_NOT_DELIVERED]);
	add_u64(lost, "stolen", summary->bpf_stats[BPF_STAT_TICKS_STOLEN]);
	add_u64(lost, "weightless", summary->bpf_stats[BPF_STAT_TICKS_WEIGHTLESS]);
	for (int loss = 0; loss < SUMMARY_LOSS_COUNT; loss++)
		add_u64(lost, NAMES[loss], summary->losses[loss]);
	add_u64(lost, "late", totals->by_status[SAMPLE_LATE]);
	add_u64(lost, "late_budget", totals->late_by_reason[SAMPLE_REASON_BUDGET]);
	add_u64(lost, "late_page_fault", totals->late_by_reason[SAMPLE_REASON_PAGE_FAULT]);
	add_u64(lost, "truncated", totals->by_status[SAMPLE_TRUNCATED]);
	for (int reason = 1; reason < SAMPLE_REASON_NO_FRAMES; reason++) {
		char key[64];

		snprintf(key, sizeof(key), "truncated_%s", sample_reason_name(reason));
		add_u64(lost, key, totals->by_reason[reason]);
	}
	add_u64(lost, "unnamed", totals->unnamed_samples);
	add_u64(lost, "unnamed_frames", totals->unnamed_frames);
	add_u64(lost, "lines_unknown", totals->lineless_samples);
	add_u64(lost, "lines_unknown_frames", totals->lineless_frames);
	add_u64(lost, "folded", totals->folded_samples);
	add_u64(lost, "folded_frames", totals->folded_frame_samples);
	add_u64(lost, "folded_threads", totals->folded_thread_samples);
}

static void add_own(struct json_object *root, const struct summary *summary)
{
	u64 sent = summary->bpf_stats[BPF_STAT_SAMPLES];
	struct json_object *own = add_object(root, "own");

	add_u64(own, "user_ns", summary->own_user_ns);
	add_u64(own, "system_ns", summary->own_system_ns);
	add_u64(own, "startup_user_ns", summary->startup_user_ns);
	add_u64(own, "startup_system_ns", summary->startup_system_ns);
	add_u64(own, "kernel_ns", summary_kernel_ns(summary->bpf_stats));
	add_double(own, "kernel_ns_per_sample",
		   sent ? (double)summary->bpf_stats[BPF_STAT_SAMPLE_NS] / (double)sent : 0);
	add_u64(own, "peak_rss_bytes", summary->own_peak_rss_bytes);
}

static void add_counters(struct json_object *root, const struct summary *summary)
{
	static const char *const NAMES[BPF_STAT_COUNT] = {
#define BPF_STAT_NAME(name, json, text) [name] = (json),
		BPF_STATS(BPF_STAT_NAME)
#undef BPF_STAT_NAME
	};
	struct json_object *kernel = add_object(root, "kernel");
	const struct code_cache_stats *codes = summary->code_stats;
	struct json_object *cache;

	for (int stat = 0; stat < BPF_STAT_COUNT; stat++)
		add_u64(kernel, NAMES[stat], summary->bpf_stats[stat]);
	if (!codes)
		return;
	cache = add_object(root, "code_cache");
	add_u64(cache, "codes", codes->codes);
	add_u64(cache, "hits", codes->hits);
	add_u64(cache, "misses", codes->misses);
	add_u64(cache, "remote_reads", codes->remote_reads);
	add_u64(cache, "stale", codes->stale);
	add_u64(cache, "evicted", codes->evicted);
	add_u64(cache, "invalid", codes->invalid);
}

static void add_hottest(struct json_object *root, const struct summary *summary)
{
	struct string_table *strings = frame_table_strings(profile_frames(summary->profile));
	const struct profile_totals *totals = profile_totals(summary->profile);
	struct json_object *hottest = add_array(root, "hottest");
	struct profile_function functions[HOTTEST_CNT];
	size_t cnt = profile_hottest(summary->profile, functions, HOTTEST_CNT);

	for (size_t i = 0; i < cnt; i++) {
		struct json_object *entry = json_object_new_object();
		u64 weight_ns = functions[i].self_weight_ns;

		add_text(entry, "function", string_table_at(strings, functions[i].qualname_id, NULL));
		add_text(entry, "file", string_table_at(strings, functions[i].file_id, NULL));
		add_u64(entry, "samples", functions[i].self_samples);
		add_u64(entry, "weight_ns", weight_ns);
		add_double(entry, "percent",
			   totals->weight_ns ? 100.0 * (double)weight_ns / (double)totals->weight_ns : 0);
		json_object_array_add(hottest, entry);
	}
}

static void add_stats(struct json_object *root, const struct summary *summary)
{
	struct json_object *stats = add_object(root, "stats");
	struct json_object *group = NULL;
	struct stats_row rows[STATS_MAX_ROWS];
	size_t cnt = stats_table_rows(summary, rows);

	for (size_t i = 0; i < cnt; i++) {
		if (!i || strcmp(rows[i].group, rows[i - 1].group) != 0)
			group = add_object(stats, rows[i].group);
		if (rows[i].unit == STATS_UNIT_MEAN || rows[i].unit == STATS_UNIT_MEAN_NS)
			add_double(group, rows[i].key, stats_row_value(&rows[i]));
		else
			add_u64(group, rows[i].key, rows[i].count);
	}
}

static u64 cpu_used_ns(const struct process *process)
{
	return process->cpu_end_ns > process->cpu_start_ns ? process->cpu_end_ns - process->cpu_start_ns : 0;
}

static void add_process(struct json_object *processes, const struct summary *summary,
			const struct summary_process *entry)
{
	static const struct profile_totals NO_TOTALS;
	const struct profile_totals *totals = profile_process_totals(summary->profile, entry->process_id);
	const struct process *process = process_table_at(summary->processes_table, entry->process_id);
	struct json_object *object;
	char version[PYTHON_VERSION_SZ];
	u64 samples;

	if (!process)
		return;
	if (!totals)
		totals = &NO_TOTALS;
	samples = totals->samples;
	object = json_object_new_object();
	json_object_object_add(object, "pid", json_object_new_int64(process->pid));
	json_object_object_add(object, "namespace_pid",
			       process->ns_pid ? json_object_new_int64(process->ns_pid) : NULL);
	process_json_add(object, process, process_table_user_name(summary->processes_table, process->uid));
	add_text(object, "comm", process->comm);
	/* Escaped by the process table already. */
	json_object_object_add(object, "command",
			       process->command ? json_object_new_string(process->command) : NULL);
	add_text(object, "version",
		 entry->version ? python_version_format(version, sizeof(version), entry->version) : NULL);
	add_text(object, "refusal", entry->refusal ? py_refusal_name(entry->refusal) : NULL);
	json_object_object_add(object, "ended", json_object_new_boolean(process->ended));
	add_u64(object, "samples", samples);
	add_u64(object, "weight_ns", totals->weight_ns);
	add_u64(object, "cpu_ns", cpu_used_ns(process));
	add_u64(object, "outside_ns", entry->outside_ticks * summary->period_ns);
	add_text(object, "selected", entry->outside_ticks ? "part" : "whole");
	add_double(object, "no_python_percent",
		   samples ? 100.0 * (double)totals->by_status[SAMPLE_NONE] / (double)samples : 0);
	add_statuses(object, totals);
	add_u64(object, "unnamed", totals->unnamed_samples);
	json_object_array_add(processes, object);
}

static void add_totals(struct json_object *root, const struct summary *summary)
{
	const struct profile_totals *totals = profile_totals(summary->profile);

	add_u64(root, "samples", totals->samples);
	add_u64(root, "weight_ns", totals->weight_ns);
	add_u64(root, "threads", profile_thread_count(summary->profile));
	add_double(root, "bad_percent", summary_bad_percent(summary));
	add_statuses(root, totals);
}

int summary_json_format(char **ret_text, const struct summary *summary)
{
	struct json_object *root = json_object_new_object();
	struct json_object *processes;

	if (!root)
		return -ENOMEM;
	add_text(root, "panopy", PANOPY_VERSION);
	add_u64(root, "format_version", FORMAT_VERSION);
	add_recording(root, summary);
	add_rate(root, summary);
	add_totals(root, summary);
	add_lost(root, summary);
	add_own(root, summary);
	add_counters(root, summary);
	add_stats(root, summary);
	add_hottest(root, summary);
	processes = add_array(root, "processes");
	for (size_t i = 0; i < summary->process_cnt; i++)
		add_process(processes, summary, &summary->processes[i]);
	return json_text_format(ret_text, root);
}

int summary_json_write(const char *path, const struct summary *summary)
{
	struct atomic_file *file;
	char *text;
	int err;

	err = summary_json_format(&text, summary);
	if (err)
		return err;
	err = atomic_file_open(&file, path);
	if (!err) {
		/* The commit reports a failed write. */
		(void)atomic_file_write(file, text, strlen(text));
		err = atomic_file_commit(file);
	}
	free(text);
	return err;
}
