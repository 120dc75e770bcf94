/* SPDX-License-Identifier: Apache-2.0 */
/* The cgroups that a recording is about: from what was asked for (a path, an id, a unit's name) to the
 * directories that are there now. Cgroups come and go: one that is removed and made anew by the same path is the
 * same to whoever asked for it.
 */
#ifndef PANOPY_CGROUP_SELECTION_H
#define PANOPY_CGROUP_SELECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "discover/cgroup_hierarchy.h"
#include "selection_config.h"

/* Kinds of rules; each that is used must be met by one of its cgroups. At most 30 (selection_config.h). */
enum cgroup_rule_kind {
	/* A path from a hierarchy's root or in the file system, or an id: one cgroup. */
	CGROUP_RULE_PATH = 0,
	/* The cgroups of the unit of that name of the host's systemd. */
	CGROUP_RULE_UNIT = 1,
	/* The cgroups of containers of the host whose name begins so, or whose id does (4 digits or more). */
	CGROUP_RULE_CONTAINER = 2,
	/* Those of a Kubernetes pod: NAMESPACE/NAME, or its UID. */
	CGROUP_RULE_POD = 3,
};

struct cgroup_rule {
	enum cgroup_rule_kind kind;
	bool is_excluded;
	char *text; /* owned by whoever made the rule */
};

struct cgroup_slot {
	const struct cgroup_rule *rule;
	const struct cgroup_hierarchy *hierarchy; /* NULL: not found yet */
	char *path;				  /* as /proc/PID/cgroup writes it; NULL: not found yet */
	char *dir;
	u64 id; /* 0: not found yet; a removed one keeps its id */
};

struct cgroup_selection;

/* Looks for the cgroups of the rules, which must outlive the result. -E2BIG: more than
 * LIMIT_SELECTION_CGROUPS. -ENOTUNIQ: an id that several hierarchies have. */
int cgroup_selection_new(struct cgroup_selection **ret_selection, const struct cgroup_rule *rules,
			 size_t rule_cnt);
void cgroup_selection_free(struct cgroup_selection *selection);

/* The first rule of which no cgroup is there; NULL: none. */
const struct cgroup_rule *cgroup_selection_missing(const struct cgroup_selection *selection);
/* Whether each kind has a cgroup: before that no process can be selected. */
bool cgroup_selection_is_ready(const struct cgroup_selection *selection);
/* "there is no such cgroup", and which there are that it may have meant; one sentence, printable. */
void cgroup_selection_explain(const struct cgroup_selection *selection, const struct cgroup_rule *rule,
			      char *ret_text, size_t sz);

/* Looks again; true when a slot changed or came. A look at each slot, and at all cgroups (every few seconds)
 * where a rule may have more than one. */
bool cgroup_selection_refresh(struct cgroup_selection *selection, u64 now_ns);
/* The same in view of what /proc/PID/cgroup says of a process: a cgroup that the rules mean and that is new is
 * taken in at once. */
bool cgroup_selection_learn(struct cgroup_selection *selection, const char *text);

/* Whether a process with that /proc/PID/cgroup is selected, as the kernel side would say of it. */
bool cgroup_selection_holds(const struct cgroup_selection *selection, const char *text);

const struct cgroup_slot *cgroup_selection_slots(const struct cgroup_selection *selection, size_t *ret_cnt);
/* The settings of the kernel side that follow from the rules. */
void cgroup_selection_configure(const struct cgroup_selection *selection,
				struct selection_config *ret_config);

#endif
