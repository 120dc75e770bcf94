/* SPDX-License-Identifier: Apache-2.0 */
/* What ps, doctor and the progress line print, from injected values. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "base/clock.h"
#include "base/printable.h"
#include "doctor_report.h"
#include "kernel/features.h"
#include "progress.h"
#include "ps_table.h"

#define HASH "3f2a9c0d5b7e41688a1c2d3e4f5061728394a5b6c7d8e9f00112233445566778"

static const struct container UNNAMED = {.runtime = CONTAINER_RUNTIME_DOCKER, .id = HASH};
static const struct container IN_POD = {
	.runtime = CONTAINER_RUNTIME_CONTAINERD,
	.id = HASH,
	.name = "app",
	.name_source = "containerd",
	.pod_uid = "2f0e5f0c-1234-4b1c-9d1e-0a1b2c3d4e5f",
	.pod_namespace = "a-rather-long-namespace",
	.pod_name = "we\x1b-7f",
};

static char CGROUP[] = "/docker/" HASH;

static struct process OWN = {
	.pid = 1234, .ns_pid = 1234, .uid = 1000, .comm = "python3", .command = "python3 app.py"};
static struct process BOXED = {
	.pid = 77777, .ns_pid = 12, .uid = 0, .comm = "gun\x1bi", .command = "gunicorn main:app --workers 4"};
static struct process HIDDEN = {.pid = 9, .uid = 5, .comm = "python3", .command = "python3 -m secret"};

static void make_rows(struct ps_row rows[3])
{
	memset(rows, 0, 3 * sizeof(rows[0]));
	rows[0] = (struct ps_row){.process = &OWN, .thread_cnt = 3, .user = "alice"};
	rows[0].runtime = (struct py_runtime){.version = 0x030d01f0, .path = "/usr/bin/python3.13"};
	rows[1] = (struct ps_row){.process = &BOXED, .thread_cnt = 12, .user = "root"};
	rows[1].runtime =
		(struct py_runtime){.version = 0x030e00b2,
				    .prerelease = true,
				    .refusal = PY_REFUSAL_LAYOUT_UNKNOWN,
				    .free_threaded = true,
				    .shared = true,
				    .debug = true,
				    .musl = true,
				    .path = "/opt/a/rather/long/folder/name/lib/libpython3.14td.so.1.0"};
	rows[2] = (struct ps_row){.process = &HIDDEN, .unreadable = true, .user = "games"};
}

static char *print_rows(const struct ps_listing *listing, int width, bool json)
{
	char *text = NULL;
	size_t sz;
	FILE *out = open_memstream(&text, &sz);

	if (json)
		assert_int_equal(ps_table_print_json(out, listing), 0);
	else
		ps_table_print(out, listing, width);
	fclose(out);
	return text;
}

static void test_ps_piped(void **state)
{
	struct ps_row rows[3];
	struct ps_listing listing = {.rows = rows, .cnt = 3};
	char *text;

	make_rows(rows);
	text = print_rows(&listing, 0, false);
	/* Columns widen with the longest path: compare the words, not the padding. */
	assert_non_null(strstr(text, "  PID  NSPID  USER   VERSION   BUILD"));
	assert_null(strstr(text, "CONTAINER"));
	assert_non_null(strstr(text, " 1234         alice  3.13.1    GIL static"));
	assert_non_null(strstr(text, "77777     12  root   3.14.0b2  free-threaded shared debug musl"));
	assert_non_null(strstr(text, "/opt/a/rather/long/folder/name/lib/libpython3.14td.so.1.0  gunicorn "
				     "main:app --workers 4\n"));
	assert_non_null(strstr(text, "no: unreadable"));
	assert_non_null(strstr(text, "\nunreadable: "));
	assert_non_null(strstr(text, py_refusal_text(PY_REFUSAL_LAYOUT_UNKNOWN)));
	free(text);
}

static void test_ps_fits_terminal(void **state)
{
	struct ps_row rows[3];
	struct ps_listing listing = {.rows = rows, .cnt = 3};
	char *text;
	char *rest;
	char *line;
	int lines = 0;

	make_rows(rows);
	text = print_rows(&listing, 100, false);
	assert_null(strstr(text, "INTERPRETER"));
	assert_non_null(strstr(text, "COMMAND"));
	free(text);
	text = print_rows(&listing, 80, false);
	assert_null(strstr(text, "BUILD"));
	assert_non_null(strstr(text, "gunicorn main:app --"));
	free(text);
	text = print_rows(&listing, 125, false);
	assert_non_null(strstr(text, "BUILD"));
	assert_null(strstr(text, "/opt/a/"));
	assert_non_null(strstr(text, "..."));
	rest = text;
	while ((line = strsep(&rest, "\n")) && *line) {
		assert_true(printable_columns(line) <= 125);
		lines++;
	}
	assert_int_equal(lines, 4);
	free(text);
}

static void test_ps_no_namespace_column(void **state)
{
	struct ps_row rows[3];
	struct ps_listing listing = {.rows = rows, .cnt = 1};
	char *text;

	make_rows(rows);
	text = print_rows(&listing, 0, false);
	assert_null(strstr(text, "NSPID"));
	assert_null(strstr(text, "unreadable"));
	free(text);
}

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	if (!json_object_object_get_ex(object, key, &value))
		fail_msg("no key %s", key);
	return value;
}

static void test_ps_json(void **state)
{
	struct ps_row rows[3];
	struct ps_listing listing = {.rows = rows, .cnt = 3, .unreadable_cnt = 4};
	struct json_object *root;
	struct json_object *list;
	struct json_object *row;
	char *text;

	make_rows(rows);
	text = print_rows(&listing, 0, true);
	root = json_tokener_parse(text);
	assert_non_null(root);
	list = member(root, "processes");
	assert_int_equal(json_object_array_length(list), 3);
	assert_int_equal(json_object_get_int(member(root, "unreadable")), 4);
	row = json_object_array_get_idx(list, 0);
	assert_int_equal(json_object_get_int(member(row, "pid")), 1234);
	assert_string_equal(json_object_get_string(member(row, "version")), "3.13.1");
	assert_true(json_object_get_boolean(member(row, "profilable")));
	assert_false(json_object_get_boolean(member(row, "musl")));
	assert_false(json_object_get_boolean(member(row, "prerelease")));
	assert_null(member(row, "refusal"));
	row = json_object_array_get_idx(list, 1);
	assert_int_equal(json_object_get_int(member(row, "namespace_pid")), 12);
	assert_string_equal(json_object_get_string(member(row, "comm")), "gun\\x1bi");
	assert_true(json_object_get_boolean(member(row, "free_threaded")));
	assert_true(json_object_get_boolean(member(row, "musl")));
	assert_true(json_object_get_boolean(member(row, "prerelease")));
	assert_string_equal(json_object_get_string(member(row, "refusal")),
			    py_refusal_name(PY_REFUSAL_LAYOUT_UNKNOWN));
	row = json_object_array_get_idx(list, 2);
	assert_null(member(row, "version"));
	assert_null(member(row, "shared"));
	assert_false(json_object_get_boolean(member(row, "profilable")));
	json_object_put(root);
	free(text);
}

static void test_ps_containers(void **state)
{
	struct ps_row rows[3];
	struct ps_listing listing = {.rows = rows, .cnt = 3};
	struct process boxed = BOXED, in_pod = OWN;
	struct json_object *root, *row;
	char *text;

	make_rows(rows);
	boxed.container = &UNNAMED;
	boxed.cgroup = CGROUP;
	in_pod.container = &IN_POD;
	rows[0].process = &in_pod;
	rows[1].process = &boxed;
	text = print_rows(&listing, 0, false);
	assert_non_null(strstr(text, "  USER   CONTAINER "));
	assert_non_null(strstr(text, " root   3f2a9c0d5b7e  "));
	assert_non_null(strstr(text, " alice  a-rather-long-namespace/we\\x1b-7f/app  3.13.1"));
	free(text);
	/* On a terminal the end of a long name is worth more. */
	text = print_rows(&listing, 200, false);
	assert_non_null(strstr(text, " ...-long-namespace/we\\x1b-7f/app  "));
	free(text);
	text = print_rows(&listing, 0, true);
	root = json_tokener_parse(text);
	row = json_object_array_get_idx(member(root, "processes"), 1);
	assert_string_equal(json_object_get_string(member(row, "cgroup")), CGROUP);
	assert_string_equal(json_object_get_string(member(member(row, "container"), "id")), HASH);
	assert_null(member(member(row, "container"), "name"));
	assert_string_equal(json_object_get_string(member(member(row, "container"), "runtime")), "docker");
	assert_null(member(row, "pod"));
	row = json_object_array_get_idx(member(root, "processes"), 0);
	assert_string_equal(json_object_get_string(member(member(row, "container"), "named_by")),
			    "containerd");
	assert_string_equal(json_object_get_string(member(member(row, "pod"), "name")), "we\\x1b-7f");
	row = json_object_array_get_idx(member(root, "processes"), 2);
	assert_null(member(row, "container"));
	assert_null(member(row, "cgroup"));
	json_object_put(root);
	free(text);
}

static void make_features(struct features *features)
{
	*features = (struct features){0};
	for (int id = 0; id < FEATURE_COUNT; id++)
		features->results[id].state = FEATURE_STATE_PRESENT;
}

static void set_missing(struct features *features, enum feature_id id, bool denied, const char *detail)
{
	features->results[id].state = FEATURE_STATE_MISSING;
	features->results[id].denied = denied;
	snprintf(features->results[id].detail, FEATURE_DETAIL_SZ, "%s", detail);
}

static void test_check_essential(void **state)
{
	struct features features = {0};
	char message[512];

	/* Not probed is no reason to refuse. */
	assert_int_equal(features_check_essential(&features, message, sizeof(message)), EXIT_CODE_OK);
	make_features(&features);
	set_missing(&features, FEATURE_MAP_FILES, false, "");
	set_missing(&features, FEATURE_TASK_WORK, false, "");
	assert_int_equal(features_check_essential(&features, message, sizeof(message)), EXIT_CODE_OK);

	set_missing(&features, FEATURE_RING_BUFFER, false, "Invalid argument");
	assert_int_equal(features_check_essential(&features, message, sizeof(message)), EXIT_CODE_KERNEL);
	assert_non_null(strstr(message, "ring buffers"));
	assert_non_null(strstr(message, features_info(FEATURE_RING_BUFFER)->fix));

	/* A kernel part that may not be tried is a matter of privilege. */
	set_missing(&features, FEATURE_RING_BUFFER, true, "Operation not permitted");
	assert_int_equal(features_check_essential(&features, message, sizeof(message)), EXIT_CODE_PRIVILEGE);
	assert_non_null(strstr(message, "not permitted"));

	/* And missing capabilities come first, all of them. */
	set_missing(&features, FEATURE_CAP_BPF, false, "not in the effective set");
	set_missing(&features, FEATURE_CAP_PERFMON, false, "not in the effective set");
	assert_int_equal(features_check_essential(&features, message, sizeof(message)), EXIT_CODE_PRIVILEGE);
	assert_non_null(strstr(message, "CAP_BPF, CAP_PERFMON"));
	assert_non_null(strstr(message, "sudo"));
}

/* Every feature must tell what is lost and what to do, but for those that only inform. */
static void test_feature_table(void **state)
{
	struct features features;

	features_probe_all(&features, 99);
	for (int id = 0; id < FEATURE_COUNT; id++) {
		const struct feature_info *info = features_info(id);

		assert_true(info->name && *info->name && info->title && *info->title);
		assert_int_not_equal(features.results[id].state, FEATURE_STATE_UNPROBED);
		if (features.results[id].state != FEATURE_STATE_INFO)
			assert_true(*info->lost && *info->fix);
		for (int other = 0; other < id; other++)
			assert_string_not_equal(info->name, features_info(other)->name);
	}
}

static void test_doctor(void **state)
{
	struct features features;
	struct json_object *root;
	char *text = NULL;
	size_t sz;
	FILE *out;

	make_features(&features);
	set_missing(&features, FEATURE_TASK_WORK, false, "");
	out = open_memstream(&text, &sz);
	doctor_report_print(out, &features, false);
	fclose(out);
	assert_non_null(strstr(text, "missing   BPF task work"));
	assert_non_null(strstr(text, "fix: use a newer kernel"));
	assert_non_null(strstr(text, "panopy record can run here."));
	assert_null(strchr(text, '\x1b'));
	free(text);

	set_missing(&features, FEATURE_KERNEL_BTF, false, "gone");
	out = open_memstream(&text, &sz);
	assert_int_equal(doctor_report_print_json(out, &features), 0);
	fclose(out);
	root = json_tokener_parse(text);
	assert_non_null(root);
	assert_false(json_object_get_boolean(member(root, "can_record")));
	assert_int_equal(json_object_get_int(member(root, "exit_status")), EXIT_CODE_KERNEL);
	assert_int_equal(json_object_array_length(member(root, "features")), FEATURE_COUNT);
	json_object_put(root);
	free(text);
}

static void test_progress(void **state)
{
	struct progress_values values = {
		.elapsed_ns = 3 * CLOCK_NS_PER_S,
		.running_ns = 4 * CLOCK_NS_PER_S,
		.duration_ns = 10 * CLOCK_NS_PER_S,
		.processes = 1,
		.threads = 5,
		.samples = 1500,
		.lost = 2,
		.own_cpu_ns = 40 * CLOCK_NS_PER_MS,
	};
	char buf[160];

	assert_string_equal(progress_format(buf, sizeof(buf), &values),
			    "3/10 s  1 process  5 threads  1500 samples  2 lost  own CPU 1.0 %");
	values.elapsed_ns = 40 * CLOCK_NS_PER_MS;
	assert_string_equal(progress_format(buf, sizeof(buf), &values),
			    "0/10 s  1 process  5 threads  1500 samples  2 lost");
	values.duration_ns = 0;
	assert_non_null(strstr(progress_format(buf, sizeof(buf), &values), "Ctrl-C"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ps_piped),
		cmocka_unit_test(test_ps_fits_terminal),
		cmocka_unit_test(test_ps_no_namespace_column),
		cmocka_unit_test(test_ps_json),
		cmocka_unit_test(test_ps_containers),
		cmocka_unit_test(test_check_essential),
		cmocka_unit_test(test_feature_table),
		cmocka_unit_test(test_doctor),
		cmocka_unit_test(test_progress),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
