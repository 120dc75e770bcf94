/* SPDX-License-Identifier: Apache-2.0 */
/* A unit's cgroups are looked for in the first hierarchy that has any, and it stays there. Containers and pods are looked
 * for in all: on a hybrid host one may be in version 1 alone. One that is in several takes one slot, in the first
 * that a search finds it in, unless a process turns up that is only in another.
 *
 * A slot whose cgroup is gone is kept for the same path to come again, until another cgroup needs it.
 *
 * Whoever has a service manager of their own can call a container as they like: what stands below user@UID.service
 * is only meant by a rule for which the host itself has no container.
 */
#include "cgroup_selection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/printable.h"
#include "cgroup_locate.h"
#include "cgroup_nearest.h"

enum {
	/* All cgroups are looked at this often while nothing is recorded yet, and later. */
	SEARCH_MS = 200,
	SEARCH_MORE_MS = 5000,
	/* Where each look reads the state files of new containers; also of what is mounted. */
	SEARCH_NAMES_MS = 1000,
	/* A container that had no name when it was first seen may have one later; mostly it has it from the start. */
	RENEW_NAMES_MS = 60000,
	KEY_SZ = 3 * CONTAINER_ID_SZ + 16,
};

struct cgroup_selection {
	struct cgroup_selection_config config;
	struct cgroup_hierarchies *hierarchies;
	struct cgroup_slot slots[LIMIT_SELECTION_CGROUPS];
	size_t cnt; /* of the slots that were ever used */
	u32 troubles;
	u64 searched_ns;
	struct container_table *containers; /* NULL: no rule asks for one */
	u64 containers_ns;		    /* when it was last empty */
	u64 hierarchies_ns;		    /* when they were last read */
};

/* The cgroup was removed, and may come again. */
static bool slot_is_gone(const struct cgroup_slot *slot)
{
	return slot->rule && slot->rule->kind != CGROUP_RULE_PATH &&
	       !(slot->dir && cgroup_dir_id(slot->hierarchy, slot->dir));
}

static void slot_clear(struct cgroup_slot *slot)
{
	free(slot->path);
	free(slot->dir);
	free(slot->key);
	*slot = (struct cgroup_slot){0};
}

/* Gives a slot its cgroup. */
static int slot_set(struct cgroup_slot *slot, const struct cgroup_hierarchy *hierarchy, const char *path)
{
	char dir[PATH_MAX];
	int err = cgroup_hierarchy_dir(hierarchy, path, dir);
	u64 id = err ? 0 : cgroup_dir_id(hierarchy, dir);
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

/* One that is free, or whose cgroup is gone: of this rule first, so that what comes and goes needs no more slots than
 * are there at a time. What users made gives way to what is the host's. NULL: all are in use. */
static struct cgroup_slot *slot_find(struct cgroup_selection *selection, const struct cgroup_rule *rule,
				     bool is_users)
{
	for (size_t i = 0; i < selection->cnt; i++) {
		struct cgroup_slot *slot = &selection->slots[i];

		if (!slot->rule || (slot->rule == rule && slot_is_gone(slot)))
			return slot;
	}
	if (selection->cnt < LIMIT_SELECTION_CGROUPS)
		return &selection->slots[selection->cnt++];
	for (size_t i = 0; i < selection->cnt; i++) {
		if (slot_is_gone(&selection->slots[i]) || (selection->slots[i].is_users && !is_users))
			return &selection->slots[i];
	}
	return NULL;
}

static struct cgroup_slot *slot_take(struct cgroup_selection *selection, const struct cgroup_rule *rule,
				     bool is_users)
{
	struct cgroup_slot *slot = slot_find(selection, rule, is_users);

	if (!slot) {
		selection->troubles |= CGROUP_TROUBLE_SLOTS;
		return NULL;
	}
	slot_clear(slot);
	slot->rule = rule;
	slot->is_users = is_users;
	return slot;
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

/* Whether the host itself has a container that the rule means. */
static bool host_has(const struct cgroup_selection *selection, const struct cgroup_rule *rule)
{
	for (size_t i = 0; i < selection->cnt; i++) {
		const struct cgroup_slot *slot = &selection->slots[i];

		if (slot->rule == rule && !slot->is_users && !slot_is_gone(slot))
			return true;
	}
	return false;
}

static bool users_yield(struct cgroup_selection *selection)
{
	bool changed = false;

	for (size_t i = 0; i < selection->cnt; i++) {
		if (selection->slots[i].is_users && host_has(selection, selection->slots[i].rule)) {
			slot_clear(&selection->slots[i]);
			changed = true;
		}
	}
	return changed;
}

struct rule_search {
	struct cgroup_selection *selection;
	const struct cgroup_rule *rule;
	const struct cgroup_hierarchy *hierarchy;
	bool takes_users;
	bool changed;
	struct container_id id;
	const struct container *container; /* of the cgroup of `id`; NULL: none */
	char unit[PATH_MAX];		   /* the unit that the walk is in; "": none */
	size_t unit_cnt;
};

/* Of search->id. */
static enum cgroup_rule_verdict judge(struct rule_search *search)
{
	struct container_table *containers = search->selection->containers;

	search->container = containers && search->rule->kind >= CGROUP_RULE_CONTAINER
				    ? container_table_find(containers, &search->id)
				    : NULL;
	return cgroup_rule_judge(search->rule, &search->id, search->container);
}

static bool is_users(const struct rule_search *search)
{
	return search->rule->kind == CGROUP_RULE_CONTAINER && search->id.in_user_manager;
}

/* "": it is of no container or pod. */
static void format_key(char key[KEY_SZ], const struct rule_search *search)
{
	const struct container_id *id = &search->id;
	const char *own = search->container ? search->container->id : id->pod_uid;

	key[0] = '\0';
	if (search->rule->kind >= CGROUP_RULE_CONTAINER && own[0])
		snprintf(key, KEY_SZ, "%s/%s/%u", own, id->outermost,
			 id->in_user_manager ? id->manager_uid + 1 : 0);
}

/* Whether the rule has that container or pod in another hierarchy. */
static bool is_elsewhere(const struct rule_search *search, const char *key)
{
	for (size_t i = 0; key[0] && i < search->selection->cnt; i++) {
		const struct cgroup_slot *slot = &search->selection->slots[i];

		if (slot->rule == search->rule && slot->hierarchy != search->hierarchy && slot->key &&
		    strcmp(slot->key, key) == 0 && !slot_is_gone(slot))
			return true;
	}
	return false;
}

static void take_in(struct rule_search *search, const char *path, const char *key)
{
	struct cgroup_selection *selection = search->selection;
	struct cgroup_slot *slot;

	for (size_t i = 0; i < selection->cnt; i++) {
		slot = &selection->slots[i];
		if (slot->rule == search->rule && slot->hierarchy == search->hierarchy && slot->path &&
		    strcmp(slot->path, path) == 0)
			return;
	}
	slot = slot_take(selection, search->rule, is_users(search));
	if (!slot)
		return;
	search->changed = true;
	if (slot_set(slot, search->hierarchy, path))
		slot_clear(slot);
	else if (key[0])
		slot->key = strdup(key);
}

/* Whether the walk has seen enough of the unit that it is in. */
static bool is_past_unit(struct rule_search *search, const char *path)
{
	if (!search->unit[0] || !cgroup_path_is_within(path, strlen(path), search->unit)) {
		search->unit[0] = '\0';
		return false;
	}
	if (search->unit_cnt++ < CGROUP_SELECTION_UNIT_MAX)
		return false;
	search->selection->troubles |= CGROUP_TROUBLE_SEARCH;
	return true;
}

static int on_cgroup_of_rule(void *ctx, const char *path, u64 id)
{
	struct rule_search *search = ctx;
	enum cgroup_rule_verdict verdict;
	char key[KEY_SZ];

	(void)id;
	if (is_past_unit(search, path))
		return CGROUP_WALK_NOT_BESIDE;
	decode_cgroup_path(path, strlen(path), &search->id);
	if (is_users(search) && !search->takes_users)
		return CGROUP_WALK_NOT_BELOW;
	verdict = judge(search);
	if (verdict == CGROUP_RULE_ENDS)
		return CGROUP_WALK_NOT_BELOW;
	if (verdict == CGROUP_RULE_MEANS) {
		format_key(key, search);
		if (!is_elsewhere(search, key))
			take_in(search, path, key);
		return CGROUP_WALK_NOT_BELOW;
	}
	if (!search->unit[0] && search->id.unit[0]) {
		snprintf(search->unit, sizeof(search->unit), "%s", path);
		search->unit_cnt = 0;
	}
	return CGROUP_WALK_ON;
}

static bool search_hierarchies(struct cgroup_selection *selection, const struct cgroup_rule *rule,
			       bool takes_users)
{
	bool is_unit = rule->kind == CGROUP_RULE_UNIT;
	const struct cgroup_hierarchy *own = is_unit ? rule_hierarchy(selection, rule) : NULL;
	struct rule_search search = {.selection = selection, .rule = rule, .takes_users = takes_users};

	for (size_t i = 0; !(is_unit && search.changed) && i < selection->hierarchies->cnt; i++) {
		search.hierarchy = &selection->hierarchies->list[i];
		if (own && own != search.hierarchy)
			continue;
		search.unit[0] = '\0';
		if (cgroup_hierarchy_walk(search.hierarchy, on_cgroup_of_rule, &search) == -EFBIG)
			selection->troubles |= CGROUP_TROUBLE_SEARCH;
	}
	return search.changed;
}

static bool search_rule(struct cgroup_selection *selection, const struct cgroup_rule *rule)
{
	bool changed = search_hierarchies(selection, rule, false);

	if (rule->kind == CGROUP_RULE_CONTAINER && !host_has(selection, rule))
		changed |= search_hierarchies(selection, rule, true);
	return changed;
}

static bool asks_names(const struct cgroup_selection *selection)
{
	for (size_t i = 0; i < selection->config.rule_cnt; i++) {
		if (selection->config.rules[i].kind >= CGROUP_RULE_CONTAINER)
			return true;
	}
	return false;
}

/* Without memory, what is known of the containers stays. */
static int containers_renew(struct cgroup_selection *selection, u64 now_ns)
{
	/* From inside of a container that shares the host's pids, that is where the host's files are. */
	static const char host_root[] = "/proc/1/root";
	const char *root = selection->config.state_root ?: access(host_root, X_OK) == 0 ? host_root : "/";
	struct container_table *containers;
	int err;

	if (!asks_names(selection))
		return 0;
	err = container_table_new(&containers, root);
	if (err)
		return err;
	container_table_free(selection->containers);
	selection->containers = containers;
	selection->containers_ns = now_ns;
	return 0;
}

static bool search_rules(struct cgroup_selection *selection, u64 now_ns)
{
	bool changed = false;

	selection->searched_ns = now_ns;
	for (size_t i = 0; i < selection->config.rule_cnt; i++) {
		if (selection->config.rules[i].kind != CGROUP_RULE_PATH)
			changed |= search_rule(selection, &selection->config.rules[i]);
	}
	return users_yield(selection) || changed;
}

static int slot_locate(struct cgroup_selection *selection, struct cgroup_slot *slot)
{
	const struct cgroup_hierarchy *hierarchy;
	char path[PATH_MAX];
	int err = cgroup_locate(selection->hierarchies, slot->rule, &hierarchy, path);

	if (err == -EFBIG)
		selection->troubles |= CGROUP_TROUBLE_SEARCH;
	return err ?: slot_set(slot, hierarchy, path);
}

static int read_hierarchies(const struct cgroup_selection *selection, struct cgroup_hierarchies *hierarchies)
{
	return selection->config.read_hierarchies ? selection->config.read_hierarchies(hierarchies)
						  : cgroup_hierarchies_read(hierarchies);
}

/* Those that users made give way, and are no error: nobody may keep others from recording. */
static bool is_full(const struct cgroup_selection *selection)
{
	for (size_t i = 0; i < selection->cnt; i++) {
		if (selection->slots[i].is_users)
			return false;
	}
	return selection->troubles & CGROUP_TROUBLE_SLOTS;
}

static int find_all(struct cgroup_selection *selection)
{
	u64 now_ns = clock_monotonic_ns();
	int err = read_hierarchies(selection, selection->hierarchies);

	selection->hierarchies_ns = now_ns;
	err = err ?: containers_renew(selection, now_ns);
	for (size_t i = 0; !err && i < selection->config.rule_cnt; i++) {
		struct cgroup_slot *slot;

		if (selection->config.rules[i].kind != CGROUP_RULE_PATH)
			continue;
		slot = slot_take(selection, &selection->config.rules[i], false);
		err = slot ? slot_locate(selection, slot) : -E2BIG;
		if (err == -ENOENT || err == -EFBIG)
			err = 0;
	}
	if (!err)
		(void)search_rules(selection, now_ns);
	return err ?: is_full(selection) ? -E2BIG : 0;
}

int cgroup_selection_new(struct cgroup_selection **ret_selection,
			 const struct cgroup_selection_config *config)
{
	struct cgroup_selection *selection = calloc(1, sizeof(*selection));
	int err;

	if (!selection)
		return -ENOMEM;
	selection->config = *config;
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
	for (size_t i = 0; i < selection->cnt; i++)
		slot_clear(&selection->slots[i]);
	container_table_free(selection->containers);
	free(selection->hierarchies);
	free(selection);
}

bool cgroup_selection_has(const struct cgroup_selection *selection, const struct cgroup_rule *rule)
{
	return rule_hierarchy(selection, rule) != NULL;
}

u32 cgroup_selection_troubles(const struct cgroup_selection *selection)
{
	return selection->troubles;
}

/* The set of kinds that rules, and cgroups, are there for. */
static u32 kinds_of(const struct cgroup_selection *selection, bool only_found)
{
	u32 kinds = 0;

	for (size_t i = 0; i < selection->config.rule_cnt; i++) {
		const struct cgroup_rule *rule = &selection->config.rules[i];

		if (!rule->is_excluded && (!only_found || rule_hierarchy(selection, rule)))
			kinds |= 1u << rule->kind;
	}
	return kinds;
}

bool cgroup_selection_is_ready(const struct cgroup_selection *selection)
{
	return kinds_of(selection, true) == kinds_of(selection, false);
}

/* Linux 4.6 on, include/linux/proc_ns.h: the number of the host's own. */
static bool is_in_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/cgroup", &st) == 0 && st.st_ino != 0xEFFFFFFBU;
}

void cgroup_selection_explain(const struct cgroup_selection *selection, const struct cgroup_rule *rule,
			      char *ret_text, size_t sz)
{
	static const char *const KINDS[] = {"cgroup", "unit", "container", "pod"};
	char shown[256], nearest[2048], unseen[128] = "";

	cgroup_nearest_format(nearest, sizeof(nearest), rule, selection->hierarchies, selection->containers);
	if (selection->troubles & CGROUP_TROUBLE_SEARCH)
		snprintf(unseen, sizeof(unseen),
			 " among those looked at (at most %d of a hierarchy, and %d of a unit)",
			 CGROUP_WALK_MAX, CGROUP_SELECTION_UNIT_MAX);
	snprintf(ret_text, sz, "there is no %s '%s'%s%s%s", KINDS[rule->kind],
		 printable_text(shown, sizeof(shown), rule->text), unseen, nearest,
		 !selection->hierarchies->cnt ? " (no cgroups are mounted)"
		 : is_in_namespace() ? " (panopy's container sees its own cgroups alone: start it with "
				       "--cgroupns=host)"
				     : "");
}

/* A cgroup that was made anew has another id. */
static bool slot_refresh(struct cgroup_selection *selection, struct cgroup_slot *slot)
{
	bool is_by_id = slot->rule && cgroup_rule_is_id(slot->rule);
	u64 id;

	if (!slot->dir)
		return slot->rule && slot->rule->kind == CGROUP_RULE_PATH && !is_by_id &&
		       slot_locate(selection, slot) == 0;
	id = cgroup_dir_id(slot->hierarchy, slot->dir);
	if (!id || id == slot->id || is_by_id)
		return false;
	slot->id = id;
	return true;
}

static bool slots_refresh(struct cgroup_selection *selection)
{
	bool changed = false;

	for (size_t i = 0; i < selection->cnt; i++)
		changed |= slot_refresh(selection, &selection->slots[i]);
	return changed;
}

static const struct cgroup_hierarchy *same_hierarchy(const struct cgroup_hierarchies *hierarchies,
						     const struct cgroup_hierarchy *hierarchy)
{
	for (size_t i = 0; i < hierarchies->cnt; i++) {
		if (hierarchies->list[i].id == hierarchy->id)
			return &hierarchies->list[i];
	}
	return NULL;
}

/* What was mounted meanwhile. A slot in what is no longer mounted begins anew. */
static bool hierarchies_renew(struct cgroup_selection *selection, u64 now_ns)
{
	struct cgroup_hierarchies *hierarchies = calloc(1, sizeof(*hierarchies));
	bool changed = false;

	selection->hierarchies_ns = now_ns;
	if (!hierarchies || read_hierarchies(selection, hierarchies)) {
		free(hierarchies);
		return false;
	}
	for (size_t i = 0; i < selection->cnt; i++) {
		struct cgroup_slot *slot = &selection->slots[i];
		const struct cgroup_rule *rule = slot->rule;
		const struct cgroup_hierarchy *same =
			slot->hierarchy ? same_hierarchy(hierarchies, slot->hierarchy) : NULL;

		if (slot->hierarchy && !same) {
			slot_clear(slot);
			slot->rule = rule->kind == CGROUP_RULE_PATH ? rule : NULL;
			changed = true;
		}
		slot->hierarchy = same;
	}
	free(selection->hierarchies);
	selection->hierarchies = hierarchies;
	return changed;
}

bool cgroup_selection_refresh(struct cgroup_selection *selection, u64 now_ns, bool waits)
{
	u64 search_ms = !waits ? SEARCH_MORE_MS : asks_names(selection) ? SEARCH_NAMES_MS : SEARCH_MS;
	u64 names_ms = waits ? SEARCH_NAMES_MS : RENEW_NAMES_MS;
	bool changed = false;

	if (waits && now_ns >= selection->hierarchies_ns + SEARCH_NAMES_MS * CLOCK_NS_PER_MS)
		changed = hierarchies_renew(selection, now_ns);
	changed |= slots_refresh(selection);
	if (now_ns < selection->searched_ns + search_ms * CLOCK_NS_PER_MS)
		return changed;
	if (now_ns >= selection->containers_ns + names_ms * CLOCK_NS_PER_MS)
		(void)containers_renew(selection, now_ns);
	return search_rules(selection, now_ns) || changed;
}

/* The uppermost cgroup on the path that the rule means. */
static bool learn_path(struct rule_search *search, const char *path, size_t sz)
{
	enum cgroup_rule_verdict verdict = CGROUP_RULE_PASSES;
	char part[PATH_MAX], key[KEY_SZ];

	if (sz >= sizeof(part))
		return false;
	for (size_t at = 1; verdict == CGROUP_RULE_PASSES && at <= sz; at++) {
		if (at < sz && path[at] != '/')
			continue;
		memcpy(part, path, at);
		part[at] = '\0';
		decode_cgroup_path(part, at, &search->id);
		verdict = judge(search);
	}
	if (verdict != CGROUP_RULE_MEANS)
		return false;
	format_key(key, search);
	if (!is_users(search) || !host_has(search->selection, search->rule))
		take_in(search, part, key);
	return true;
}

static bool slot_holds(const struct cgroup_slot *slot, const char *text)
{
	size_t sz;
	const char *path = slot->id ? cgroup_text_path(text, slot->hierarchy->id, &sz) : NULL;

	return path && cgroup_path_is_within(path, sz, slot->path);
}

/* A process that a slot of the rule holds has nothing to tell. */
static bool learn_rule(struct cgroup_selection *selection, const struct cgroup_rule *rule, const char *text)
{
	const struct cgroup_hierarchy *own =
		rule->kind == CGROUP_RULE_UNIT ? rule_hierarchy(selection, rule) : NULL;
	struct rule_search search = {.selection = selection, .rule = rule};
	bool found = rule->kind == CGROUP_RULE_PATH;

	for (size_t i = 0; !found && i < selection->cnt; i++)
		found = selection->slots[i].rule == rule && slot_holds(&selection->slots[i], text);
	for (size_t i = 0; !found && i < selection->hierarchies->cnt; i++) {
		size_t sz;
		const char *path;

		search.hierarchy = &selection->hierarchies->list[i];
		path = cgroup_text_path(text, search.hierarchy->id, &sz);
		if (path && (!own || own == search.hierarchy))
			found = learn_path(&search, path, sz);
	}
	return search.changed;
}

bool cgroup_selection_learn(struct cgroup_selection *selection, const char *text)
{
	bool changed = slots_refresh(selection);

	for (size_t i = 0; i < selection->config.rule_cnt; i++)
		changed |= learn_rule(selection, &selection->config.rules[i], text);
	return users_yield(selection) || changed;
}

bool cgroup_selection_holds(const struct cgroup_selection *selection, const char *text)
{
	u32 wanted = kinds_of(selection, false), met = 0;

	for (size_t i = 0; i < selection->cnt; i++) {
		const struct cgroup_slot *slot = &selection->slots[i];

		if (!slot_holds(slot, text))
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
	/* Of what is mounted while it waits, nothing is known yet. */
	bool waits = !cgroup_selection_is_ready(selection);

	ret_config->cgroup_kinds = kinds_of(selection, false);
	ret_config->uses_v1 = waits;
	ret_config->uses_v2 = waits;
	for (size_t i = 0; i < selection->config.rule_cnt; i++)
		ret_config->excludes_cgroups |= selection->config.rules[i].is_excluded;
	for (size_t i = 0; selection->config.rule_cnt && i < selection->hierarchies->cnt; i++) {
		if (selection->hierarchies->list[i].is_v2)
			ret_config->uses_v2 = 1;
		else
			ret_config->uses_v1 = 1;
	}
}
