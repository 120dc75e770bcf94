/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes the user asked for: rules by kind, where every kind that is used must be met, by any of its
 * rules, and no exclusion. Who decides:
 *
 *   cgroup, unit, container, pod, user
 *                        the kernel side at each tick, by what the thread is then
 *   name, exe, python    this module, when the interpreter has been found and before the kernel side is told of
 *                        the process; again after an exec
 *   pid                  the target table
 */
#ifndef PANOPY_SELECTION_H
#define PANOPY_SELECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "cgroup_selection.h"
#include "discover/process_table.h"
#include "runtime/py_runtime.h"
#include "selection_config.h"

enum selection_kind {
	SELECTION_CGROUP,
	SELECTION_UNIT,
	SELECTION_CONTAINER, /* the beginning of its name or id */
	SELECTION_POD,	     /* "namespace/name", or its UID */
	SELECTION_USER,
	SELECTION_NAME,	  /* extended regular expression, found in comm, script or module */
	SELECTION_EXE,	  /* glob of the executable's path, or of its last name */
	SELECTION_PYTHON, /* "3.12", "3.12+", "3.11-3.13", with a third number, too */
	SELECTION_KIND_COUNT
};

struct selection;

int selection_new(struct selection **ret_selection);
void selection_free(struct selection *selection);

/* What the option of the kind, and --exclude, call it. */
const char *selection_kind_name(enum selection_kind kind);

/* Takes one value. 0, -ENOMEM, or -EINVAL with the end of a sentence in `ret_error`: what is wrong with it. */
int selection_add(struct selection *selection, enum selection_kind kind, bool is_excluded, const char *value,
		  char *ret_error, size_t sz);
/* The same for "KIND=VALUE", which is to be left out. */
int selection_exclude(struct selection *selection, const char *text, char *ret_error, size_t sz);

/* No rule at all: every process is selected. NULL counts as that. */
bool selection_is_empty(const struct selection *selection);

/* Whether a rule selects, rather than excludes, by a cgroup. */
bool selection_has_cgroups(const struct selection *selection);

/* Looks for the cgroups: to be called once, before any of the functions below. `waits`: they may come later, but
 * for those by id. Else a rule without one is an error, unless it excludes: -ENOENT and a sentence. */
int selection_resolve(struct selection *selection, bool waits, char *ret_error, size_t sz);
/* Whether a process can be selected yet: each kind of cgroup has one. */
bool selection_is_ready(const struct selection *selection);

enum selection_verdict {
	SELECTION_REFUSED,
	SELECTION_ACCEPTED,
	SELECTION_UNDECIDED, /* its arguments are not there yet: ask again in a moment */
};

/* Whether a rule is by name, executable or version. */
bool selection_judges(const struct selection *selection);
/* By these. `for_good`: arguments that are not there will not come, and it is decided without. */
enum selection_verdict selection_judge(const struct selection *selection, const struct process *process,
				       const struct py_runtime *runtime, bool for_good);
/* By cgroup and user, as they are now; cgroups that are new to the rules are taken in. True where /proc cannot
 * tell and the rules are none of these. */
bool selection_holds(struct selection *selection, const struct process *process);

/* Looks whether cgroups came or were made anew; more often while it `waits` for them. */
void selection_refresh(struct selection *selection, u64 now_ns, bool waits);
/* Logs what was found since the last call that the user should know, each thing once: exclusions of what is not
 * there, cgroups that are too many. */
void selection_warn(struct selection *selection);
/* Called whenever selection_slots() changed. */
void selection_on_change(struct selection *selection, void (*on_change)(void *ctx), void *ctx);
const struct cgroup_slot *selection_slots(const struct selection *selection, size_t *ret_cnt);
void selection_configure(const struct selection *selection, struct selection_config *ret_config);

#endif
