/* SPDX-License-Identifier: Apache-2.0 */
/* The rules that need no cgroup; those that do are tried by the end-to-end tests, on real ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/edit_distance.h"
#include "selection.h"

static struct process PROCESS = {
	.pid = 1,
	.uid = 1000,
	.comm = "python3",
	.command = (char *)"python3 /srv/app/worker.py",
	.subject = (char *)"/srv/app/worker.py",
	.exe = (char *)"/usr/bin/python3.12 (deleted)",
};
static const struct py_runtime RUNTIME = {.version = 0x030c04f0};

static struct selection *with(const char *const *values)
{
	struct selection *selection;
	char error[256];

	assert_int_equal(selection_new(&selection), 0);
	for (; *values; values++) {
		const char *equals = strchr(*values, '=');
		enum selection_kind kind = 0;

		if ((*values)[0] == '!') {
			assert_int_equal(selection_exclude(selection, *values + 1, error, sizeof(error)), 0);
			continue;
		}
		while (strncmp(selection_kind_name(kind), *values, (size_t)(equals - *values)) != 0)
			kind++;
		assert_int_equal(selection_add(selection, kind, false, equals + 1, error, sizeof(error)), 0);
	}
	return selection;
}

#define WITH(...) with((const char *const[]){__VA_ARGS__, NULL})

static void expect_of(const struct process *process, struct selection *selection,
		      enum selection_verdict verdict)
{
	assert_int_equal(selection_judge(selection, process, &RUNTIME, false), verdict);
	selection_free(selection);
}

static void expect_for_good(const struct process *process, struct selection *selection,
			    enum selection_verdict verdict)
{
	assert_int_equal(selection_judge(selection, process, &RUNTIME, true), verdict);
	selection_free(selection);
}

static void expect(struct selection *selection, enum selection_verdict verdict)
{
	expect_of(&PROCESS, selection, verdict);
}

static void test_empty(void **state)
{
	struct selection *selection;

	assert_true(selection_is_empty(NULL));
	assert_int_equal(selection_judge(NULL, &PROCESS, &RUNTIME, false), SELECTION_ACCEPTED);
	assert_true(selection_holds(NULL, &PROCESS));
	assert_int_equal(selection_new(&selection), 0);
	assert_true(selection_is_empty(selection));
	expect(selection, SELECTION_ACCEPTED);
}

static void test_names(void **state)
{
	expect(WITH("name=worker"), SELECTION_ACCEPTED);
	expect(WITH("name=^worker[.]py$"), SELECTION_ACCEPTED);
	expect(WITH("name=^/srv/.*/worker"), SELECTION_ACCEPTED);
	expect(WITH("name=^python3$"), SELECTION_ACCEPTED);
	expect(WITH("name=(web|worker)"), SELECTION_ACCEPTED);
	expect(WITH("name=web"), SELECTION_REFUSED);
	expect(WITH("name=Worker"), SELECTION_REFUSED);
	expect(WITH("name=web", "name=work"), SELECTION_ACCEPTED);
	expect(WITH("!name=work"), SELECTION_REFUSED);
	expect(WITH("!name=web"), SELECTION_ACCEPTED);
}

/* Arguments that are not there yet decide nothing, unless the name alone excludes. */
static void test_undecided(void **state)
{
	struct process early = PROCESS;

	early.subject = NULL;
	expect_of(&early, WITH("name=work"), SELECTION_UNDECIDED);
	expect_of(&early, WITH("name=work", "python=3.11"), SELECTION_REFUSED);
	expect_of(&early, WITH("name=python", "name=work"), SELECTION_ACCEPTED);
	expect_of(&early, WITH("name=python", "!name=work"), SELECTION_UNDECIDED);
	expect_of(&early, WITH("!name=work"), SELECTION_UNDECIDED);
	expect_of(&early, WITH("exe=python*"), SELECTION_ACCEPTED);
	expect_of(&early, WITH("!name=python3"), SELECTION_REFUSED);
}

static void test_executables(void **state)
{
	expect(WITH("exe=python3.12"), SELECTION_ACCEPTED);
	expect(WITH("exe=python3.?2"), SELECTION_ACCEPTED);
	expect(WITH("exe=/usr/*"), SELECTION_ACCEPTED);
	expect(WITH("exe=/usr/bin/python3.12"), SELECTION_ACCEPTED);
	expect(WITH("exe=python"), SELECTION_REFUSED);
	expect(WITH("exe=/opt/*"), SELECTION_REFUSED);
	expect(WITH("!exe=/usr/*"), SELECTION_REFUSED);
}

static void test_versions(void **state)
{
	static const struct {
		const char *text;
		bool accepts;
	} CASES[] = {
		{"python=3.12", true},		 {"python=3.12+", true},      {"python=3.11+", true},
		{"python=3.13+", false},	 {"python=3.11", false},      {"python=3.11-3.13", true},
		{"python=3.11-3.12", true},	 {"python=3.13-3.15", false}, {"python=3.12.4", true},
		{"python=3.12.5", false},	 {"python=3.12.5+", false},   {"python=3.12.0-3.12.4", true},
		{"python=3.12.0-3.12.3", false},
	};

	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++)
		expect(WITH(CASES[i].text), CASES[i].accepts ? SELECTION_ACCEPTED : SELECTION_REFUSED);
}

static void test_kinds_are_anded(void **state)
{
	expect(WITH("name=worker", "exe=python*", "python=3.12"), SELECTION_ACCEPTED);
	expect(WITH("name=worker", "exe=python*", "python=3.11"), SELECTION_REFUSED);
	expect(WITH("name=worker", "name=web", "python=3.11", "python=3.12"), SELECTION_ACCEPTED);
	expect(WITH("name=worker", "!python=3.12"), SELECTION_REFUSED);
}

static void test_users(void **state)
{
	struct selection *selection = WITH("user=1000", "user=root", "!user=7");
	struct selection_config config;
	struct process other = PROCESS;

	assert_true(selection_holds(selection, &PROCESS));
	other.uid = 7;
	assert_false(selection_holds(selection, &other));
	other.uid = 1001;
	assert_false(selection_holds(selection, &other));
	selection_configure(selection, &config);
	assert_int_equal(config.user_cnt, 2);
	assert_int_equal(config.excluded_user_cnt, 1);
	assert_int_equal(config.users[0], 1000);
	assert_int_equal(config.users[1], 0);
	assert_int_equal(config.users[2], 7);
	assert_int_equal(config.cgroup_kinds, 0);
	selection_free(selection);
}

static void test_values_without_sense(void **state)
{
	static const struct {
		enum selection_kind kind;
		const char *value;
	} CASES[] = {
		{SELECTION_NAME, "("},		 {SELECTION_NAME, ""},
		{SELECTION_PYTHON, "3"},	 {SELECTION_PYTHON, "3.12.x"},
		{SELECTION_PYTHON, "3.13-3.12"}, {SELECTION_PYTHON, "3.12-"},
		{SELECTION_PYTHON, "3.999"},	 {SELECTION_PYTHON, "3.12++"},
		{SELECTION_PYTHON, "3."},	 {SELECTION_USER, "no-such-user"},
		{SELECTION_USER, "99999999999"}, {SELECTION_USER, "1x"},
		{SELECTION_CGROUP, "/a/../b"},	 {SELECTION_CGROUP, ".."},
		{SELECTION_UNIT, "a/b"},
	};
	static const char *const EXCLUSIONS[] = {"",   "root",	   "nobody=",	"user",
						 "=x", "use=root", "users=root"};
	struct selection *selection;
	char error[256];

	assert_int_equal(selection_new(&selection), 0);
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		error[0] = '\0';
		assert_int_equal(
			selection_add(selection, CASES[i].kind, false, CASES[i].value, error, sizeof(error)),
			-EINVAL);
		assert_true(error[0]);
	}
	for (size_t i = 0; i < sizeof(EXCLUSIONS) / sizeof(EXCLUSIONS[0]); i++)
		assert_int_equal(selection_exclude(selection, EXCLUSIONS[i], error, sizeof(error)), -EINVAL);
	assert_true(selection_is_empty(selection));
	selection_free(selection);
}

static void test_limits(void **state)
{
	struct selection *selection;
	char value[32], error[256];

	assert_int_equal(selection_new(&selection), 0);
	for (int i = 0; i <= LIMIT_SELECTION_USERS; i++) {
		snprintf(value, sizeof(value), "%d", i);
		assert_int_equal(selection_add(selection, SELECTION_USER, i % 2, value, error, sizeof(error)),
				 i < LIMIT_SELECTION_USERS ? 0 : -EINVAL);
	}
	for (int i = 0; i <= LIMIT_SELECTION_CGROUPS; i++) {
		assert_int_equal(
			selection_add(selection, SELECTION_CGROUP, false, "/x", error, sizeof(error)),
			i < LIMIT_SELECTION_CGROUPS ? 0 : -EINVAL);
	}
	selection_free(selection);
}

static void test_missing_cgroup(void **state)
{
	struct selection *selection = WITH("cgroup=/panopy-there/is/no-such\x1b[31m");
	char error[512];

	assert_int_equal(selection_resolve(selection, false, error, sizeof(error)), -ENOENT);
	assert_non_null(strstr(error, "there is no cgroup '/panopy-there/is/no-such\\x1b[31m'"));
	assert_null(strchr(error, '\x1b'));
	selection_free(selection);
	selection = WITH("cgroup=/panopy-there/is/no-such");
	assert_int_equal(selection_resolve(selection, true, error, sizeof(error)), 0);
	assert_false(selection_is_ready(selection));
	selection_free(selection);
}

static void test_names_of_units(void **state)
{
	static const char *const CASES[][2] = {
		{"unit=panopy-no", "'panopy-no.service'"},
		{"unit=panopy-8.2-no", "'panopy-8.2-no.service'"},
		{"unit=panopy-no.service", "'panopy-no.service'"},
		{"unit=panopy-no.scope", "'panopy-no.scope'"},
		{"unit=panopy-no.slice", "'panopy-no.slice'"},
		{"unit=panopy-no.socket", "'panopy-no.socket'"},
		{"unit=panopy-no.mounts", "'panopy-no.mounts.service'"},
		{"cgroup=/panopy-no//", "'/panopy-no'"},
		{"cgroup=panopy-no/", "'panopy-no'"},
	};
	char error[512];

	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		struct selection *selection = WITH(CASES[i][0]);

		assert_int_equal(selection_resolve(selection, false, error, sizeof(error)), -ENOENT);
		assert_non_null(strstr(error, CASES[i][1]));
		selection_free(selection);
	}
}

static void test_edit_distance(void **state)
{
	char longer[EDIT_DISTANCE_MAX + 2];

	assert_int_equal(edit_distance("", ""), 0);
	assert_int_equal(edit_distance("web", "web"), 0);
	assert_int_equal(edit_distance("web", "wbe"), 2);
	assert_int_equal(edit_distance("kitten", "sitting"), 3);
	assert_int_equal(edit_distance("", "abc"), 3);
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(edit_distance(longer, "x"), EDIT_DISTANCE_MAX);
}

/* Arguments that do not come: the name that it has decides. */
static void test_no_arguments(void **state)
{
	static const struct process process = {.comm = "python3", .exe = (char *)"/usr/bin/python3"};

	expect_of(&process, WITH("name=worker"), SELECTION_UNDECIDED);
	expect_for_good(&process, WITH("name=worker"), SELECTION_REFUSED);
	expect_for_good(&process, WITH("name=python"), SELECTION_ACCEPTED);
	expect_for_good(&process, WITH("!name=worker"), SELECTION_ACCEPTED);
	expect_for_good(&process, WITH("!name=python"), SELECTION_REFUSED);
	expect_for_good(&process, WITH("name=python", "!name=worker"), SELECTION_ACCEPTED);
	expect_for_good(&process, WITH("name=worker", "exe=python3"), SELECTION_REFUSED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_no_arguments),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_undecided),
		cmocka_unit_test(test_executables),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_kinds_are_anded),
		cmocka_unit_test(test_users),
		cmocka_unit_test(test_values_without_sense),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_missing_cgroup),
		cmocka_unit_test(test_names_of_units),
		cmocka_unit_test(test_edit_distance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
