/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "export/stats_table.h"

struct fixture {
	struct profile *profile;
	struct code_cache_stats codes;
	struct stack_stats stacks;
	struct summary summary;
};

static void add_samples(struct profile *profile, int cnt, enum sample_status status,
			enum sample_reason reason)
{
	struct profile_sample sample = {.tid = 1, .weight_ns = 1000, .status = status, .reason = reason};

	for (int i = 0; i < cnt; i++)
		assert_int_equal(profile_add(profile, &sample, NULL), 0);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct summary *summary = &fixture->summary;

	assert_int_equal(profile_new(&fixture->profile, &(struct profile_config){0}), 0);
	add_samples(fixture->profile, 1490, SAMPLE_EXACT, SAMPLE_REASON_NONE);
	add_samples(fixture->profile, 10, SAMPLE_TRUNCATED, SAMPLE_REASON_PAGE_FAULT);
	fixture->codes = (struct code_cache_stats){
		.codes = 7, .hits = 75, .misses = 25, .remote_reads = 3, .stale = 2, .evicted = 1};
	summary->profile = fixture->profile;
	summary->code_stats = &fixture->codes;
	fixture->stacks = (struct stack_stats){
		.hits = 6, .partial = 3, .misses = 1, .frames_read = 4000, .frames_reused = 1000};
	summary->stack_stats = &fixture->stacks;
	summary->remote_reads = (struct remote_mem_stats){20, 40, 30, 123456};
	summary->own_user_ns = 1500 * 400 + 7;
	summary->startup_user_ns = 7;
	summary->own_system_ns = 1500 * 900 + 8;
	summary->startup_system_ns = 8;
	summary->bpf_stats[BPF_STAT_SAMPLES] = 1600;
	summary->bpf_stats[BPF_STAT_REPEATS] = 1200;
	summary->bpf_stats[BPF_STAT_FRAMES] = 12000;
	summary->bpf_stats[BPF_STAT_RING_BYTES] = 160000;
	summary->bpf_stats[BPF_STAT_SAMPLE_NS] = 1600 * 1700;
	summary->sample_times[sample_time_bucket(1200)] = 980;
	summary->sample_times[sample_time_bucket(9000)] = 10;
	summary->sample_times[sample_time_bucket(70000)] = 10;
	summary->bpf_stats[BPF_STAT_WINDOW_READS] = 3200;
	summary->bpf_stats[BPF_STAT_FINGERPRINT_READS] = 800;
	summary->bpf_stats[BPF_STAT_SAMPLES_DROPPED] = 5;
	summary->losses[SUMMARY_LOSS_STACK_UNKNOWN] = 6;
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	profile_free(fixture->profile);
	free(fixture);
	return 0;
}

static const struct stats_row *find(const struct stats_row *rows, size_t cnt, const char *group,
				    const char *key)
{
	for (size_t i = 0; i < cnt; i++)
		if (!strcmp(rows[i].group, group) && !strcmp(rows[i].key, key))
			return &rows[i];
	fail_msg("there is no row %s.%s", group, key);
	return NULL;
}

static void test_sample_times(void **state)
{
	(void)state;
	assert_int_equal(sample_time_bucket(0), 0);
	assert_int_equal(sample_time_bucket(~0ULL), SAMPLE_TIME_BUCKETS - 1);
	for (u64 ns = 1; ns < 1u << 26; ns += 1 + ns / 97) {
		u32 bucket = sample_time_bucket(ns);

		assert_in_range(bucket, 0, SAMPLE_TIME_BUCKETS - 1);
		if (bucket < SAMPLE_TIME_BUCKETS - 1)
			assert_true(ns < sample_time_end(bucket));
		if (bucket)
			assert_true(ns >= sample_time_end(bucket - 1));
	}
}

static void test_values(void **state)
{
	static const struct {
		const char *group, *key;
		double value;
	} CASES[] = {
		{"samples", "all", 1500},
		{"samples", "exact", 100.0 * 1490 / 1500},
		{"stacks", "known", 75},
		{"stacks", "new", 25},
		{"frames", "kernel", 75},
		{"frames", "memory", 25},
		{"frames", "cache", 25},
		{"frame_cache", "hits", 60},
		{"frame_cache", "partial", 30},
		{"frame_cache", "misses", 10},
		{"code_objects", "hits", 75},
		{"code_objects", "misses", 25},
		{"code_objects", "stale", 2},
		{"code_objects", "evicted", 1},
		{"remote_reads", "calls", 20},
		{"remote_reads", "segments_read", 75},
		{"remote_reads", "bytes", 123456},
		{"per_sample", "ring_bytes", 100},
		{"per_sample", "kernel_ns", 1700},
		{"per_sample", "window_reads", 2},
		{"per_sample", "user_ns", 400},
		{"per_sample", "system_ns", 900},
		{"per_sample", "kernel_ns_p99", 10240},
		{"per_sample", "kernel_ns_worst", 81920},
		{"per_sample", "kernel_ns_median", 1280},
		{"losses", "page_fault", 10},
		{"losses", "samples_stack_unknown", 6},
		{"losses", "samples_dropped", 5},
		{"per_sample", "fingerprint_reads", 0.5},
	};
	struct fixture *fixture = *state;
	struct stats_row rows[STATS_MAX_ROWS];
	size_t cnt = stats_table_rows(&fixture->summary, rows);

	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		double value = stats_row_value(find(rows, cnt, CASES[i].group, CASES[i].key));

		if (value < CASES[i].value - 1e-9 || value > CASES[i].value + 1e-9)
			fail_msg("%s.%s: %f, not %f", CASES[i].group, CASES[i].key, value, CASES[i].value);
	}
}

static void test_keys_are_unique(void **state)
{
	struct fixture *fixture = *state;
	struct stats_row rows[STATS_MAX_ROWS];
	size_t cnt = stats_table_rows(&fixture->summary, rows);

	for (size_t i = 0; i < cnt; i++)
		assert_ptr_equal(find(rows, cnt, rows[i].group, rows[i].key), &rows[i]);
	/* A group is one run of rows: the JSON writes it once. */
	for (size_t i = 2; i < cnt; i++)
		for (size_t j = 0; j + 1 < i; j++)
			if (!strcmp(rows[i].group, rows[j].group))
				assert_string_equal(rows[i].group, rows[i - 1].group);
}

static char *print(const struct summary *summary)
{
	char *text = NULL;
	size_t sz;
	FILE *out = open_memstream(&text, &sz);

	stats_table_print(out, summary, false);
	fclose(out);
	return text;
}

static void test_table(void **state)
{
	static const char *const LINES[] = {
		"\nSamples\n         1,500             in the profile\n",
		"         1,490   99.333 %  exact\n",
		"\nStacks\n         1,200   75.000 %  seen before",
		"\nCode objects\n",
		"             6   60.000 %  stacks of which every frame was held\n",
		"         100.0             bytes in the ring buffers\n",
		"       1700 ns             in the kernel's sampler\n",
		"\nLosses\n             5             samples lost because the ring buffer was full\n",
		"            10             page fault\n",
	};
	struct fixture *fixture = *state;
	char *text = print(&fixture->summary);

	for (size_t i = 0; i < sizeof(LINES) / sizeof(LINES[0]); i++)
		if (!strstr(text, LINES[i]))
			fail_msg("'%s' is not in:\n%s", LINES[i], text);
	/* Statuses and losses of which there are none take no line. */
	assert_null(strstr(text, "  late\n"));
	assert_null(strstr(text, "made no sense"));
	free(text);
}

static void test_nothing_sampled(void **state)
{
	struct summary empty = {0};
	char *text;

	assert_int_equal(profile_new(&empty.profile, &(struct profile_config){0}), 0);
	text = print(&empty);
	assert_non_null(strstr(text, "             0    0.000 %  seen before"));
	assert_null(strstr(text, "nan"));
	assert_null(strstr(text, "Losses"));
	free(text);
	profile_free(empty.profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sample_times),
		cmocka_unit_test_setup_teardown(test_values, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_keys_are_unique, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_table, set_up, tear_down),
		cmocka_unit_test(test_nothing_sampled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
