/* SPDX-License-Identifier: Apache-2.0 */
/* A rule about cgroups, and what it makes of one. Units and pods are the host's own: a container's root, and each user
 * below user@UID.service, may call a cgroup as they like.
 */
#ifndef PANOPY_CGROUP_RULE_H
#define PANOPY_CGROUP_RULE_H

#include <stdbool.h>
#include <stddef.h>

#include "discover/container_table.h"

/* Each kind that is used must be met by one of its cgroups. At most 30 (selection_config.h). */
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

enum {
	/* Of what people call a container. */
	CGROUP_RULE_LABEL_SZ = 1024,
};

struct cgroup_rule {
	enum cgroup_rule_kind kind;
	bool is_excluded;
	char *text; /* owned by whoever made the rule */
};

enum cgroup_rule_verdict {
	CGROUP_RULE_PASSES, /* it is not meant, but one below may be */
	CGROUP_RULE_ENDS,   /* neither it nor what is below */
	CGROUP_RULE_MEANS,  /* it is, with all that is below */
};

/* Whether the path of a rule is a number: the id of a cgroup. */
bool cgroup_rule_is_id(const struct cgroup_rule *rule);

/* What a rule of another kind than CGROUP_RULE_PATH makes of a cgroup; `container`, which only rules for containers and
 * pods need, NULL: it is none, or not known. */
enum cgroup_rule_verdict cgroup_rule_judge(const struct cgroup_rule *rule, const struct container_id *id,
					   const struct container *container);

#endif
