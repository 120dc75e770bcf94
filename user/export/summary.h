/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a recording as text for people; as JSON: export/summary_json.h. Plain values filled by the
 * session; everything pointed to stays the caller's.
 */
#ifndef PANOPY_EXPORT_SUMMARY_H
#define PANOPY_EXPORT_SUMMARY_H

#include <stdbool.h>
#include <stdio.h>

#include "aggregate/profile.h"
#include "discover/process_table.h"
#include "runtime/py_runtime.h"
#include "stack/stack_stats.h"
#include "symbolize/code_cache.h"
#include "bpf_stats.h"
#include "sample_time.h"

/* Losses on the user side, next to those that the kernel side counts (bpf_stats.h).
 * X(enumerator, json name, sentence) */
#define SUMMARY_LOSSES(X)                                                                                    \
	X(SUMMARY_LOSS_RECORD_INVALID, "records_invalid", "ring records that made no sense")                 \
	X(SUMMARY_LOSS_PROCESS_UNKNOWN, "samples_process_unknown",                                           \
	  "samples of a process that was not known any more")                                                \
	X(SUMMARY_LOSS_STACK_UNKNOWN, "samples_stack_unknown",                                               \
	  "samples that refer to a stack that never arrived")                                                \
	X(SUMMARY_LOSS_NO_MEMORY, "samples_no_memory", "samples lost because memory ran out")                \
	X(SUMMARY_LOSS_SIDEBAND, "sideband_lost", "mapping records that the kernel dropped")                 \
	X(SUMMARY_LOSS_PROCESS_TABLE_FULL, "process_table_full",                                             \
	  "processes not followed because panopy's table was full")

enum summary_loss {
#define SUMMARY_LOSS_ENUMERATOR(name, json, text) name,
	SUMMARY_LOSSES(SUMMARY_LOSS_ENUMERATOR)
#undef SUMMARY_LOSS_ENUMERATOR
		SUMMARY_LOSS_COUNT
};

/* What the session knows of a process and process_table does not. */
struct summary_process {
	u32 process_id; /* process_table id */
	u32 version;	/* PY_VERSION_HEX; 0 when unknown */
	enum py_refusal refusal;
	bool free_threaded;
	/* By cgroup and user, at some time: false, and never sampled, where it was not. */
	bool selected;
	/* Ticks of its threads at times when it was not selected. */
	u64 outside_ticks;
};

struct summary {
	struct profile *profile;
	struct process_table *processes_table;
	/* The Python processes, refused ones included; no process twice. */
	const struct summary_process *processes;
	size_t process_cnt;
	const struct code_cache_stats *code_stats; /* may be NULL */
	const struct stack_stats *stack_stats;	   /* may be NULL */
	struct remote_mem_stats remote_reads;

	u64 start_real_ns;
	u64 duration_ns; /* of the recording, without start-up and writing */
	u64 startup_ns;	 /* from the start of panopy to the first timer */
	u64 period_ns;	 /* asked for */
	u64 bpf_stats[BPF_STAT_COUNT];
	u64 sample_times[SAMPLE_TIME_BUCKETS]; /* samples, by how long each kept its CPU */
	u64 losses[SUMMARY_LOSS_COUNT];
	u64 own_user_ns; /* panopy's own CPU time, from getrusage */
	u64 own_system_ns;
	u64 startup_user_ns; /* of it, until every process that was there had been looked at */
	u64 startup_system_ns;
	u64 own_peak_rss_bytes;

	const char *stop_reason; /* "duration", "interrupted", "targets ended", "command ended" */
	const char *output_path; /* NULL: nothing was written; "-" for stdout */
	const char *split_path;	 /* the folder of --split; NULL: nothing was written */
	size_t split_cnt;	 /* files in it */
	const char *format;	 /* "folded" */
	int argc;		 /* panopy's command line */
	char *const *argv;
	bool strict; /* a line with the verdict is printed */
	double strict_percent;
	bool with_stats; /* print the table of --stats, too */
};

/* Samples that fired and did not make it into the profile: what must be zero. */
u64 summary_lost_samples(const u64 *bpf_stats, const u64 *losses);
/* Percent of all samples that fired which were lost, late, truncated (folded ones included) or have an unnamed (or
 * folded) frame; what --strict compares. 0 when there were none. */
double summary_bad_percent(const struct summary *summary);
/* Time of the sampler in the kernel: in the interrupt, and on threads' return to user mode (waits for pages included). */
u64 summary_kernel_ns(const u64 *bpf_stats);
/* The rate asked for times the share of the due ticks that came; the asked one when none was due. */
double summary_achieved_hz(const struct summary *summary);

/* The end summary for people; names from targets are escaped. `color`: bold headings. */
void summary_print(FILE *out, const struct summary *summary, bool color);

#endif
