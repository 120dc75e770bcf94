/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording says of itself: the progress line, live statistics, the summary. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/deadline_call.h"
#include "base/log.h"
#include "export/stats_table.h"
#include "kernel/bpf_counters.h"
#include "progress.h"
#include "session_internal.h"

u64 session_own_cpu_ns(u64 *ret_user_ns, u64 *ret_system_ns)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	*ret_user_ns = usage.ru_utime.tv_sec * CLOCK_NS_PER_S + usage.ru_utime.tv_usec * CLOCK_NS_PER_US;
	*ret_system_ns = usage.ru_stime.tv_sec * CLOCK_NS_PER_S + usage.ru_stime.tv_usec * CLOCK_NS_PER_US +
			 deadline_call_cpu_ns();
	return *ret_user_ns + *ret_system_ns;
}

void session_draw_progress(struct session *session, u64 now)
{
	u64 stats[BPF_STAT_COUNT] = {};
	struct progress_values values = {
		.elapsed_ns = session->started_ns ? now - session->started_ns : 0,
		.running_ns = now - session->begun_ns,
		.duration_ns = session->options->duration_ns,
		.processes = profile_process_count(session->profile),
		.threads = profile_thread_count(session->profile),
	};
	u64 user_ns, system_ns;

	bpf_counters_read(bpf_loader_stats_fd(session->loader), stats);
	values.samples = profile_totals(session->profile)->samples;
	values.lost = summary_lost_samples(stats, session->losses);
	values.own_cpu_ns = session_own_cpu_ns(&user_ns, &system_ns) + summary_kernel_ns(stats);
	progress_draw(&values, session->options->quiet);
}

static const char *stop_text(enum session_stop stop)
{
	switch (stop) {
	case SESSION_STOP_DURATION:
		return "duration";
	case SESSION_STOP_TARGETS_ENDED:
		return "targets ended";
	case SESSION_STOP_COMMAND_ENDED:
		return "command ended";
	default:
		return "interrupted";
	}
}

void session_summarize(struct session *session, struct summary *ret_summary)
{
	struct summary *summary = ret_summary;
	struct rusage usage;

	memset(summary, 0, sizeof(*summary));
	summary->profile = session->profile;
	summary->processes_table = target_table_processes(session->targets);
	if (session->stopped_ns)
		target_table_drop_unselected(session->targets);
	summary->processes = target_table_summaries(session->targets, &summary->process_cnt);
	summary->code_stats = code_cache_stats(session->codes);
	summary->start_real_ns = session->start_real_ns;
	summary->duration_ns =
		(session->stopped_ns ? session->stopped_ns : clock_monotonic_ns()) - session->started_ns;
	summary->startup_ns = session->started_ns - session->begun_ns;
	summary->period_ns = session->options->period_ns;
	bpf_counters_read(bpf_loader_stats_fd(session->loader), summary->bpf_stats);
	bpf_counters_read_times(bpf_loader_stats_fd(session->loader), summary->sample_times);
	memcpy(summary->losses, session->losses, sizeof(summary->losses));
	summary->losses[SUMMARY_LOSS_PROCESS_TABLE_FULL] += target_table_full_count(session->targets);
	summary->stack_stats = late_stacks_stats(session->late);
	summary->remote_reads = session->remote_reads;
	session_own_cpu_ns(&summary->own_user_ns, &summary->own_system_ns);
	summary->startup_user_ns = session->startup_user_ns;
	summary->startup_system_ns = session->startup_system_ns;
	getrusage(RUSAGE_SELF, &usage);
	summary->own_peak_rss_bytes = (u64)usage.ru_maxrss << 10;
	summary->stop_reason = stop_text(session->stop);
	summary->argc = session->options->argc;
	summary->argv = session->options->full_argv;
	summary->strict = session->options->strict;
	summary->strict_percent = session->options->strict_percent;
	summary->with_stats = session->options->stats;
}

/* One write, so that a line of the command's cannot get in between. */
void session_print_stats(struct session *session, u64 now)
{
	u64 interval_ns = session->options->stats_interval_ns;
	char elapsed[CLOCK_DURATION_SZ];
	struct summary summary;
	char *text = NULL;
	size_t sz;
	FILE *out;

	if (!session->stats_ns)
		session->stats_ns = session->started_ns;
	if (!interval_ns || !session->started_ns || now - session->stats_ns < interval_ns)
		return;
	session->stats_ns = now;
	session_summarize(session, &summary);
	out = open_memstream(&text, &sz);
	if (!out)
		return;
	fprintf(out, "\nAfter %s:\n", clock_format_duration(elapsed, sizeof(elapsed), summary.duration_ns));
	stats_table_print(out, &summary, log_use_color());
	if (!fclose(out))
		log_block(text);
	free(text);
}
