/* SPDX-License-Identifier: Apache-2.0 */
/* What is searched for and learned, in folders that stand in for two hierarchies; the end-to-end tests have real
 * ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "cgroup_selection.h"
#include "temp_folder.h"

#define A    "3f2a9c0d5b7e41688a1c2d3e4f5061728394a5b6c7d8e9f00112233445566778"
#define B    "db0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcec"
#define C    "cafec0de00000000000000000000000000000000000000000000000000000000"
#define POD  "2f0e5f0c-1234-4b1c-9d1e-0a1b2c3d4e5f"
#define USER "user.slice/user@1000.service/"

enum { LATER_MS = 100 * 1000 };

static char root[] = "/tmp/panopy-cgroups-XXXXXX";
static bool v2_is_hidden, v1_is_v2;
static u64 now_ns;

static int read_hierarchies(struct cgroup_hierarchies *all)
{
	memset(all, 0, sizeof(*all));
	for (int i = v2_is_hidden; i < 2; i++) {
		struct cgroup_hierarchy *hierarchy = &all->list[all->cnt++];

		hierarchy->id = i ? 4 : 0;
		hierarchy->is_v2 = i == 0;
		strcpy(hierarchy->name, i ? "cpu" : "");
		strcpy(hierarchy->controller, i ? "cpu" : "");
		snprintf(hierarchy->mount, sizeof(hierarchy->mount), "%s/%s", root,
			 i && !v1_is_v2 ? "v1" : "v2");
		strcpy(hierarchy->root, "/");
	}
	return 0;
}

static void path_below(char ret_path[512], const char *name)
{
	snprintf(ret_path, 512, "%s/%s", root, name);
}

/* With the folders above it. */
static void make(const char *name)
{
	char path[512];

	path_below(path, name);
	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
		*slash = '/';
	}
	assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
}

static void drop(const char *name)
{
	char path[512];

	path_below(path, name);
	assert_int_equal(rmdir(path), 0);
}

static void put_state(const char *id, const char *name)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "state/var/lib/docker/containers/%s", id);
	make(path);
	snprintf(path, sizeof(path), "%s/state/var/lib/docker/containers/%s/config.v2.json", root, id);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "{\"ID\": \"%s\", \"Name\": \"/%s\"}", id, name);
	assert_int_equal(fclose(file), 0);
}

static int begin(void **state)
{
	strcpy(root, "/tmp/panopy-cgroups-XXXXXX");
	v2_is_hidden = false;
	v1_is_v2 = false;
	now_ns = clock_monotonic_ns();
	if (!mkdtemp(root))
		return -1;
	make("v1");
	make("v2");
	make("state");
	return 0;
}

static int end(void **state)
{
	return temp_folder_remove(root);
}

static int try_rules(struct cgroup_selection **ret_selection, const struct cgroup_rule *rules, size_t cnt)
{
	static char state[64];
	struct cgroup_selection_config config = {
		.rules = rules, .rule_cnt = cnt, .read_hierarchies = read_hierarchies, .state_root = state};

	snprintf(state, sizeof(state), "%s/state", root);
	return cgroup_selection_new(ret_selection, &config);
}

static struct cgroup_selection *with(const struct cgroup_rule *rules, size_t cnt)
{
	struct cgroup_selection *selection;

	assert_int_equal(try_rules(&selection, rules, cnt), 0);
	return selection;
}

static bool search(struct cgroup_selection *selection)
{
	now_ns += LATER_MS * CLOCK_NS_PER_MS;
	return cgroup_selection_refresh(selection, now_ns, false);
}

static bool has(const struct cgroup_selection *selection, const char *path)
{
	size_t cnt;
	const struct cgroup_slot *slots = cgroup_selection_slots(selection, &cnt);

	for (size_t i = 0; i < cnt; i++) {
		if (slots[i].path && strcmp(slots[i].path, path) == 0)
			return true;
	}
	return false;
}

static size_t live_cnt(const struct cgroup_selection *selection)
{
	size_t cnt, live = 0;
	const struct cgroup_slot *slots = cgroup_selection_slots(selection, &cnt);

	assert_true(cnt <= LIMIT_SELECTION_CGROUPS);
	for (size_t i = 0; i < cnt; i++)
		live += slots[i].path && access(slots[i].dir, F_OK) == 0;
	return live;
}

#define RULE(what, name)                                                                                     \
	{                                                                                                    \
		.kind = CGROUP_RULE_##what, .text = (char *)(name)                                           \
	}

/* What each rule means of what is there, the paths separated by spaces. */
static void test_meanings(void **state)
{
	static const char *const THERE[] = {
		"system.slice/web.service/custom.slice",
		"system.slice/web.service/docker-" C ".scope",
		"system.slice/web.service/other.service",
		"custom.slice/job.service",
		"docker/" A "/kubepods/pod" POD,
		"docker/" A "/system.slice/web.service",
		"docker/" A "/docker/" C,
		"docker/" B "/docker/" C,
		USER "kubepods/pod" POD "/docker-" A ".scope",
		USER "docker-" A ".scope",
		USER "app.slice/job.service",
		"kubepods/besteffort/pod" POD "/" C,
	};
	static const struct {
		struct cgroup_rule rule;
		const char *paths;
	} CASES[] = {
		{RULE(UNIT, "web.service"), "/system.slice/web.service"},
		{RULE(UNIT, "custom.slice"), "/custom.slice"},
		{RULE(UNIT, "other.service"), ""},
		{RULE(UNIT, "user@1000.service"), "/user.slice/user@1000.service"},
		{RULE(POD, POD), "/kubepods/besteffort/pod" POD},
		{RULE(CONTAINER, "app"), "/docker/" A},
		{RULE(CONTAINER, "3f2a"), "/docker/" A},
		{RULE(CONTAINER, "3f2"), ""},
		/* a name of two letters that an id begins with */
		{RULE(CONTAINER, "db"), ""},
		{RULE(CONTAINER, "db0b"), "/docker/" B},
		{RULE(CONTAINER, "db0b1b2b3b4b/cafe"), "/docker/" B "/docker/" C},
		{RULE(CONTAINER, "cafe"),
		 "/system.slice/web.service/docker-" C ".scope /kubepods/besteffort/pod" POD "/" C},
	};

	put_state(A, "app-1");
	for (size_t i = 0; i < sizeof(THERE) / sizeof(THERE[0]); i++) {
		char path[400];

		snprintf(path, sizeof(path), "v2/%s", THERE[i]);
		make(path);
	}
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		struct cgroup_selection *selection = with(&CASES[i].rule, 1);
		char paths[1024], *rest = paths, *path;
		size_t cnt = 0;

		strcpy(paths, CASES[i].paths);
		for (; (path = strsep(&rest, " ")) && *path; cnt++) {
			if (!has(selection, path))
				fail_msg("%s does not mean %s", CASES[i].rule.text, path);
		}
		if (live_cnt(selection) != cnt)
			fail_msg("%s means %zu cgroups, not %zu", CASES[i].rule.text, live_cnt(selection),
				 cnt);
		assert_int_equal(cgroup_selection_has(selection, &CASES[i].rule), cnt > 0);
		cgroup_selection_free(selection);
	}
}

static void format_job(char ret_name[128], int i)
{
	snprintf(ret_name, 128, "v2/docker/%064x", i + 0xabcd0000);
}

/* Short containers, one after the other, also learned from a process: slots are given back. */
static void test_slots_are_reused(void **state)
{
	const struct cgroup_rule rules[] = {RULE(CONTAINER, "00000000"), RULE(UNIT, "web.service")};
	struct cgroup_selection *selection;
	char name[128], text[160];

	make("v2/docker");
	make("v2/system.slice/web.service");
	selection = with(rules, 2);
	for (int i = 0; i < 4 * LIMIT_SELECTION_CGROUPS; i++) {
		format_job(name, i);
		make(name);
		snprintf(text, sizeof(text), "0::%s\n", name + strlen("v2"));
		assert_true(i % 2 ? cgroup_selection_learn(selection, text) : search(selection));
		assert_true(has(selection, name + strlen("v2")));
		drop(name);
	}
	assert_true(has(selection, "/system.slice/web.service"));
	assert_int_equal(cgroup_selection_troubles(selection), 0);
	/* All at once are too many, which is told, and is no harm to the others. */
	for (int i = 0; i < LIMIT_SELECTION_CGROUPS; i++) {
		format_job(name, i);
		make(name);
	}
	search(selection);
	assert_int_equal(live_cnt(selection), LIMIT_SELECTION_CGROUPS);
	assert_int_equal(cgroup_selection_troubles(selection), CGROUP_TROUBLE_SLOTS);
	assert_true(has(selection, "/system.slice/web.service"));
	drop("v2/system.slice/web.service");
	search(selection);
	assert_int_equal(live_cnt(selection), LIMIT_SELECTION_CGROUPS);
	assert_false(has(selection, "/system.slice/web.service"));
	/* It comes again when there is room. */
	make("v2/system.slice/web.service");
	drop(name);
	format_job(name, 0);
	drop(name);
	search(selection);
	assert_true(has(selection, "/system.slice/web.service"));
	cgroup_selection_free(selection);
}

static void test_too_many_at_once(void **state)
{
	const struct cgroup_rule rule = RULE(CONTAINER, "00000000");
	struct cgroup_selection *selection;
	char name[128];

	make("v2/docker");
	for (int i = 0; i <= LIMIT_SELECTION_CGROUPS; i++) {
		format_job(name, i);
		make(name);
	}
	assert_int_equal(try_rules(&selection, &rule, 1), -E2BIG);
	/* Made by a user, they keep nobody from waiting for the host's own, which takes the place of all. */
	assert_int_equal(temp_folder_remove((snprintf(name, sizeof(name), "%s/v2/docker", root), name)), 0);
	for (int i = 0; i <= LIMIT_SELECTION_CGROUPS; i++) {
		snprintf(name, sizeof(name), "v2/" USER "docker-%064x.scope", i);
		make(name);
	}
	selection = with(&rule, 1);
	assert_int_equal(live_cnt(selection), LIMIT_SELECTION_CGROUPS);
	make("v2/docker");
	format_job(name, 0);
	make(name);
	assert_true(search(selection));
	assert_int_equal(live_cnt(selection), 1);
	assert_true(has(selection, name + strlen("v2")));
	cgroup_selection_free(selection);
}

static void test_users_give_way(void **state)
{
	const struct cgroup_rule rule = RULE(CONTAINER, "3f2a");
	static const char FORGED[] = "/" USER "docker-" A ".scope", REAL[] = "/docker/" A;
	struct cgroup_selection *selection;

	make("v2/" USER "docker-" A ".scope");
	selection = with(&rule, 1);
	assert_true(has(selection, FORGED));
	make("v2/docker/" A);
	assert_true(cgroup_selection_learn(selection, "0::/docker/" A "\n"));
	assert_true(has(selection, REAL));
	assert_false(has(selection, FORGED));
	assert_false(cgroup_selection_learn(selection, "0::/" USER "docker-" A ".scope\n"));
	assert_false(search(selection));
	assert_false(cgroup_selection_holds(selection, "0::/" USER "docker-" A ".scope\n"));
	assert_true(cgroup_selection_holds(selection, "0::/docker/" A "/init\n"));
	cgroup_selection_free(selection);
}

/* A container in both versions takes one slot; one in version 1 alone is found as well. */
static void test_hybrid(void **state)
{
	const struct cgroup_rule rule = RULE(CONTAINER, "app");
	struct cgroup_selection *selection;

	put_state(A, "app-1");
	put_state(B, "app-2");
	put_state(C, "app-3");
	make("v2/docker/" A);
	make("v1/docker/" A);
	make("v1/docker/" B);
	selection = with(&rule, 1);
	assert_int_equal(live_cnt(selection), 2);
	assert_true(cgroup_selection_holds(selection, "4:cpu:/\n0::/docker/" A "\n"));
	assert_true(cgroup_selection_holds(selection, "4:cpu:/docker/" B "\n0::/\n"));
	/* Its group of version 2 is empty. */
	assert_false(cgroup_selection_holds(selection, "4:cpu:/docker/" A "\n0::/\n"));
	assert_true(cgroup_selection_learn(selection, "4:cpu:/docker/" A "\n0::/\n"));
	assert_true(cgroup_selection_holds(selection, "4:cpu:/docker/" A "\n0::/\n"));
	make("v1/docker/" C);
	assert_true(cgroup_selection_learn(selection, "4:cpu:/docker/" C "\n0::/\n"));
	assert_true(cgroup_selection_holds(selection, "4:cpu:/docker/" C "\n0::/\n"));
	assert_false(cgroup_selection_learn(selection, "4:cpu:/docker/" C "\n0::/\n"));
	cgroup_selection_free(selection);
}

static void test_exclusions(void **state)
{
	const struct cgroup_rule rules[] = {
		RULE(UNIT, "web.service"),
		{.kind = CGROUP_RULE_CONTAINER, .is_excluded = true, .text = (char *)"backup"},
	};
	static const char TEXT[] = "0::/system.slice/web.service/docker-" A ".scope\n";
	struct cgroup_selection *selection;

	make("v2/system.slice/web.service");
	selection = with(rules, 2);
	assert_true(cgroup_selection_is_ready(selection));
	assert_false(cgroup_selection_has(selection, &rules[1]));
	assert_true(cgroup_selection_holds(selection, TEXT));
	put_state(A, "backup");
	make("v2/system.slice/web.service/docker-" A ".scope");
	assert_true(cgroup_selection_learn(selection, TEXT));
	assert_false(cgroup_selection_holds(selection, TEXT));
	cgroup_selection_free(selection);
}

/* Nobody hides others' cgroups by making very many. */
static void test_one_unit_of_many(void **state)
{
	const struct cgroup_rule rules[] = {RULE(CONTAINER, "3f2a"), RULE(UNIT, "zeta.service")};
	const struct cgroup_rule missing = RULE(CONTAINER, "beef");
	struct cgroup_selection *selection;
	char name[128], text[512];

	for (int i = 0; i < CGROUP_SELECTION_UNIT_MAX + 100; i++) {
		snprintf(name, sizeof(name), "v2/system.slice/ci.service/%d/%d", i / 100, i);
		make(name);
	}
	make("v2/system.slice/zeta.service/docker-" A ".scope");
	make("v2/zeta.slice");
	selection = with(rules, 2);
	assert_int_equal(live_cnt(selection), 2);
	assert_int_equal(cgroup_selection_troubles(selection), CGROUP_TROUBLE_SEARCH);
	cgroup_selection_explain(selection, &missing, text, sizeof(text));
	assert_non_null(strstr(text, "there is no container 'beef' among those looked at"));
	cgroup_selection_free(selection);
}

/* What appears, and what is mounted, while it waits. */
static void test_waiting(void **state)
{
	const struct cgroup_rule rules[] = {RULE(PATH, "/late"), RULE(UNIT, "late.service")};
	struct cgroup_selection *selection;
	struct selection_config config = {0};
	u64 now = now_ns;

	v2_is_hidden = true;
	selection = with(rules, 2);
	assert_false(cgroup_selection_is_ready(selection));
	cgroup_selection_configure(selection, &config);
	assert_true(config.uses_v1 && config.uses_v2);
	make("v2/late");
	make("v2/late.service");
	make("v1/late");
	assert_true(cgroup_selection_refresh(selection, now, true));
	assert_false(cgroup_selection_is_ready(selection));
	v2_is_hidden = false;
	now += 2000 * CLOCK_NS_PER_MS;
	assert_true(cgroup_selection_refresh(selection, now, true));
	assert_true(cgroup_selection_is_ready(selection));
	assert_true(cgroup_selection_holds(selection, "4:cpu:/late\n0::/late.service\n"));
	cgroup_selection_free(selection);
}

static void test_ids(void **state)
{
	char text[32], path[512];
	struct cgroup_rule rule = {.kind = CGROUP_RULE_PATH, .text = text};
	struct cgroup_selection *selection;
	struct stat st;

	make("v2/group");
	path_below(path, "v2/group");
	assert_int_equal(stat(path, &st), 0);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)st.st_ino);
	assert_true(cgroup_rule_is_id(&rule));
	selection = with(&rule, 1);
	assert_true(has(selection, "/group"));
	cgroup_selection_free(selection);
	/* Two hierarchies with the same number. */
	v1_is_v2 = true;
	assert_int_equal(try_rules(&selection, &rule, 1), -ENOTUNIQ);
}

static void test_nearest(void **state)
{
	static const struct {
		struct cgroup_rule rule;
		const char *text;
	} CASES[] = {
		{RULE(PATH, "/websrver"), "there is no cgroup '/websrver': did you mean /webserver?"},
		{RULE(UNIT, "nginz.service"),
		 "there is no unit 'nginz.service': did you mean nginx.service?"},
		{RULE(CONTAINER, "bakcup"), "there is no container 'bakcup': did you mean backup?"},
		{RULE(POD, "shop/cart"), "there is no pod 'shop/cart'"},
	};
	char text[512];

	put_state(A, "backup");
	make("v2/webserver");
	make("v2/system.slice/nginx.service");
	make("v2/docker/" A);
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		struct cgroup_selection *selection = with(&CASES[i].rule, 1);

		cgroup_selection_explain(selection, &CASES[i].rule, text, sizeof(text));
		assert_string_equal(text, CASES[i].text);
		cgroup_selection_free(selection);
	}
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_meanings),	     TEST(test_slots_are_reused), TEST(test_too_many_at_once),
		TEST(test_users_give_way),   TEST(test_hybrid),		  TEST(test_exclusions),
		TEST(test_one_unit_of_many), TEST(test_waiting),	  TEST(test_ids),
		TEST(test_nearest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
