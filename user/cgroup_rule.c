/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroup_rule.h"

#include <stdio.h>
#include <string.h>

enum {
	/* Shorter beginnings of an id are taken for a name only. */
	ID_PREFIX_MIN = 4,
};

bool cgroup_rule_is_id(const struct cgroup_rule *rule)
{
	const char *text = rule->text;

	return rule->kind == CGROUP_RULE_PATH && *text && text[strspn(text, "0123456789")] == '\0';
}

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool begins_with(const char *text, const char *prefix)
{
	return text && strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Whether the rule names something that is nested in the container: "OUTERMOST/...". */
static bool means_inside(const char *text, const char *outermost)
{
	size_t sz = container_short_id_len(outermost);

	return strncmp(text, outermost, sz) == 0 && text[sz] == '/';
}

/* What is nested in another container has only the name that begins with the outer one's id: the host knows no
 * other. The label of one without a name is its id. */
static bool means_container(const char *text, const struct container *container)
{
	char label[CGROUP_RULE_LABEL_SZ];

	container_format_label(label, sizeof(label), container);
	if (container->outermost)
		return means_inside(text, container->outermost) && begins_with(label, text);
	if (container->name && (begins_with(label, text) || begins_with(container->name, text)))
		return true;
	return strlen(text) >= ID_PREFIX_MIN && begins_with(container->id, text);
}

/* Some are known by their path alone (runc's state names it), and then by no id in it. */
static enum cgroup_rule_verdict judge_container(const char *text, const struct container_id *id,
						const struct container *container)
{
	if (!container)
		return id->id[0] ? CGROUP_RULE_ENDS : CGROUP_RULE_PASSES;
	if (means_container(text, container))
		return CGROUP_RULE_MEANS;
	return means_inside(text, container->outermost ? container->outermost : container->id)
		       ? CGROUP_RULE_PASSES
		       : CGROUP_RULE_ENDS;
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

static bool has_pod_name(const char *text, const struct container *container)
{
	char name[CGROUP_RULE_LABEL_SZ];

	if (!container || !container->pod_namespace || !container->pod_name)
		return false;
	snprintf(name, sizeof(name), "%s/%s", container->pod_namespace, container->pod_name);
	return strcmp(name, text) == 0;
}

static enum cgroup_rule_verdict judge_pod(const char *text, const struct container_id *id,
					  const struct container *container)
{
	if (id->in_user_manager || id->outermost[0])
		return CGROUP_RULE_ENDS;
	if ((id->pod_uid[0] && uid_equals(id->pod_uid, text)) || has_pod_name(text, container))
		return CGROUP_RULE_MEANS;
	return container || id->id[0] ? CGROUP_RULE_ENDS : CGROUP_RULE_PASSES;
}

static bool is_slice(const char *text)
{
	const char *dot = strrchr(text, '.');

	return dot && dot > text && strcmp(dot, ".slice") == 0;
}

/* `id->unit` is the uppermost one of the path: what is below it was named by who runs there. */
static enum cgroup_rule_verdict judge_unit(const char *text, const struct container_id *id)
{
	if (strcmp(id->unit, text) == 0)
		return CGROUP_RULE_MEANS;
	if (id->id[0] || id->unit[0])
		return CGROUP_RULE_ENDS;
	return is_slice(text) && strcmp(last_name(id->path), text) == 0 ? CGROUP_RULE_MEANS
									: CGROUP_RULE_PASSES;
}

enum cgroup_rule_verdict cgroup_rule_judge(const struct cgroup_rule *rule, const struct container_id *id,
					   const struct container *container)
{
	switch (rule->kind) {
	case CGROUP_RULE_UNIT:
		return judge_unit(rule->text, id);
	case CGROUP_RULE_CONTAINER:
		return judge_container(rule->text, id, container);
	case CGROUP_RULE_POD:
		return judge_pod(rule->text, id, container);
	default:
		return CGROUP_RULE_ENDS;
	}
}
