/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroup_nearest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/edit_distance.h"
#include "base/printable.h"

enum { NEAREST_CNT = 3 };

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

struct nearest {
	struct container_table *containers;
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
static const char *name_of(const struct nearest *nearest, const char *path, char buf[CGROUP_RULE_LABEL_SZ])
{
	const struct container *container;
	struct container_id id;

	if (nearest->rule->kind == CGROUP_RULE_PATH)
		return path;
	decode_cgroup_path(path, strlen(path), &id);
	if (nearest->rule->kind == CGROUP_RULE_UNIT) {
		snprintf(buf, CGROUP_RULE_LABEL_SZ, "%s", id.unit);
		return id.unit[0] ? buf : NULL;
	}
	container = nearest->containers ? container_table_find(nearest->containers, &id) : NULL;
	if (!container ||
	    (nearest->rule->kind == CGROUP_RULE_POD && (!container->pod_name || id.in_user_manager)))
		return NULL;
	if (nearest->rule->kind == CGROUP_RULE_POD)
		snprintf(buf, CGROUP_RULE_LABEL_SZ, "%s/%s",
			 container->pod_namespace ? container->pod_namespace : "?", container->pod_name);
	else
		container_format_label(buf, CGROUP_RULE_LABEL_SZ, container);
	return buf;
}

static int on_near_cgroup(void *ctx, const char *cgroup, u64 id)
{
	struct nearest *nearest = ctx;
	char label[CGROUP_RULE_LABEL_SZ];
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

void cgroup_nearest_format(char *ret_text, size_t sz, const struct cgroup_rule *rule,
			   const struct cgroup_hierarchies *hierarchies, struct container_table *containers)
{
	struct nearest nearest = {.containers = containers, .rule = rule, .wanted = rule->text};
	char shown[256];

	ret_text[0] = '\0';
	if (cgroup_rule_is_id(rule))
		return;
	for (size_t i = 0; i < hierarchies->cnt; i++)
		(void)cgroup_hierarchy_walk(&hierarchies->list[i], on_near_cgroup, &nearest);
	for (size_t i = 0; i < nearest.cnt && nearest.paths[i]; i++) {
		append(ret_text, sz, i == 0 ? ": did you mean " : i + 1 == nearest.cnt ? " or " : ", ");
		append(ret_text, sz, printable_text(shown, sizeof(shown), nearest.paths[i]));
		free(nearest.paths[i]);
	}
	append(ret_text, sz, nearest.cnt ? "?" : "");
}
