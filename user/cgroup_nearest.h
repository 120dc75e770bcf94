/* SPDX-License-Identifier: Apache-2.0 */
/* The names that somebody may have meant who gave one that is not there. */
#ifndef PANOPY_CGROUP_NEAREST_H
#define PANOPY_CGROUP_NEAREST_H

#include "cgroup_rule.h"
#include "discover/cgroup_hierarchy.h"

/* ": did you mean A, B or C?", printable; "" where nothing is near. */
void cgroup_nearest_format(char *ret_text, size_t sz, const struct cgroup_rule *rule,
			   const struct cgroup_hierarchies *hierarchies, struct container_table *containers);

#endif
