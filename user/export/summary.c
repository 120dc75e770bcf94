/* SPDX-License-Identifier: Apache-2.0 */
#include "export/summary.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/python_version.h"
#include "export/sample_text.h"
#include "export/stats_table.h"
#include "export/summary_text.h"

enum {
	HOTTEST_CNT = 10,
	MAX_PROCESS_LINES = 10, /* with the rest, a screen; the JSON has them all */
	NAME_SZ = 512,
	PROCESS_COLUMNS = 59,  /* what stands before the command in a process's line */
	FUNCTION_COLUMNS = 24, /* the same of a function's line */
	MIN_REST_COLUMNS = 20,
};

static double percent(u64 part, u64 whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

u64 summary_lost_samples(const u64 *bpf_stats, const u64 *losses)
{
	return bpf_stats[BPF_STAT_SAMPLES_DROPPED] + losses[SUMMARY_LOSS_RECORD_INVALID] +
	       losses[SUMMARY_LOSS_PROCESS_UNKNOWN] + losses[SUMMARY_LOSS_STACK_UNKNOWN] +
	       losses[SUMMARY_LOSS_NO_MEMORY];
}

double summary_bad_percent(const struct summary *summary)
{
	const struct profile_totals *totals = profile_totals(summary->profile);
	u64 lost = summary_lost_samples(summary->bpf_stats, summary->losses);

	return percent(lost + totals->flawed_samples, lost + totals->samples);
}

u64 summary_kernel_ns(const u64 *bpf_stats)
{
	return bpf_stats[BPF_STAT_RUN_NS] + bpf_stats[BPF_STAT_RESUME_NS];
}

double summary_achieved_hz(const struct summary *summary)
{
	u64 came = summary->bpf_stats[BPF_STAT_TICKS];
	u64 due = came + summary->bpf_stats[BPF_STAT_TICKS_NOT_DELIVERED] +
		  summary->bpf_stats[BPF_STAT_TICKS_STOLEN];
	double asked = (double)CLOCK_NS_PER_S / (double)summary->period_ns;

	return due ? asked * (double)came / (double)due : asked;
}

static size_t count_sampled(const struct summary *summary)
{
	size_t cnt = 0;

	for (size_t i = 0; i < summary->process_cnt; i++)
		cnt += profile_process_totals(summary->profile, summary->processes[i].process_id) != NULL;
	return cnt;
}

static void print_overview(FILE *out, const struct summary *summary)
{
	const struct profile_totals *totals = profile_totals(summary->profile);
	size_t processes = count_sampled(summary);
	size_t threads = profile_thread_count(summary->profile);
	char duration[CLOCK_DURATION_SZ];
	char cpu[CLOCK_DURATION_SZ];
	char count[32];

	fprintf(out, "%s sample%s of %zu process%s, %zu thread%s in %s (%s of CPU time)\n",
		summary_text_count(count, sizeof(count), totals->samples), totals->samples == 1 ? "" : "s",
		processes, processes == 1 ? "" : "es", threads, threads == 1 ? "" : "s",
		clock_format_duration(duration, sizeof(duration), summary->duration_ns),
		clock_format_duration(cpu, sizeof(cpu), totals->weight_ns));
	fprintf(out, "rate: %.4g Hz asked, %.4g Hz achieved\n",
		(double)CLOCK_NS_PER_S / (double)summary->period_ns, summary_achieved_hz(summary));
}

static void print_own_cost(FILE *out, const struct summary *summary)
{
	u64 kernel_ns = summary_kernel_ns(summary->bpf_stats);
	u64 user_ns = summary->own_user_ns + summary->own_system_ns;
	char texts[3][CLOCK_DURATION_SZ];

	/* Starting up is part of the cost, and took time as well. */
	fprintf(out, "own CPU: %s user, %s system, %s sampler (%.2f %% of one CPU)\n",
		clock_format_duration(texts[0], CLOCK_DURATION_SZ, summary->own_user_ns),
		clock_format_duration(texts[1], CLOCK_DURATION_SZ, summary->own_system_ns),
		clock_format_duration(texts[2], CLOCK_DURATION_SZ, kernel_ns),
		percent(user_ns + kernel_ns, summary->startup_ns + summary->duration_ns));
}

/* One line of the account; nothing when `count` is 0. `samples` 0: the share makes no sense. */
static bool print_account(FILE *out, const char *what, const char *why, u64 count, u64 samples)
{
	char text[32];

	if (!count)
		return false;
	fprintf(out, "  %12s", summary_text_count(text, sizeof(text), count));
	if (samples)
		fprintf(out, " %8.3f %%", percent(count, samples));
	else
		fprintf(out, " %10s", "");
	fprintf(out, "  %s%s%s\n", what, why && *why ? ": " : "", why ? why : "");
	return true;
}

static bool print_kernel_losses(FILE *out, const struct summary *summary)
{
	static const struct {
		enum bpf_stat stat;
		const char *text;
	} LOSSES[] = {
#define BPF_STAT_TEXT(name, json, text) {name, text},
		BPF_STATS(BPF_STAT_TEXT)
#undef BPF_STAT_TEXT
	};
	bool any = false;

	for (size_t i = 0; i < sizeof(LOSSES) / sizeof(LOSSES[0]); i++) {
		switch (LOSSES[i].stat) {
		case BPF_STAT_SAMPLES_DROPPED:
		case BPF_STAT_CODES_DROPPED:
		case BPF_STAT_EVENTS_DROPPED:
		case BPF_STAT_PROCESSES_FULL:
			any |= print_account(out, LOSSES[i].text, NULL, summary->bpf_stats[LOSSES[i].stat],
					     0);
			break;
		default:
			break;
		}
	}
	any |= print_account(out, "not delivered (weighed in where one thread ran on)", NULL,
			     summary->bpf_stats[BPF_STAT_TICKS_NOT_DELIVERED], 0);
	any |= print_account(out, "stolen by the machine's host (nobody's CPU time)", NULL,
			     summary->bpf_stats[BPF_STAT_TICKS_STOLEN], 0);
	any |= print_account(out, "weigh nothing (the host had taken their time)", NULL,
			     summary->bpf_stats[BPF_STAT_TICKS_WEIGHTLESS], 0);
	return any;
}

static bool print_user_losses(FILE *out, const struct summary *summary)
{
	static const char *const TEXTS[SUMMARY_LOSS_COUNT] = {
#define SUMMARY_LOSS_TEXT(name, json, text) [name] = (text),
		SUMMARY_LOSSES(SUMMARY_LOSS_TEXT)
#undef SUMMARY_LOSS_TEXT
	};
	bool any = false;

	for (int loss = 0; loss < SUMMARY_LOSS_COUNT; loss++)
		any |= print_account(out, TEXTS[loss], NULL, summary->losses[loss], 0);
	return any;
}

/* Reasons of "no Python frame" begin where those of "truncated" end. */
static enum sample_status status_of_reason(enum sample_reason reason)
{
	return reason < SAMPLE_REASON_NO_FRAMES ? SAMPLE_TRUNCATED : SAMPLE_NONE;
}

static void print_statuses(FILE *out, const struct profile_totals *totals)
{
	for (int status = 0; status < SAMPLE_STATUS_COUNT; status++)
		if (status != SAMPLE_LATE && status != SAMPLE_TRUNCATED && status != SAMPLE_NONE)
			print_account(out, sample_status_text(status), NULL, totals->by_status[status],
				      totals->samples);
	for (int reason = 0; reason < SAMPLE_REASON_NO_FRAMES; reason++)
		print_account(out, sample_status_text(SAMPLE_LATE), sample_reason_text(reason),
			      totals->late_by_reason[reason], totals->samples);
	for (int reason = 1; reason < SAMPLE_REASON_COUNT; reason++)
		print_account(out, sample_status_text(status_of_reason(reason)), sample_reason_text(reason),
			      totals->by_reason[reason], totals->samples);
	print_account(out, "with an unnamed frame", NULL, totals->unnamed_samples, totals->samples);
	print_account(out, "with a frame whose line is not known", NULL, totals->lineless_samples,
		      totals->samples);
	print_account(out, "folded into a shorter stack (table full)", NULL, totals->folded_samples,
		      totals->samples);
	print_account(out, "with a frame that is [folded] (table full)", NULL, totals->folded_frame_samples,
		      totals->samples);
	print_account(out, "of threads counted as thread 0 (table full)", NULL, totals->folded_thread_samples,
		      totals->samples);
}

static void print_losses(FILE *out, const struct summary *summary)
{
	bool any = print_kernel_losses(out, summary);

	any |= print_user_losses(out, summary);
	if (!any)
		fprintf(out, "  nothing lost\n");
}

static int compare_by_samples(const void *a, const void *b, void *ctx)
{
	const struct summary_process *const *left = a;
	const struct summary_process *const *right = b;
	const struct profile_totals *left_totals = profile_process_totals(ctx, (*left)->process_id);
	const struct profile_totals *right_totals = profile_process_totals(ctx, (*right)->process_id);
	u64 left_samples = left_totals ? left_totals->samples : 0;
	u64 right_samples = right_totals ? right_totals->samples : 0;

	if (left_samples != right_samples)
		return left_samples < right_samples ? 1 : -1;
	return ((*left)->process_id > (*right)->process_id) - ((*left)->process_id < (*right)->process_id);
}

/* The end of a line that has `used` columns so far: cut at the terminal's edge, whole elsewhere. */
static void print_rest(FILE *out, int used, const char *text)
{
	int width = log_terminal_width(fileno(out));
	int room = width - used < MIN_REST_COLUMNS ? MIN_REST_COLUMNS : width - used;
	size_t columns = width ? (size_t)room : SIZE_MAX;

	fprintf(out, "  %.*s\n", (int)printable_prefix(text, columns), text);
}

static void print_process(FILE *out, const struct summary *summary, const struct summary_process *entry)
{
	static const struct profile_totals NO_TOTALS;
	const struct profile_totals *totals = profile_process_totals(summary->profile, entry->process_id);
	const struct process *process = process_table_at(summary->processes_table, entry->process_id);
	char version[PYTHON_VERSION_SZ];
	char cpu[CLOCK_DURATION_SZ];
	char count[32];

	if (!process)
		return;
	if (!totals)
		totals = &NO_TOTALS;
	fprintf(out, "  %8d  %-9s %12s %10s", (int)process->pid,
		python_version_format(version, sizeof(version), entry->version),
		summary_text_count(count, sizeof(count), totals->samples),
		clock_format_duration(cpu, sizeof(cpu), totals->weight_ns));
	if (totals->samples)
		fprintf(out, " %8.1f %%", percent(totals->by_status[SAMPLE_NONE], totals->samples));
	else
		fprintf(out, " %10s", "-");
	print_rest(out, PROCESS_COLUMNS, process->command ? process->command : "");
	if (entry->outside_ticks)
		fprintf(out, "  %8s  selected for a part of the time: %s of CPU time were outside\n", "",
			clock_format_duration(cpu, sizeof(cpu), entry->outside_ticks * summary->period_ns));
	if (entry->refusal)
		fprintf(out, "  %8s  not profiled: %s\n", "", py_refusal_text(entry->refusal));
}

static void print_processes(FILE *out, const struct summary *summary, bool color)
{
	const struct summary_process **order =
		calloc(summary->process_cnt + 1, sizeof(struct summary_process *));
	size_t shown = summary->process_cnt < MAX_PROCESS_LINES ? summary->process_cnt : MAX_PROCESS_LINES;

	if (!order || !summary->process_cnt) {
		free(order);
		return;
	}
	for (size_t i = 0; i < summary->process_cnt; i++)
		order[i] = &summary->processes[i];
	qsort_r(order, summary->process_cnt, sizeof(struct summary_process *), compare_by_samples,
		summary->profile);
	summary_text_heading(out, color, "Processes");
	fprintf(out, "  %8s  %-9s %12s %10s %10s  %s\n", "pid", "version", "samples", "CPU", "no python",
		"command");
	for (size_t i = 0; i < shown; i++)
		print_process(out, summary, order[i]);
	if (shown < summary->process_cnt)
		fprintf(out, "  and %zu more (--summary FILE writes all)\n", summary->process_cnt - shown);
	free(order);
}

static void print_hottest(FILE *out, const struct summary *summary, bool color)
{
	const struct profile_totals *totals = profile_totals(summary->profile);
	struct string_table *strings = frame_table_strings(profile_frames(summary->profile));
	struct profile_function functions[HOTTEST_CNT];
	size_t cnt = profile_hottest(summary->profile, functions, HOTTEST_CNT);

	if (!cnt)
		return;
	summary_text_heading(out, color, "Hottest functions (own time)");
	for (size_t i = 0; i < cnt; i++) {
		char name[NAME_SZ];
		char file[NAME_SZ];
		char both[2 * NAME_SZ + 4];
		char count[32];
		size_t sz;
		const char *text = string_table_at(strings, functions[i].qualname_id, &sz);

		printable_copy(name, sizeof(name), text, sz);
		text = string_table_at(strings, functions[i].file_id, &sz);
		printable_copy(file, sizeof(file), text, sz);
		snprintf(both, sizeof(both), "%s (%s)", name, file);
		fprintf(out, "  %5.1f %% %12s", percent(functions[i].self_weight_ns, totals->weight_ns),
			summary_text_count(count, sizeof(count), functions[i].self_samples));
		print_rest(out, FUNCTION_COLUMNS, both);
	}
}

void summary_print(FILE *out, const struct summary *summary, bool color)
{
	const struct profile_totals *totals = profile_totals(summary->profile);
	char path[4096];

	print_overview(out, summary);
	print_own_cost(out, summary);
	summary_text_heading(out, color, "Samples");
	print_statuses(out, totals);
	print_losses(out, summary);
	print_processes(out, summary, color);
	print_hottest(out, summary, color);
	if (summary->with_stats)
		stats_table_print(out, summary, color);
	if (summary->strict)
		fprintf(out,
			"\nstrict: %.4g %% of the samples were lost, late, truncated or unnamed; %.4g %% "
			"allowed\n",
			summary_bad_percent(summary), summary->strict_percent);
	if (summary->output_path && strcmp(summary->output_path, "-") != 0)
		fprintf(out,
			"\nwrote %s\n"
			"open it with https://www.speedscope.app or flamegraph.pl FILE > FILE.svg\n",
			printable_text(path, sizeof(path), summary->output_path));
	if (summary->split_path)
		fprintf(out, "\nwrote %zu file%s to the folder %s\n", summary->split_cnt,
			summary->split_cnt == 1 ? "" : "s",
			printable_text(path, sizeof(path), summary->split_path));
}
