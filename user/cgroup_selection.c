/* SPDX-License-Identifier: Apache-2.0 */
/* A path that several hierarchies have means the first of them in the order of cgroup_hierarchies; once found, a rule stays
 * in its hierarchy.
 */
#include "cgroup_selection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/edit_distance.h"
#include "base/printable.h"
#include "discover/container_table.h"

enum {
	/* All cgroups are looked at this often where a rule has none, and where it may get another. */
	SEARCH_MS = 200,
	SEARCH_MORE_MS = 5000,
	/* Where each look reads the state files of new containers. */
	SEARCH_NAMES_MS = 1000,
	/* A container that had no name when it was first seen may have one later; mostly it has it from the start. */
	RENEW_NAMES_MS = 60000,
	/* Shorter beginnings of an id are taken for a name only. */
	ID_PREFIX_MIN = 4,
	LABEL_SZ = 1024,
	NEAREST_CNT = 3,
};

struct cgroup_selection {
	const struct cgroup_rule *rules;
	size_t rule_cnt;
	struct cgroup_hierarchies *hierarchies;
	struct cgroup_slot slots[LIMIT_SELECTION_CGROUPS];
	size_t cnt;
	u64 searched_ns;
	struct container_table *containers;
	u64 renewed_ns; /* when it was last empty */
};

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_id(const char *text)
{
	return *text && text[strspn(text, "0123456789")] == '\0';
}

static u64 dir_id(const char *dir)
{
	struct stat st;

	return stat(dir, &st) == 0 && S_ISDIR(st.st_mode) ? st.st_ino : 0;
}

/* Gives a slot its cgroup. */
static int slot_set(struct cgroup_slot *slot, const struct cgroup_hierarchy *hierarchy, const char *path)
{
	char dir[PATH_MAX];
	int err = cgroup_hierarchy_dir(hierarchy, path, dir);
	u64 id = err ? 0 : dir_id(dir);
	char *path_copy, *dir_copy;

	if (!id)
		return err ?: -ENOENT;
	path_copy = strdup(path);
	dir_copy = strdup(dir);
	if (!path_copy || !dir_copy) {
		free(path_copy);
		free(dir_copy);
		return -ENOMEM;
	}
	free(slot->path);
	free(slot->dir);
	slot->hierarchy = hierarchy;
	slot->path = path_copy;
	slot->dir = dir_copy;
	slot->id = id;
	return 0;
}

static int slot_add(struct cgroup_selection *selection, const struct cgroup_rule *rule,
		    struct cgroup_slot **ret_slot)
{
	if (selection->cnt == LIMIT_SELECTION_CGROUPS)
		return -E2BIG;
	*ret_slot = &selection->slots[selection->cnt++];
	**ret_slot = (struct cgroup_slot){.rule = rule};
	return 0;
}

struct id_search {
	u64 id;
	const struct cgroup_hierarchy *hierarchy;
	const struct cgroup_hierarchy *found;
	char path[PATH_MAX];
	size_t cnt;
};

static int on_cgroup_of_id(void *ctx, const char *path, u64 id)
{
	struct id_search *search = ctx;

	if (id != search->id)
		return 0;
	search->cnt++;
	search->found = search->hierarchy;
	snprintf(search->path, sizeof(search->path), "%s", path);
	return 0;
}

static int locate_id(struct cgroup_selection *selection, struct cgroup_slot *slot)
{
	struct id_search search = {.id = strtoull(slot->rule->text, NULL, 10)};

	for (size_t i = 0; i < selection->hierarchies->cnt; i++) {
		search.hierarchy = &selection->hierarchies->list[i];
		cgroup_hierarchy_walk(search.hierarchy, on_cgroup_of_id, &search);
	}
	if (search.cnt > 1)
		return -ENOTUNIQ;
	return search.cnt ? slot_set(slot, search.found, search.path) : -ENOENT;
}

/* Every end of the path may be the part below the mount that it lies in. */
static int locate_by_end(struct cgroup_selection *selection, struct cgroup_slot *slot,
			 const struct stat *wanted)
{
	char *real = realpath(slot->rule->text, NULL);
	int err = -ENOENT;

	for (size_t at = real ? strlen(real) : 0; err == -ENOENT && at-- > 0;) {
		if (real[at] != '/')
			continue;
		for (size_t i = 0; err == -ENOENT && i < selection->hierarchies->cnt; i++) {
			const struct cgroup_hierarchy *hierarchy = &selection->hierarchies->list[i];
			char dir[PATH_MAX];
			struct stat st;

			if (!cgroup_hierarchy_dir(hierarchy, real + at, dir) && !stat(dir, &st) &&
			    st.st_dev == wanted->st_dev && st.st_ino == wanted->st_ino)
				err = slot_set(slot, hierarchy, real + at);
		}
	}
	free(real);
	return err;
}

/* A directory in the mounted file system. A hierarchy may be mounted in several places, also in part: the
 * device tells which it is, the inode which cgroup. */
static int locate_mounted(struct cgroup_selection *selection, struct cgroup_slot *slot)
{
	struct id_search search = {};
	struct stat st, mount;

	if (stat(slot->rule->text, &st) || !S_ISDIR(st.st_mode))
		return -ENOENT;
	search.id = st.st_ino;
	if (!locate_by_end(selection, slot, &st))
		return 0;
	for (size_t i = 0; i < selection->hierarchies->cnt; i++) {
		search.hierarchy = &selection->hierarchies->list[i];
		if (stat(search.hierarchy->mount, &mount) || mount.st_dev != st.st_dev)
			continue;
		cgroup_hierarchy_walk(search.hierarchy, on_cgroup_of_id, &search);
		return search.cnt == 1 ? slot_set(slot, search.found, search.path) : -ENOENT;
	}
	return -ENOENT;
}

static int locate_path(struct cgroup_selection *selection, struct cgroup_slot *slot)
{
	const char *text = slot->rule->text + strspn(slot->rule->text, "/");
	char path[PATH_MAX];
	int err = locate_mounted(selection, slot);

	if (err != -ENOENT)
		return err;
	if (snprintf(path, sizeof(path), "/%s", text) >= (int)sizeof(path))
		return -ENOENT;
	for (size_t i = 0; i < selection->hierarchies->cnt; i++) {
		err = slot_set(slot, &selection->hierarchies->list[i], path);
		if (err != -ENOENT && err != -ENAMETOOLONG)
			return err;
	}
	return -ENOENT;
}

static bool begins_with(const char *text, const char *prefix)
{
	return text && strncmp(text, prefix, strlen(prefix)) == 0;
}

/* What is nested in another container has only the name that begins with the outer one's id: the host knows no
 * other. */
static bool means_container(const char *text, const struct container *container)
{
	char label[LABEL_SZ];

	container_format_label(label, sizeof(label), container);
	if (begins_with(label, text))
		return true;
	return !container->outermost && (begins_with(container->name, text) ||
					 (strlen(text) >= ID_PREFIX_MIN && begins_with(container->id, text)));
}

/* Static pods' and podman's have no dashes. */
static bool uid_equals(const char *a, const char *b)
{
	for (;; a++, b++) {
		a += strspn(a, "-");
		b += strspn(b, "-");
		if (*a != *b)
			return false;
		if (!*a)
			return true;
	}
}

static bool means_pod(const char *text, const struct container_id *id, const struct container *container)
{
	char name[LABEL_SZ];

	if (id->outermost[0])
		return false;
	if (id->pod_uid[0] && uid_equals(id->pod_uid, text))
		return true;
	if (!container || !container->pod_namespace || !container->pod_name)
		return false;
	snprintf(name, sizeof(name), "%s/%s", container->pod_namespace, container->pod_name);
	return strcmp(name, text) == 0;
}

static bool means_unit(const char *text, const char *path, const struct container_id *id)
{
	size_t sz = strlen(text);

	if (sz > strlen(".slice") && strcmp(text + sz - strlen(".slice"), ".slice") == 0)
		return !id->id[0] && !id->in_user_manager && strcmp(last_name(path), text) == 0;
	return strcmp(id->unit, text) == 0;
}

/* Units and pods are the host's own: a container's root and each user may call a cgroup as they like. */
static bool rule_means(const struct cgroup_selection *selection, const struct cgroup_rule *rule,
		       const char *path)
{
	const struct container *container;
	struct container_id id;

	if (rule->kind == CGROUP_RULE_PATH)
		return false;
	decode_cgroup_path(path, strlen(path), &id);
	if (rule->kind == CGROUP_RULE_UNIT)
		return means_unit(rule->text, path, &id);
	container = selection->containers ? container_table_find(selection->containers, &id) : NULL;
	if (rule->kind == CGROUP_RULE_POD)
		return means_pod(rule->text, &id, container);
	return container && means_container(rule->text, container);
}

/* The hierarchy that the rule's cgroups were found in so far. */
static const struct cgroup_hierarchy *rule_hierarchy(const struct cgroup_selection *selection,
						     const struct cgroup_rule *rule)
{
	for (size_t i = 0; i < selection->cnt; i++) {
		if (selection->slots[i].rule == rule && selection->slots[i].id)
			return selection->slots[i].hierarchy;
	}
	return NULL;
}

struct rule_search {
	struct cgroup_selection *selection;
	const struct cgroup_rule *rule;
	const struct cgroup_hierarchy *hierarchy;
	bool changed;
};

static int on_cgroup_of_rule(void *ctx, const char *path, u64 id)
{
	struct rule_search *search = ctx;
	struct cgroup_selection *selection = search->selection;
	struct cgroup_slot *slot;
	int err;

	(void)id;
	if (!rule_means(selection, search->rule, path))
		return 0;
	for (size_t i = 0; i < selection->cnt; i++) {
		slot = &selection->slots[i];
		if (slot->rule == search->rule && slot->path && strcmp(slot->path, path) == 0)
			return 1;
	}
	err = slot_add(selection, search->rule, &slot);
	if (err)
		return err;
	err = slot_set(slot, search->hierarchy, path);
	if (err)
		selection->cnt--;
	else
		search->changed = true;
	return err == -ENOMEM ? err : 1;
}

/* All cgroups of a rule that may have several: of the first hierarchy that has any. */
static int search_rule(struct cgroup_selection *selection, const struct cgroup_rule *rule, bool *ret_changed)
{
	const struct cgroup_hierarchy *own = rule_hierarchy(selection, rule);
	struct rule_search search = {.selection = selection, .rule = rule};
	int err = 0;

	for (size_t i = 0; !err && !search.changed && i < selection->hierarchies->cnt; i++) {
		search.hierarchy = &selection->hierarchies->list[i];
		if (!own || own == search.hierarchy)
			err = cgroup_hierarchy_walk(search.hierarchy, on_cgroup_of_rule, &search);
	}
	*ret_changed |= search.changed;
	return err;
}

static bool asks_names(const struct cgroup_selection *selection)
{
	for (size_t i = 0; i < selection->rule_cnt; i++) {
		if (selection->rules[i].kind >= CGROUP_RULE_CONTAINER)
			return true;
	}
	return false;
}

static int containers_renew(struct cgroup_selection *selection)
{
	/* From inside of a container that shares the host's pids, that is where the host's files are. */
	static const char host_root[] = "/proc/1/root";

	if (!asks_names(selection) ||
	    (selection->containers && !cgroup_selection_missing(selection) &&
	     selection->searched_ns < selection->renewed_ns + RENEW_NAMES_MS * CLOCK_NS_PER_MS))
		return 0;
	container_table_free(selection->containers);
	selection->renewed_ns = selection->searched_ns;
	selection->containers = NULL;
	return container_table_new(&selection->containers, access(host_root, X_OK) == 0 ? host_root : "/");
}

static int search_rules(struct cgroup_selection *selection, bool *ret_changed)
{
	int err;

	selection->searched_ns = clock_monotonic_ns();
	err = containers_renew(selection);
	for (size_t i = 0; !err && i < selection->rule_cnt; i++) {
		if (selection->rules[i].kind != CGROUP_RULE_PATH)
			err = search_rule(selection, &selection->rules[i], ret_changed);
	}
	return err;
}

static int find_all(struct cgroup_selection *selection)
{
	bool changed = false;
	int err = cgroup_hierarchies_read(selection->hierarchies);

	for (size_t i = 0; !err && i < selection->rule_cnt; i++) {
		struct cgroup_slot *slot;

		if (selection->rules[i].kind != CGROUP_RULE_PATH)
			continue;
		err = slot_add(selection, &selection->rules[i], &slot);
		if (!err)
			err = is_id(slot->rule->text) ? locate_id(selection, slot)
						      : locate_path(selection, slot);
		if (err == -ENOENT)
			err = 0;
	}
	return err ?: search_rules(selection, &changed);
}

int cgroup_selection_new(struct cgroup_selection **ret_selection, const struct cgroup_rule *rules,
			 size_t rule_cnt)
{
	struct cgroup_selection *selection = calloc(1, sizeof(*selection));
	int err;

	if (!selection)
		return -ENOMEM;
	selection->rules = rules;
	selection->rule_cnt = rule_cnt;
	selection->hierarchies = calloc(1, sizeof(*selection->hierarchies));
	err = selection->hierarchies ? find_all(selection) : -ENOMEM;
	if (err) {
		cgroup_selection_free(selection);
		return err;
	}
	*ret_selection = selection;
	return 0;
}

void cgroup_selection_free(struct cgroup_selection *selection)
{
	if (!selection)
		return;
	for (size_t i = 0; i < selection->cnt; i++) {
		free(selection->slots[i].path);
		free(selection->slots[i].dir);
	}
	container_table_free(selection->containers);
	free(selection->hierarchies);
	free(selection);
}

const struct cgroup_rule *cgroup_selection_missing(const struct cgroup_selection *selection)
{
	for (size_t i = 0; i < selection->rule_cnt; i++) {
		if (!rule_hierarchy(selection, &selection->rules[i]))
			return &selection->rules[i];
	}
	return NULL;
}

/* The set of kinds that rules, and cgroups, are there for. */
static u32 kinds_of(const struct cgroup_selection *selection, bool only_found)
{
	u32 kinds = 0;

	for (size_t i = 0; i < selection->rule_cnt; i++) {
		const struct cgroup_rule *rule = &selection->rules[i];

		if (!rule->is_excluded && (!only_found || rule_hierarchy(selection, rule)))
			kinds |= 1u << rule->kind;
	}
	return kinds;
}

bool cgroup_selection_is_ready(const struct cgroup_selection *selection)
{
	return kinds_of(selection, true) == kinds_of(selection, false);
}

struct nearest {
	const struct cgroup_selection *selection;
	const struct cgroup_rule *rule;
	const char *wanted;
	char *paths[NEAREST_CNT];
	size_t distances[NEAREST_CNT];
	size_t cnt;
};

/* The same last name is as near as can be; else as many edits as a word may have wrong. */
static size_t distance_of(const char *wanted, const char *path)
{
	const char *name = last_name(wanted);
	size_t allowed = strlen(name) / 4 + 2;
	size_t distance = edit_distance(name, last_name(path));
	size_t whole = edit_distance(wanted, path);

	if (distance == 0)
		return 0;
	if (whole < distance)
		distance = whole;
	return distance <= allowed && distance < strlen(name) ? distance : EDIT_DISTANCE_MAX;
}

/* What a cgroup's path is called where rules of that kind are given; NULL: it is none of them. */
static const char *name_of(const struct nearest *nearest, const char *path, char buf[LABEL_SZ])
{
	const struct container *container;
	struct container_id id;

	if (nearest->rule->kind == CGROUP_RULE_PATH)
		return path;
	decode_cgroup_path(path, strlen(path), &id);
	if (nearest->rule->kind == CGROUP_RULE_UNIT) {
		snprintf(buf, LABEL_SZ, "%s", id.unit);
		return id.unit[0] ? buf : NULL;
	}
	container = nearest->selection->containers ? container_table_find(nearest->selection->containers, &id)
						   : NULL;
	if (!container || (nearest->rule->kind == CGROUP_RULE_POD && !container->pod_name))
		return NULL;
	if (nearest->rule->kind == CGROUP_RULE_POD)
		snprintf(buf, LABEL_SZ, "%s/%s", container->pod_namespace ? container->pod_namespace : "?",
			 container->pod_name);
	else
		container_format_label(buf, LABEL_SZ, container);
	return buf;
}

static int on_near_cgroup(void *ctx, const char *cgroup, u64 id)
{
	struct nearest *nearest = ctx;
	char label[LABEL_SZ];
	const char *path = name_of(nearest, cgroup, label);
	size_t distance = path ? distance_of(nearest->wanted, path) : EDIT_DISTANCE_MAX;
	size_t at = nearest->cnt;

	(void)id;
	if (!path)
		return 0;
	for (size_t i = 0; i < nearest->cnt; i++) {
		if (strcmp(nearest->paths[i], path) == 0)
			return 0;
	}
	while (at && nearest->distances[at - 1] > distance)
		at--;
	if (distance == EDIT_DISTANCE_MAX || at == NEAREST_CNT)
		return 0;
	if (nearest->cnt == NEAREST_CNT)
		free(nearest->paths[--nearest->cnt]);
	for (size_t i = nearest->cnt++; i > at; i--) {
		nearest->paths[i] = nearest->paths[i - 1];
		nearest->distances[i] = nearest->distances[i - 1];
	}
	nearest->paths[at] = strdup(path);
	nearest->distances[at] = distance;
	return nearest->paths[at] ? 0 : -ENOMEM;
}

static void append(char *text, size_t sz, const char *more)
{
	size_t have = strlen(text);

	snprintf(text + have, sz - have, "%s", more);
}

void cgroup_selection_explain(const struct cgroup_selection *selection, const struct cgroup_rule *rule,
			      char *ret_text, size_t sz)
{
	static const char *const KINDS[] = {"cgroup", "unit", "container", "pod"};
	struct nearest nearest = {.selection = selection, .rule = rule, .wanted = rule->text};
	char shown[256];

	for (size_t i = 0;
	     !(rule->kind == CGROUP_RULE_PATH && is_id(rule->text)) && i < selection->hierarchies->cnt; i++)
		cgroup_hierarchy_walk(&selection->hierarchies->list[i], on_near_cgroup, &nearest);
	snprintf(ret_text, sz, "there is no %s '%s'", KINDS[rule->kind],
		 printable_text(shown, sizeof(shown), rule->text));
	for (size_t i = 0; i < nearest.cnt && nearest.paths[i]; i++) {
		append(ret_text, sz, i == 0 ? ": did you mean " : i + 1 == nearest.cnt ? " or " : ", ");
		append(ret_text, sz, printable_text(shown, sizeof(shown), nearest.paths[i]));
		free(nearest.paths[i]);
	}
	append(ret_text, sz,
	       nearest.cnt		     ? "?"
	       : selection->hierarchies->cnt ? ""
					     : " (no cgroups are mounted)");
}

/* A cgroup that was made anew has another id. */
static bool slot_refresh(struct cgroup_selection *selection, struct cgroup_slot *slot)
{
	u64 id;

	if (!slot->dir)
		return slot->rule->kind == CGROUP_RULE_PATH && !is_id(slot->rule->text) &&
		       locate_path(selection, slot) == 0;
	id = dir_id(slot->dir);
	if (!id || id == slot->id || (slot->rule->kind == CGROUP_RULE_PATH && is_id(slot->rule->text)))
		return false;
	slot->id = id;
	return true;
}

static u64 search_interval_ms(const struct cgroup_selection *selection)
{
	if (!cgroup_selection_missing(selection))
		return SEARCH_MORE_MS;
	return asks_names(selection) ? SEARCH_NAMES_MS : SEARCH_MS;
}

bool cgroup_selection_refresh(struct cgroup_selection *selection, u64 now_ns)
{
	u64 interval = search_interval_ms(selection) * CLOCK_NS_PER_MS;
	bool changed = false;

	for (size_t i = 0; i < selection->cnt; i++)
		changed |= slot_refresh(selection, &selection->slots[i]);
	if (now_ns > selection->searched_ns + interval)
		(void)search_rules(selection, &changed);
	return changed;
}

/* The uppermost cgroup on the path that the rule means. */
static bool learn_path(struct cgroup_selection *selection, const struct cgroup_rule *rule,
		       const struct cgroup_hierarchy *hierarchy, const char *path, size_t sz)
{
	struct rule_search search = {.selection = selection, .rule = rule, .hierarchy = hierarchy};
	char part[PATH_MAX];

	if (sz >= sizeof(part))
		return false;
	for (size_t at = 1; at <= sz; at++) {
		if (at < sz && path[at] != '/')
			continue;
		memcpy(part, path, at);
		part[at] = '\0';
		if (on_cgroup_of_rule(&search, part, 0) == 1)
			return search.changed;
	}
	return false;
}

bool cgroup_selection_learn(struct cgroup_selection *selection, const char *text)
{
	bool changed = false;

	for (size_t i = 0; i < selection->cnt; i++)
		changed |= slot_refresh(selection, &selection->slots[i]);
	for (size_t i = 0; i < selection->rule_cnt; i++) {
		const struct cgroup_hierarchy *own = rule_hierarchy(selection, &selection->rules[i]);
		bool found = selection->rules[i].kind == CGROUP_RULE_PATH;

		for (size_t j = 0; !found && j < selection->hierarchies->cnt; j++) {
			const struct cgroup_hierarchy *hierarchy = &selection->hierarchies->list[j];
			size_t sz;
			const char *path = cgroup_text_path(text, hierarchy->id, &sz);

			if (path && (!own || own == hierarchy))
				found = learn_path(selection, &selection->rules[i], hierarchy, path, sz);
		}
		changed |= found && selection->rules[i].kind != CGROUP_RULE_PATH;
	}
	return changed;
}

bool cgroup_selection_holds(const struct cgroup_selection *selection, const char *text)
{
	u32 wanted = kinds_of(selection, false), met = 0;

	for (size_t i = 0; i < selection->cnt; i++) {
		const struct cgroup_slot *slot = &selection->slots[i];
		size_t sz;
		const char *path = slot->id ? cgroup_text_path(text, slot->hierarchy->id, &sz) : NULL;

		if (!path || !cgroup_path_is_within(path, sz, slot->path))
			continue;
		if (slot->rule->is_excluded)
			return false;
		met |= 1u << slot->rule->kind;
	}
	return (met & wanted) == wanted;
}

const struct cgroup_slot *cgroup_selection_slots(const struct cgroup_selection *selection, size_t *ret_cnt)
{
	*ret_cnt = selection->cnt;
	return selection->slots;
}

void cgroup_selection_configure(const struct cgroup_selection *selection, struct selection_config *ret_config)
{
	ret_config->cgroup_kinds = kinds_of(selection, false);
	for (size_t i = 0; i < selection->rule_cnt; i++)
		ret_config->excludes_cgroups |= selection->rules[i].is_excluded;
	for (size_t i = 0; selection->rule_cnt && i < selection->hierarchies->cnt; i++) {
		if (selection->hierarchies->list[i].is_v2)
			ret_config->uses_v2 = 1;
		else
			ret_config->uses_v1 = 1;
	}
}
