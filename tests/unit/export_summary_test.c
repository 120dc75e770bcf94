/* SPDX-License-Identifier: Apache-2.0 */
/* A small profile over a made-up /proc; the JSON is compared with tests/golden/summary.json byte by byte.
 * To write that anew: PANOPY_UPDATE_GOLDEN=1, then read the difference.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "export/summary_json.h"
#include "temp_folder.h"

struct fixture {
	char root[64];
	struct process_table *table;
	struct profile *profile;
	struct summary_process processes[2];
	struct code_cache_stats codes;
	struct summary summary;
};

static char *ARGV[] = {"panopy", "record", "-d", "10", "--strict=0.5"};

static void make_process(const char *root, int pid, int ns_pid, const char *comm, const char *cmdline,
			 size_t cmdline_sz)
{
	char text[512];
	int sz;

	sz = snprintf(text, sizeof(text),
		      "%d (%s) S 1 1 1 0 -1 0 0 0 0 0 10 5 0 0 20 0 1 0 %d 0 0 0 0 0 0 0 0 0 0 0 0\n", pid,
		      comm, pid * 10);
	temp_folder_put_process(root, pid, "stat", text, (size_t)sz);
	temp_folder_put_process(root, pid, "cgroup", "", 0);
	sz = snprintf(text, sizeof(text), "Name:\t%s\nPPid:\t1\nUid:\t0\t0\t0\t0\nNSpid:\t%d\t%d\n", comm,
		      pid, ns_pid);
	temp_folder_put_process(root, pid, "status", text, (size_t)sz);
	temp_folder_put_process(root, pid, "cmdline", cmdline, cmdline_sz);
}

static u32 intern(struct profile *profile, const char *qualname, const char *file, int line)
{
	struct frame_table *frames = profile_frames(profile);
	struct frame frame = {.line = line};
	u32 id;

	assert_int_equal(string_table_intern(frame_table_strings(frames), qualname, strlen(qualname),
					     &frame.qualname_id),
			 0);
	assert_int_equal(string_table_intern(frame_table_strings(frames), file, strlen(file), &frame.file_id),
			 0);
	assert_int_equal(frame_table_intern(frames, &frame, &id), 0);
	return id;
}

static void add_samples(struct profile *profile, u32 process_id, int cnt, enum sample_status status,
			enum sample_reason reason, u32 leaf, u32 unnamed)
{
	struct profile_sample sample = {
		.process_id = process_id,
		.tid = 100 + process_id,
		.thread_comm = "worker",
		.weight_ns = 10 * CLOCK_NS_PER_MS,
		.status = status,
		.reason = reason,
		.unnamed_cnt = unnamed,
		.lineless_cnt = status == SAMPLE_LATE ? 3 : 0,
		.frame_ids = &leaf,
		.frame_cnt = status == SAMPLE_NONE ? 0 : 1,
	};

	for (int i = 0; i < cnt; i++)
		assert_int_equal(profile_add(profile, &sample, NULL), 0);
}

static void fill_summary(struct fixture *fixture)
{
	struct summary *summary = &fixture->summary;

	*summary = (struct summary){
		.profile = fixture->profile,
		.processes_table = fixture->table,
		.processes = fixture->processes,
		.process_cnt = 2,
		.code_stats = &fixture->codes,
		.start_real_ns = 1700000000 * CLOCK_NS_PER_S,
		.duration_ns = 10 * CLOCK_NS_PER_S,
		.startup_ns = 80 * CLOCK_NS_PER_MS,
		.period_ns = 10 * CLOCK_NS_PER_MS,
		.own_user_ns = 30 * CLOCK_NS_PER_MS,
		.own_system_ns = 20 * CLOCK_NS_PER_MS,
		.own_peak_rss_bytes = 12345678,
		.stop_reason = "duration",
		.output_path = "out\x1b.folded",
		.split_path = "parts",
		.split_cnt = 2,
		.format = "folded",
		.argc = 5,
		.argv = ARGV,
		.strict = true,
		.strict_percent = 0.5,
	};
	summary->bpf_stats[BPF_STAT_TICKS] = 990;
	summary->bpf_stats[BPF_STAT_TICKS_NOT_DELIVERED] = 7;
	summary->bpf_stats[BPF_STAT_TICKS_STOLEN] = 3;
	summary->bpf_stats[BPF_STAT_TICKS_WEIGHTLESS] = 2;
	summary->bpf_stats[BPF_STAT_SAMPLES] = 100;
	summary->bpf_stats[BPF_STAT_SAMPLES_DROPPED] = 3;
	summary->bpf_stats[BPF_STAT_RUN_NS] = 500000;
	summary->bpf_stats[BPF_STAT_RESUME_NS] = 200000;
	summary->bpf_stats[BPF_STAT_SAMPLE_NS] = 250000;
	summary->losses[SUMMARY_LOSS_RECORD_INVALID] = 1;
}

static const struct container WEB_CONTAINER = {
	.runtime = CONTAINER_RUNTIME_CONTAINERD,
	.id = "3f2a9c0d5b7e41688a1c2d3e4f5061728394a5b6c7d8e9f00112233445566778",
	.name = "app",
	.name_source = "containerd",
	.pod_uid = "2f0e5f0c-1234-4b1c-9d1e-0a1b2c3d4e5f",
	.pod_namespace = "sh\x1bop",
	.pod_name = "web-7f",
};

static int set_up(void **state)
{
	static const char WEB[] = "python3\0web\n.py";
	static const char OLD[] = "python3.6\0-m\0old";
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct process *process;
	u32 hot;
	u32 cold;

	snprintf(fixture->root, sizeof(fixture->root), "/tmp/panopy-summary-XXXXXX");
	assert_non_null(mkdtemp(fixture->root));
	make_process(fixture->root, 4000, 7, "python3", WEB, sizeof(WEB));
	make_process(fixture->root, 4001, 4001, "python3.6", OLD, sizeof(OLD));
	assert_int_equal(process_table_new_at(&fixture->table, 16, fixture->root, NULL), 0);
	assert_int_equal(process_table_add(fixture->table, 4000, &process), 0);
	process->cpu_start_ns = CLOCK_NS_PER_S;
	process->cpu_end_ns = 2 * CLOCK_NS_PER_S;
	fixture->processes[0] = (struct summary_process){
		.process_id = process->id, .version = 0x030d01f0, .selected = true, .outside_ticks = 50};
	process->container = &WEB_CONTAINER;
	assert_int_equal(process_table_add(fixture->table, 4001, &process), 0);
	fixture->processes[1] = (struct summary_process){
		.process_id = process->id, .version = 0x03060ff0, .refusal = PY_REFUSAL_VERSION_TOO_OLD};
	assert_int_equal(profile_new(&fixture->profile, &(struct profile_config){0}), 0);
	hot = intern(fixture->profile, "Server.handle", "/srv/web/server.py", 12);
	cold = intern(fixture->profile, "<lambda>\n", "/srv/web/\xff.py", 3);
	add_samples(fixture->profile, 0, 60, SAMPLE_EXACT, SAMPLE_REASON_NONE, hot, 0);
	add_samples(fixture->profile, 0, 20, SAMPLE_COMPLETED, SAMPLE_REASON_NONE, cold, 0);
	add_samples(fixture->profile, 0, 2, SAMPLE_LATE, SAMPLE_REASON_BUDGET, cold, 0);
	add_samples(fixture->profile, 0, 3, SAMPLE_TRUNCATED, SAMPLE_REASON_CYCLE, cold, 0);
	add_samples(fixture->profile, 0, 1, SAMPLE_EXACT, SAMPLE_REASON_NONE, FRAME_ID_UNNAMED, 1);
	add_samples(fixture->profile, 0, 14, SAMPLE_NONE, SAMPLE_REASON_NO_FRAMES, 0, 0);
	fixture->codes = (struct code_cache_stats){.codes = 2, .hits = 84, .misses = 2};
	fill_summary(fixture);
	*state = fixture;
	return 0;
}

static void remove_process(const char *root, int pid)
{
	static const char *const NAMES[] = {"/stat", "/status", "/cmdline", "/cgroup", ""};
	char path[128];

	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
		snprintf(path, sizeof(path), "%s/%d%s", root, pid, NAMES[i]);
		remove(path);
	}
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	profile_free(fixture->profile);
	process_table_free(fixture->table);
	remove_process(fixture->root, 4000);
	remove_process(fixture->root, 4001);
	rmdir(fixture->root);
	free(fixture);
	return 0;
}

static void test_numbers(void **state)
{
	struct fixture *fixture = *state;
	struct summary *summary = &fixture->summary;

	assert_int_equal(summary_lost_samples(summary->bpf_stats, summary->losses), 4);
	/* 4 lost, 2 late, 3 truncated and 1 unnamed of 104 that fired. */
	assert_true(summary_bad_percent(summary) > 9.615 && summary_bad_percent(summary) < 9.616);
	/* 4 truncated ones have an unnamed frame as well. */
	add_samples(fixture->profile, 0, 4, SAMPLE_TRUNCATED, SAMPLE_REASON_CYCLE, FRAME_ID_UNNAMED, 1);
	assert_true(summary_bad_percent(summary) > 12.962 && summary_bad_percent(summary) < 12.963);
	/* Nor has a frame that found no room a name. */
	add_samples(fixture->profile, 0, 2, SAMPLE_EXACT, SAMPLE_REASON_NONE, FRAME_ID_FOLDED, 0);
	assert_true(summary_bad_percent(summary) > 14.545 && summary_bad_percent(summary) < 14.546);
	/* Whatever a sample was lost to. */
	summary->losses[SUMMARY_LOSS_PROCESS_UNKNOWN] = 10;
	summary->losses[SUMMARY_LOSS_STACK_UNKNOWN] = 100;
	summary->losses[SUMMARY_LOSS_NO_MEMORY] = 1000;
	assert_int_equal(summary_lost_samples(summary->bpf_stats, summary->losses), 1114);
	assert_true(summary_achieved_hz(summary) == 99);
	summary->bpf_stats[BPF_STAT_TICKS] = 0;
	summary->bpf_stats[BPF_STAT_TICKS_NOT_DELIVERED] = 0;
	summary->bpf_stats[BPF_STAT_TICKS_STOLEN] = 0;
	assert_true(summary_achieved_hz(summary) == 100);
}

static void test_empty(void **state)
{
	struct fixture *fixture = *state;
	struct profile *profile;
	struct summary empty;
	char *text = NULL;
	size_t sz;
	FILE *out;

	assert_int_equal(profile_new(&profile, &(struct profile_config){0}), 0);
	empty = (struct summary){.profile = profile,
				 .processes_table = fixture->table,
				 .period_ns = 10101010,
				 .duration_ns = CLOCK_NS_PER_S};
	assert_true(summary_bad_percent(&empty) == 0);
	out = open_memstream(&text, &sz);
	summary_print(out, &empty, false);
	fclose(out);
	assert_non_null(strstr(text, "0 samples of 0 processes"));
	assert_non_null(strstr(text, "nothing lost"));
	assert_null(strstr(text, "wrote"));
	free(text);
	assert_int_equal(summary_json_format(&text, &empty), 0);
	free(text);
	profile_free(profile);
}

static void test_text(void **state)
{
	static const char *const PIECES[] = {
		"100 samples of 1 process, 1 thread in 10.0 s (1.00 s of CPU time)",
		"rate: 100 Hz asked, 99 Hz achieved",
		"own CPU: 30.0 ms user, 20.0 ms system, 700 us sampler (0.50 % of one CPU)\n",
		"             2    2.000 %  late: frame budget\n",
		"truncated: cycle",
		"no python frame: no frames",
		"with an unnamed frame",
		"             2    2.000 %  with a frame whose line is not known",
		"samples lost because the ring buffer was full",
		"ring records that made no sense",
		"  not delivered (",
		"4000  3.13.1             100     1.00 s     14.0 %  python3 web\\x0a.py",
		"selected for a part of the time: 500 ms of CPU time were outside",
		"not profiled: ",
		"Server.handle (/srv/web/server.py)",
		"<lambda>\\x0a (/srv/web/\\xff.py)",
		"strict: 9.615 % of the samples",
		"0.5 % allowed",
		"wrote out\\x1b.folded\nopen it with ",
	};
	struct fixture *fixture = *state;
	char *text = NULL;
	size_t sz;
	FILE *out = open_memstream(&text, &sz);

	summary_print(out, &fixture->summary, false);
	fclose(out);
	for (size_t i = 0; i < sizeof(PIECES) / sizeof(PIECES[0]); i++)
		if (!strstr(text, PIECES[i]))
			fail_msg("'%s' is not in:\n%s", PIECES[i], text);
	assert_null(strchr(text, '\x1b'));
	assert_null(strstr(text, "nothing lost"));
	free(text);
}

static void test_golden_json(void **state)
{
	const char *path = PANOPY_SOURCE_DIR "/tests/golden/summary.json";
	struct fixture *fixture = *state;
	char expected[16384];
	char *text;
	FILE *file;
	size_t got;

	assert_int_equal(summary_json_format(&text, &fixture->summary), 0);
	if (getenv("PANOPY_UPDATE_GOLDEN")) {
		file = fopen(path, "w");
		assert_non_null(file);
		assert_true(fputs(text, file) >= 0);
		fclose(file);
	}
	file = fopen(path, "r");
	assert_non_null(file);
	got = fread(expected, 1, sizeof(expected) - 1, file);
	fclose(file);
	expected[got] = '\0';
	/* All but the first key, which is panopy's version. */
	assert_non_null(strstr(text, "\"format_version\""));
	assert_string_equal(strstr(text, "\"format_version\""), strstr(expected, "\"format_version\""));
	free(text);
}

static void test_write_fails(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(summary_json_write("/nonexistent/folder/summary.json", &fixture->summary), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_numbers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_empty, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_text, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_golden_json, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_write_fails, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
