/* SPDX-License-Identifier: Apache-2.0 */
#include "selection.h"

#include <errno.h>
#include <fnmatch.h>
#include <pwd.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define FAIL(error, sz, ...) (snprintf(error, sz, __VA_ARGS__), -EINVAL)

/* PY_VERSION_HEX without the release level: 0x030c04 is 3.12.4. */
struct version_range {
	u32 first;
	u32 last;
};

struct rule {
	enum selection_kind kind;
	bool is_excluded;
	union {
		regex_t name;
		char *glob;
		struct version_range versions;
	};
};

struct selection {
	struct rule *rules; /* of the kinds that are decided here */
	size_t rule_cnt;
	struct cgroup_rule *cgroup_rules;
	size_t cgroup_rule_cnt;
	uid_t users[2][LIMIT_SELECTION_USERS]; /* selected, excluded */
	size_t user_cnt[2];
	struct cgroup_selection *cgroups; /* NULL without a rule for one */
	u32 warned_troubles;
	bool warned_missing;
	void (*on_change)(void *ctx);
	void *ctx;
	char text[CGROUP_TEXT_SZ];
};

static const char *const KIND_NAMES[SELECTION_KIND_COUNT] = {
	[SELECTION_CGROUP] = "cgroup", [SELECTION_UNIT] = "unit",     [SELECTION_CONTAINER] = "container",
	[SELECTION_POD] = "pod",       [SELECTION_USER] = "user",     [SELECTION_NAME] = "name",
	[SELECTION_EXE] = "exe",       [SELECTION_PYTHON] = "python",
};

const char *selection_kind_name(enum selection_kind kind)
{
	return KIND_NAMES[kind];
}

int selection_new(struct selection **ret_selection)
{
	*ret_selection = calloc(1, sizeof(**ret_selection));
	return *ret_selection ? 0 : -ENOMEM;
}

static void rule_release(struct rule *rule)
{
	if (rule->kind == SELECTION_NAME)
		regfree(&rule->name);
	else if (rule->kind == SELECTION_EXE)
		free(rule->glob);
}

void selection_free(struct selection *selection)
{
	if (!selection)
		return;
	cgroup_selection_free(selection->cgroups);
	for (size_t i = 0; i < selection->rule_cnt; i++)
		rule_release(&selection->rules[i]);
	for (size_t i = 0; i < selection->cgroup_rule_cnt; i++)
		free(selection->cgroup_rules[i].text);
	free(selection->rules);
	free(selection->cgroup_rules);
	free(selection);
}

static bool has_parent_component(const char *path)
{
	for (const char *p = path; (p = strstr(p, "..")); p++) {
		if ((p == path || p[-1] == '/') && (!p[2] || p[2] == '/'))
			return true;
	}
	return false;
}

/* systemd.unit(5). A name may have other dots in it: php8.2-fpm. */
static bool is_unit_name(const char *text)
{
	static const char *const SUFFIXES[] = {".service",   ".socket", ".device", ".mount",
					       ".automount", ".swap",	".target", ".path",
					       ".timer",     ".slice",	".scope"};
	const char *dot = strrchr(text, '.');

	for (size_t i = 0; dot && i < sizeof(SUFFIXES) / sizeof(SUFFIXES[0]); i++) {
		if (strcmp(dot, SUFFIXES[i]) == 0)
			return true;
	}
	return false;
}

/* Without the slashes at its end, but for one that is all of it. */
static int path_length(const char *path)
{
	size_t sz = strlen(path);

	while (sz > 1 && path[sz - 1] == '/')
		sz--;
	return (int)sz;
}

static int add_cgroup(struct selection *selection, enum selection_kind kind, bool is_excluded,
		      const char *value, char *error, size_t sz)
{
	struct cgroup_rule *rules, rule = {.is_excluded = is_excluded};
	static const enum cgroup_rule_kind KINDS[] = {
		[SELECTION_CGROUP] = CGROUP_RULE_PATH,
		[SELECTION_UNIT] = CGROUP_RULE_UNIT,
		[SELECTION_CONTAINER] = CGROUP_RULE_CONTAINER,
		[SELECTION_POD] = CGROUP_RULE_POD,
	};
	const char *suffix = kind == SELECTION_UNIT && !is_unit_name(value) ? ".service" : "";
	int value_sz = kind == SELECTION_CGROUP ? path_length(value) : (int)strlen(value);

	if (kind == SELECTION_UNIT && strchr(value, '/'))
		return FAIL(error, sz, "is no unit's name: give one as in foo.service, or --cgroup PATH");
	if (kind == SELECTION_CGROUP && has_parent_component(value))
		return FAIL(error, sz, "has a '..' in it: give the path without");
	if (selection->cgroup_rule_cnt == LIMIT_SELECTION_CGROUPS)
		return FAIL(error, sz, "is one cgroup too many: at most %d go together",
			    LIMIT_SELECTION_CGROUPS);
	rules = reallocarray(selection->cgroup_rules, selection->cgroup_rule_cnt + 1, sizeof(*rules));
	if (!rules)
		return -ENOMEM;
	selection->cgroup_rules = rules;
	rule.kind = KINDS[kind];
	if (asprintf(&rule.text, "%.*s%s", value_sz, value, suffix) < 0)
		return -ENOMEM;
	rules[selection->cgroup_rule_cnt++] = rule;
	return 0;
}

static int add_user(struct selection *selection, bool is_excluded, const char *value, char *error, size_t sz)
{
	size_t *cnt = &selection->user_cnt[is_excluded];
	const struct passwd *entry = getpwnam(value);
	char *end;
	unsigned long uid = entry ? entry->pw_uid : strtoul(value, &end, 10);

	if (!entry && (*value < '0' || *value > '9' || *end || uid >= UINT32_MAX))
		return FAIL(error, sz, "is no user of this host: give a name or a number");
	if (selection->user_cnt[0] + selection->user_cnt[1] == LIMIT_SELECTION_USERS)
		return FAIL(error, sz, "is one user too many: at most %d go together", LIMIT_SELECTION_USERS);
	selection->users[is_excluded][(*cnt)++] = (uid_t)uid;
	return 0;
}

/* "3.12" or "3.12.4"; *ret_last is the last version that it may mean. */
static int decode_version(const char **text, u32 *ret_first, u32 *ret_last)
{
	u32 parts[3] = {0, 0, 0};
	size_t cnt = 0;
	const char *p = *text;

	do {
		u32 part = 0;

		if (*p < '0' || *p > '9')
			return -EINVAL;
		for (; *p >= '0' && *p <= '9'; p++) {
			part = part * 10 + (u32)(*p - '0');
			if (part > 255)
				return -EINVAL;
		}
		parts[cnt++] = part;
	} while (cnt < 3 && *p == '.' && *++p);
	if (cnt < 2)
		return -EINVAL;
	*ret_first = parts[0] << 16 | parts[1] << 8 | parts[2];
	*ret_last = cnt == 3 ? *ret_first : *ret_first | 255;
	*text = p;
	return 0;
}

static int decode_versions(const char *text, struct version_range *ret_versions)
{
	u32 ignored;

	if (decode_version(&text, &ret_versions->first, &ret_versions->last))
		return -EINVAL;
	if (strcmp(text, "+") == 0) {
		ret_versions->last = UINT32_MAX;
		return 0;
	}
	if (*text == '-') {
		text++;
		if (decode_version(&text, &ignored, &ret_versions->last))
			return -EINVAL;
	}
	return *text || ret_versions->first > ret_versions->last ? -EINVAL : 0;
}

static int add_rule(struct selection *selection, enum selection_kind kind, bool is_excluded,
		    const char *value, char *error, size_t sz)
{
	struct rule rule = {.kind = kind, .is_excluded = is_excluded};
	struct rule *rules =
		reallocarray(selection->rules, selection->rule_cnt + 1, sizeof(*selection->rules));
	char why[128];
	int code;

	if (!rules)
		return -ENOMEM;
	selection->rules = rules;
	if (kind == SELECTION_NAME) {
		code = regcomp(&rule.name, value, REG_EXTENDED | REG_NOSUB);
		if (code) {
			regerror(code, &rule.name, why, sizeof(why));
			return FAIL(error, sz, "is no regular expression (%s)", why);
		}
	} else if (kind == SELECTION_EXE) {
		rule.glob = strdup(value);
		if (!rule.glob)
			return -ENOMEM;
	} else if (decode_versions(value, &rule.versions)) {
		return FAIL(error, sz, "is no version: give 3.12, 3.12+ or 3.11-3.13");
	}
	rules[selection->rule_cnt++] = rule;
	return 0;
}

int selection_add(struct selection *selection, enum selection_kind kind, bool is_excluded, const char *value,
		  char *ret_error, size_t sz)
{
	if (!*value)
		return FAIL(ret_error, sz, "is empty: give a value");
	switch (kind) {
	case SELECTION_CGROUP:
	case SELECTION_UNIT:
	case SELECTION_CONTAINER:
	case SELECTION_POD:
		return add_cgroup(selection, kind, is_excluded, value, ret_error, sz);
	case SELECTION_USER:
		return add_user(selection, is_excluded, value, ret_error, sz);
	default:
		return add_rule(selection, kind, is_excluded, value, ret_error, sz);
	}
}

int selection_exclude(struct selection *selection, const char *text, char *ret_error, size_t sz)
{
	const char *equals = strchr(text, '=');

	for (int kind = 0; equals && kind < SELECTION_KIND_COUNT; kind++) {
		if (strlen(KIND_NAMES[kind]) == (size_t)(equals - text) &&
		    strncmp(KIND_NAMES[kind], text, (size_t)(equals - text)) == 0)
			return selection_add(selection, kind, true, equals + 1, ret_error, sz);
	}
	return FAIL(ret_error, sz,
		    "is not KIND=VALUE: give cgroup=, unit=, container=, pod=, user=, name=, exe= or "
		    "python= and a value");
}

bool selection_is_empty(const struct selection *selection)
{
	return !selection || (!selection->rule_cnt && !selection->cgroup_rule_cnt &&
			      !selection->user_cnt[0] && !selection->user_cnt[1]);
}

bool selection_has_cgroups(const struct selection *selection)
{
	for (size_t i = 0; selection && i < selection->cgroup_rule_cnt; i++) {
		if (!selection->cgroup_rules[i].is_excluded)
			return true;
	}
	return false;
}

/* The first rule that stands in the way of recording. */
static const struct cgroup_rule *find_missing(const struct selection *selection, bool waits)
{
	for (size_t i = 0; i < selection->cgroup_rule_cnt; i++) {
		const struct cgroup_rule *rule = &selection->cgroup_rules[i];

		if (!rule->is_excluded && !(waits && !cgroup_rule_is_id(rule)) &&
		    !cgroup_selection_has(selection->cgroups, rule))
			return rule;
	}
	return NULL;
}

int selection_resolve(struct selection *selection, bool waits, char *ret_error, size_t sz)
{
	struct cgroup_selection_config config = {0};
	const struct cgroup_rule *missing;
	int err;

	if (!selection || !selection->cgroup_rule_cnt)
		return 0;
	config.rules = selection->cgroup_rules;
	config.rule_cnt = selection->cgroup_rule_cnt;
	err = cgroup_selection_new(&selection->cgroups, &config);
	if (err == -E2BIG)
		snprintf(ret_error, sz, "more than %d cgroups are selected: give one that is above them",
			 LIMIT_SELECTION_CGROUPS);
	else if (err == -ENOTUNIQ)
		snprintf(ret_error, sz, "several hierarchies have a cgroup of that id: give its path");
	else if (err)
		snprintf(ret_error, sz, "the cgroups of this host cannot be read: %s", strerror(-err));
	missing = err ? NULL : find_missing(selection, waits);
	if (!missing)
		return err;
	if (waits)
		snprintf(ret_error, sz,
			 "there is no cgroup '%s', and none that is made later is known to get that id: "
			 "give the path to wait for",
			 missing->text);
	else
		cgroup_selection_explain(selection->cgroups, missing, ret_error, sz);
	return -ENOENT;
}

static void warn_missing(struct selection *selection)
{
	char text[2048];

	for (size_t i = 0; i < selection->cgroup_rule_cnt; i++) {
		const struct cgroup_rule *rule = &selection->cgroup_rules[i];

		if (!rule->is_excluded || cgroup_selection_has(selection->cgroups, rule))
			continue;
		cgroup_selection_explain(selection->cgroups, rule, text, sizeof(text));
		log_warning(LOG_TOPIC_MAIN, "--exclude has nothing to leave out yet, ignoring: %s", text);
	}
	selection->warned_missing = true;
}

void selection_warn(struct selection *selection)
{
	u32 troubles;

	if (!selection || !selection->cgroups)
		return;
	if (!selection->warned_missing)
		warn_missing(selection);
	troubles = cgroup_selection_troubles(selection->cgroups) & ~selection->warned_troubles;
	selection->warned_troubles |= troubles;
	if (troubles & CGROUP_TROUBLE_SLOTS)
		log_warning(LOG_TOPIC_MAIN,
			    "more than %d cgroups are selected or excluded at a time: those past that are "
			    "neither (give a cgroup that is above them), ignoring",
			    LIMIT_SELECTION_CGROUPS);
	if (troubles & CGROUP_TROUBLE_SEARCH)
		log_warning(LOG_TOPIC_MAIN,
			    "of more than %d cgroups in a hierarchy, or %d in a unit, not all are looked at: "
			    "one that is selected is known only from the processes that start in it, "
			    "ignoring",
			    CGROUP_WALK_MAX, CGROUP_SELECTION_UNIT_MAX);
}

bool selection_is_ready(const struct selection *selection)
{
	return !selection || !selection->cgroups || cgroup_selection_is_ready(selection->cgroups);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static bool matches_name(const struct rule *rule, const struct process *process)
{
	const char *subject = process->subject;

	return regexec(&rule->name, process->comm, 0, NULL, 0) == 0 ||
	       (subject && (regexec(&rule->name, subject, 0, NULL, 0) == 0 ||
			    regexec(&rule->name, base_name(subject), 0, NULL, 0) == 0));
}

static bool matches_exe(const struct rule *rule, const struct process *process)
{
	static const char DELETED[] = " (deleted)";
	char path[PATH_MAX];
	size_t sz;

	if (!process->exe)
		return false;
	sz = strlen(process->exe);
	if (sz >= sizeof(path))
		return false;
	if (sz > strlen(DELETED) && strcmp(process->exe + sz - strlen(DELETED), DELETED) == 0)
		sz -= strlen(DELETED);
	memcpy(path, process->exe, sz);
	path[sz] = '\0';
	return fnmatch(rule->glob, strchr(rule->glob, '/') ? path : base_name(path), 0) == 0;
}

static bool rule_matches(const struct rule *rule, const struct process *process,
			 const struct py_runtime *runtime)
{
	u32 version = runtime->version >> 8;

	switch (rule->kind) {
	case SELECTION_NAME:
		return matches_name(rule, process);
	case SELECTION_EXE:
		return matches_exe(rule, process);
	default:
		return version && version >= rule->versions.first && version <= rule->versions.last;
	}
}

bool selection_judges(const struct selection *selection)
{
	return selection && selection->rule_cnt;
}

static bool excludes_by_name(const struct selection *selection)
{
	for (size_t i = 0; i < selection->rule_cnt; i++) {
		if (selection->rules[i].kind == SELECTION_NAME && selection->rules[i].is_excluded)
			return true;
	}
	return false;
}

enum selection_verdict selection_judge(const struct selection *selection, const struct process *process,
				       const struct py_runtime *runtime, bool for_good)
{
	u32 wanted = 0, met = 0;
	bool needs_subject = false;

	for (size_t i = 0; selection && i < selection->rule_cnt; i++) {
		const struct rule *rule = &selection->rules[i];
		bool matches = rule_matches(rule, process, runtime);

		/* What excludes by name may do so by the script; what selects may have met the name already. */
		needs_subject |= !for_good && !process->subject && rule->kind == SELECTION_NAME && !matches;
		if (rule->is_excluded && matches)
			return SELECTION_REFUSED;
		if (rule->is_excluded)
			continue;
		wanted |= 1u << rule->kind;
		met |= (u32)matches << rule->kind;
	}
	if (met == wanted && !(needs_subject && excludes_by_name(selection)))
		return SELECTION_ACCEPTED;
	return needs_subject && (met | 1u << SELECTION_NAME) == (wanted | 1u << SELECTION_NAME)
		       ? SELECTION_UNDECIDED
		       : SELECTION_REFUSED;
}

static bool is_among(const struct selection *selection, bool excluded, uid_t uid)
{
	for (size_t i = 0; i < selection->user_cnt[excluded]; i++) {
		if (selection->users[excluded][i] == uid)
			return true;
	}
	return false;
}

static void changed(struct selection *selection)
{
	if (selection->on_change)
		selection->on_change(selection->ctx);
}

bool selection_holds(struct selection *selection, const struct process *process)
{
	if (!selection)
		return true;
	if (is_among(selection, true, process->uid) ||
	    (selection->user_cnt[0] && !is_among(selection, false, process->uid)))
		return false;
	if (!selection->cgroups)
		return true;
	if (cgroup_text_read(process->pid, selection->text))
		return false;
	if (cgroup_selection_learn(selection->cgroups, selection->text))
		changed(selection);
	return cgroup_selection_holds(selection->cgroups, selection->text);
}

void selection_refresh(struct selection *selection, u64 now_ns, bool waits)
{
	if (selection && selection->cgroups && cgroup_selection_refresh(selection->cgroups, now_ns, waits))
		changed(selection);
}

void selection_on_change(struct selection *selection, void (*on_change)(void *ctx), void *ctx)
{
	selection->on_change = on_change;
	selection->ctx = ctx;
}

const struct cgroup_slot *selection_slots(const struct selection *selection, size_t *ret_cnt)
{
	*ret_cnt = 0;
	return selection && selection->cgroups ? cgroup_selection_slots(selection->cgroups, ret_cnt) : NULL;
}

void selection_configure(const struct selection *selection, struct selection_config *ret_config)
{
	*ret_config = (struct selection_config){0};
	if (!selection)
		return;
	if (selection->cgroups)
		cgroup_selection_configure(selection->cgroups, ret_config);
	ret_config->user_cnt = (u32)selection->user_cnt[0];
	ret_config->excluded_user_cnt = (u32)selection->user_cnt[1];
	memcpy(ret_config->users, selection->users[0], selection->user_cnt[0] * sizeof(uid_t));
	memcpy(ret_config->users + selection->user_cnt[0], selection->users[1],
	       selection->user_cnt[1] * sizeof(uid_t));
}
