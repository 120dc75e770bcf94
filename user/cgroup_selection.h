/* SPDX-License-Identifier: Apache-2.0 */
/* The cgroups that a recording is about: from what was asked for (a path, an id, a unit's name) to the
 * directories that are there now. Cgroups come and go: one that is removed and made anew by the same path is the
 * same to whoever asked for it.
 */
#ifndef PANOPY_CGROUP_SELECTION_H
#define PANOPY_CGROUP_SELECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "cgroup_rule.h"
#include "discover/cgroup_hierarchy.h"
#include "selection_config.h"

enum {
	/* Cgroups of one unit that a search looks at, so that a user's manager with very many hides no others:
	 * containers and pods that lie below a unit which is not their own are few. */
	CGROUP_SELECTION_UNIT_MAX = 4096,
};

struct cgroup_slot {
	const struct cgroup_rule *rule;		  /* NULL: free */
	const struct cgroup_hierarchy *hierarchy; /* NULL: not found yet */
	char *path;				  /* as /proc/PID/cgroup writes it; NULL: not found yet */
	char *dir;
	u64 id;	       /* 0: not found yet; a removed one keeps its id */
	bool is_users; /* of a container below user@UID.service */
	char *key;     /* what tells its container or pod from others; NULL: is none */
};

struct cgroup_selection_config {
	const struct cgroup_rule *rules; /* outlive the selection */
	size_t rule_cnt;
	/* NULL: cgroup_hierarchies_read() */
	int (*read_hierarchies)(struct cgroup_hierarchies *ret_hierarchies);
	const char *state_root; /* of the runtimes' state files; NULL: the host's */
};

struct cgroup_selection;

/* Looks for the cgroups of the rules. -E2BIG: more than LIMIT_SELECTION_CGROUPS. -ENOTUNIQ: an id that several
 * hierarchies have. */
int cgroup_selection_new(struct cgroup_selection **ret_selection,
			 const struct cgroup_selection_config *config);
void cgroup_selection_free(struct cgroup_selection *selection);

/* Whether a cgroup of the rule is there, or was. */
bool cgroup_selection_has(const struct cgroup_selection *selection, const struct cgroup_rule *rule);
/* Whether each kind has a cgroup: before that no process can be selected. */
bool cgroup_selection_is_ready(const struct cgroup_selection *selection);
/* "there is no such cgroup", and which there are that it may have meant; one sentence, printable. */
void cgroup_selection_explain(const struct cgroup_selection *selection, const struct cgroup_rule *rule,
			      char *ret_text, size_t sz);

enum cgroup_trouble {
	/* More cgroups than slots are meant: some are neither selected nor left out. */
	CGROUP_TROUBLE_SLOTS = 1,
	/* A search did not look at all: CGROUP_WALK_MAX, CGROUP_SELECTION_UNIT_MAX. */
	CGROUP_TROUBLE_SEARCH = 2,
};

/* The set of what has happened so far. */
u32 cgroup_selection_troubles(const struct cgroup_selection *selection);

/* Looks again; true when a slot changed or came. A look at each slot, and at all cgroups where a rule may have
 * more than one: every few seconds, more often while `waits` (nothing is recorded yet), then also at
 * hierarchies that were mounted meanwhile. */
bool cgroup_selection_refresh(struct cgroup_selection *selection, u64 now_ns, bool waits);
/* The same in view of what /proc/PID/cgroup says of a process: a cgroup that the rules mean and that is new is
 * taken in at once. */
bool cgroup_selection_learn(struct cgroup_selection *selection, const char *text);

/* Whether a process with that /proc/PID/cgroup is selected, as the kernel side would say of it. */
bool cgroup_selection_holds(const struct cgroup_selection *selection, const char *text);

/* Free ones included. */
const struct cgroup_slot *cgroup_selection_slots(const struct cgroup_selection *selection, size_t *ret_cnt);
/* The settings of the kernel side that follow from the rules. */
void cgroup_selection_configure(const struct cgroup_selection *selection,
				struct selection_config *ret_config);

#endif
