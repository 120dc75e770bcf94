/* SPDX-License-Identifier: Apache-2.0 */
#include "export/stats_table.h"

#include <assert.h>
#include <string.h>

#include "export/sample_text.h"
#include "export/summary_text.h"

struct rows {
	struct stats_row *at;
	size_t cnt;
	const char *group;
};

static struct stats_row *add(struct rows *rows, const char *key, const char *text, enum stats_unit unit,
			     u64 count, u64 whole)
{
	struct stats_row *row = &rows->at[rows->cnt++];

	assert(rows->cnt <= STATS_MAX_ROWS);
	*row = (struct stats_row){
		.group = rows->group, .key = key, .text = text, .unit = unit, .count = count, .whole = whole};
	return row;
}

static void add_count(struct rows *rows, const char *key, const char *text, u64 count)
{
	add(rows, key, text, STATS_UNIT_COUNT, count, 0);
}

static void add_share(struct rows *rows, const char *key, const char *text, u64 count, u64 whole)
{
	add(rows, key, text, STATS_UNIT_PERCENT, count, whole);
}

/* 0 where two counters that are not read at one instant cross. */
static u64 difference(u64 whole, u64 part)
{
	return whole > part ? whole - part : 0;
}

static void add_samples(struct rows *rows, const struct summary *summary)
{
	const struct profile_totals *totals = profile_totals(summary->profile);

	rows->group = "samples";
	add_count(rows, "all", "in the profile", totals->samples);
	for (int status = 0; status < SAMPLE_STATUS_COUNT; status++)
		add(rows, sample_status_name(status), sample_status_text(status), STATS_UNIT_PERCENT,
		    totals->by_status[status], totals->samples)
			->only_if_any = true;
}

static void add_stacks(struct rows *rows, const struct summary *summary)
{
	u64 sent = summary->bpf_stats[BPF_STAT_SAMPLES];
	u64 known = summary->bpf_stats[BPF_STAT_REPEATS];

	rows->group = "stacks";
	add_share(rows, "known", "seen before: only their identity was sent", known, sent);
	add_share(rows, "new", "sent whole", difference(sent, known), sent);
}

static const struct stack_stats *stack_stats_of(const struct summary *summary)
{
	static const struct stack_stats NONE;

	return summary->stack_stats ? summary->stack_stats : &NONE;
}

static void add_frames(struct rows *rows, const struct summary *summary)
{
	const struct stack_stats *stacks = stack_stats_of(summary);
	u64 kernel = summary->bpf_stats[BPF_STAT_FRAMES];
	u64 all = kernel + stacks->frames_read + stacks->frames_by_identity;

	rows->group = "frames";
	add_share(rows, "kernel", "read in the kernel", kernel, all);
	add_share(rows, "memory", "read from the process's memory later", stacks->frames_read, all);
	add_share(rows, "identity", "taken from the thread's last whole stack", stacks->frames_by_identity,
		  all);
	add_share(rows, "cache", "of those read later, named from the frame cache", stacks->frames_reused,
		  stacks->frames_read);
}

static void add_frame_cache(struct rows *rows, const struct summary *summary)
{
	const struct stack_stats *stacks = stack_stats_of(summary);
	u64 all = stacks->hits + stacks->partial + stacks->misses + stacks->by_identity + stacks->postponed +
		  stacks->failed;

	rows->group = "frame_cache";
	add_share(rows, "hits", "stacks of which every frame was held", stacks->hits, all);
	add_share(rows, "partial", "some frames", stacks->partial, all);
	add_share(rows, "misses", "none", stacks->misses, all);
	add_share(rows, "by_identity", "deep ones read whole less than a second before", stacks->by_identity,
		  all);
	add_share(rows, "postponed", "the same, and left truncated", stacks->postponed, all);
	add_share(rows, "failed", "could not be read to their end", stacks->failed, all);
	add_count(rows, "evicted_threads", "threads dropped to make room", stacks->evicted_threads);
	add_count(rows, "evicted_frames", "frames dropped to make room", stacks->evicted_frames);
}

static void add_codes(struct rows *rows, const struct summary *summary)
{
	static const struct code_cache_stats NONE;
	const struct code_cache_stats *codes = summary->code_stats ? summary->code_stats : &NONE;
	u64 asked = codes->hits + codes->misses;

	rows->group = "code_objects";
	add_count(rows, "held", "held now", codes->codes);
	add_count(rows, "sent", "sent by the kernel side", summary->bpf_stats[BPF_STAT_CODES]);
	add_share(rows, "hits", "frames of a known code object", codes->hits, asked);
	add_share(rows, "misses", "frames of an unknown one", codes->misses, asked);
	add_count(rows, "remote_reads", "read from the process's memory", codes->remote_reads);
	add_count(rows, "stale", "found replaced by another when read", codes->stale);
	add_count(rows, "evicted", "dropped to make room", codes->evicted);
}

static void add_remote(struct rows *rows, const struct summary *summary)
{
	const struct remote_mem_stats *reads = &summary->remote_reads;

	rows->group = "remote_reads";
	add_count(rows, "calls", "reads of a process's memory", reads->calls);
	add_count(rows, "segments", "segments asked for", reads->segments);
	add_share(rows, "segments_read", "of them read", reads->segments_read, reads->segments);
	add_count(rows, "bytes", "bytes read", reads->bytes);
}

/* Time that `thousandths` of the samples stayed below, rounded up to the end of its bucket. */
static u64 time_quantile(const u64 times[SAMPLE_TIME_BUCKETS], u64 thousandths)
{
	u64 all = 0, seen = 0;
	u32 bucket = 0;

	for (u32 i = 0; i < SAMPLE_TIME_BUCKETS; i++)
		all += times[i];
	if (!all)
		return 0;
	for (; bucket < SAMPLE_TIME_BUCKETS - 1; bucket++) {
		seen += times[bucket];
		if (seen && seen * 1000 >= all * thousandths)
			break;
	}
	return sample_time_end(bucket);
}

static void add_kernel_times(struct rows *rows, const struct summary *summary)
{
	const u64 *times = summary->sample_times;

	add(rows, "kernel_ns", "in the kernel's sampler", STATS_UNIT_MEAN_NS,
	    summary->bpf_stats[BPF_STAT_SAMPLE_NS], summary->bpf_stats[BPF_STAT_SAMPLES]);
	add(rows, "kernel_ns_median", "there, half of the samples less than", STATS_UNIT_NS,
	    time_quantile(times, 500), 0);
	add(rows, "kernel_ns_p99", "there, 99 of 100", STATS_UNIT_NS, time_quantile(times, 990), 0);
	add(rows, "kernel_ns_worst", "there, all", STATS_UNIT_NS, time_quantile(times, 1000), 0);
}

static void add_costs(struct rows *rows, const struct summary *summary)
{
	const u64 *kernel = summary->bpf_stats;
	u64 sent = kernel[BPF_STAT_SAMPLES];
	u64 taken = profile_totals(summary->profile)->samples;

	rows->group = "per_sample";
	add(rows, "frames", "frames", STATS_UNIT_MEAN, kernel[BPF_STAT_FRAMES], sent);
	add(rows, "ring_bytes", "bytes in the ring buffers", STATS_UNIT_MEAN, kernel[BPF_STAT_RING_BYTES],
	    sent);
	add(rows, "window_reads", "windows and single frames read", STATS_UNIT_MEAN,
	    kernel[BPF_STAT_WINDOW_READS], sent);
	add(rows, "fingerprint_reads", "code objects fingerprinted", STATS_UNIT_MEAN,
	    kernel[BPF_STAT_FINGERPRINT_READS], sent);
	add_kernel_times(rows, summary);
	add(rows, "user_ns", "own CPU after start-up, user", STATS_UNIT_MEAN_NS,
	    difference(summary->own_user_ns, summary->startup_user_ns), taken);
	add(rows, "system_ns", "own CPU after start-up, system", STATS_UNIT_MEAN_NS,
	    difference(summary->own_system_ns, summary->startup_system_ns), taken);
}

static void add_loss(struct rows *rows, const char *key, const char *text, u64 count)
{
	add(rows, key, text, STATS_UNIT_COUNT, count, 0)->only_if_any = true;
}

static void add_kernel_losses(struct rows *rows, const u64 *stats)
{
	static const enum bpf_stat LOSSES[] = {BPF_STAT_SAMPLES_DROPPED,     BPF_STAT_CODES_DROPPED,
					       BPF_STAT_EVENTS_DROPPED,	     BPF_STAT_PROCESSES_FULL,
					       BPF_STAT_TICKS_NOT_DELIVERED, BPF_STAT_TICKS_STOLEN,
					       BPF_STAT_TICKS_WEIGHTLESS};
	static const struct {
		const char *key, *text;
	} WORDS[BPF_STAT_COUNT] = {
#define BPF_STAT_WORDS(name, json, text) [name] = {json, text},
		BPF_STATS(BPF_STAT_WORDS)
#undef BPF_STAT_WORDS
	};

	for (size_t i = 0; i < sizeof(LOSSES) / sizeof(LOSSES[0]); i++)
		add_loss(rows, WORDS[LOSSES[i]].key, WORDS[LOSSES[i]].text, stats[LOSSES[i]]);
}

static void add_losses(struct rows *rows, const struct summary *summary)
{
	static const struct {
		const char *key, *text;
	} WORDS[SUMMARY_LOSS_COUNT] = {
#define SUMMARY_LOSS_WORDS(name, json, text) [name] = {json, text},
		SUMMARY_LOSSES(SUMMARY_LOSS_WORDS)
#undef SUMMARY_LOSS_WORDS
	};
	const struct profile_totals *totals = profile_totals(summary->profile);

	rows->group = "losses";
	add_kernel_losses(rows, summary->bpf_stats);
	for (int loss = 0; loss < SUMMARY_LOSS_COUNT; loss++)
		add_loss(rows, WORDS[loss].key, WORDS[loss].text, summary->losses[loss]);
	for (int reason = 1; reason < SAMPLE_REASON_NO_FRAMES; reason++)
		add_loss(rows, sample_reason_name(reason), sample_reason_text(reason),
			 totals->by_reason[reason]);
	add_loss(rows, "unnamed", "with an unnamed frame", totals->unnamed_samples);
	add_loss(rows, "lines_unknown", "with a frame whose line is not known", totals->lineless_samples);
	add_loss(rows, "folded", "folded into a shorter stack (table full)", totals->folded_samples);
	add_loss(rows, "folded_frames", "with a frame that is [folded] (table full)",
		 totals->folded_frame_samples);
	add_loss(rows, "folded_threads", "of threads counted as thread 0 (table full)",
		 totals->folded_thread_samples);
}

size_t stats_table_rows(const struct summary *summary, struct stats_row ret_rows[STATS_MAX_ROWS])
{
	struct rows rows = {.at = ret_rows};

	add_samples(&rows, summary);
	add_stacks(&rows, summary);
	add_frames(&rows, summary);
	add_frame_cache(&rows, summary);
	add_codes(&rows, summary);
	add_remote(&rows, summary);
	add_costs(&rows, summary);
	add_losses(&rows, summary);
	return rows.cnt;
}

double stats_row_value(const struct stats_row *row)
{
	if (row->unit == STATS_UNIT_COUNT || row->unit == STATS_UNIT_NS)
		return (double)row->count;
	if (!row->whole)
		return 0;
	return (row->unit == STATS_UNIT_PERCENT ? 100 : 1) * (double)row->count / (double)row->whole;
}

static void print_row(FILE *out, const struct stats_row *row)
{
	double value = stats_row_value(row);
	char text[32];

	switch (row->unit) {
	case STATS_UNIT_MEAN:
		fprintf(out, "  %12.1f %10s", value, "");
		break;
	case STATS_UNIT_NS:
	case STATS_UNIT_MEAN_NS:
		fprintf(out, "  %9.0f ns %10s", value, "");
		break;
	case STATS_UNIT_PERCENT:
		fprintf(out, "  %12s %8.3f %%", summary_text_count(text, sizeof(text), row->count), value);
		break;
	default:
		fprintf(out, "  %12s %10s", summary_text_count(text, sizeof(text), row->count), "");
		break;
	}
	fprintf(out, "  %s\n", row->text);
}

/* "code_objects" as "Code objects". */
static void print_group(FILE *out, const char *group, bool color)
{
	char heading[32];

	snprintf(heading, sizeof(heading), "%c%s", group[0] - 'a' + 'A', group + 1);
	for (char *p = heading; *p; p++)
		*p = *p == '_' ? ' ' : *p;
	summary_text_heading(out, color, heading);
}

void stats_table_print(FILE *out, const struct summary *summary, bool color)
{
	struct stats_row rows[STATS_MAX_ROWS];
	size_t cnt = stats_table_rows(summary, rows);
	const char *group = "";

	for (size_t i = 0; i < cnt; i++) {
		if (rows[i].only_if_any && !rows[i].count)
			continue;
		if (strcmp(group, rows[i].group) != 0)
			print_group(out, rows[i].group, color);
		group = rows[i].group;
		print_row(out, &rows[i]);
	}
}
