/* SPDX-License-Identifier: Apache-2.0 */
/* The one cgroup that a path or an id means. A path that several hierarchies have means the first of them in the order
 * of cgroup_hierarchies.
 */
#ifndef PANOPY_CGROUP_LOCATE_H
#define PANOPY_CGROUP_LOCATE_H

#include "cgroup_rule.h"
#include "discover/cgroup_hierarchy.h"

/* Its inode number; 0: it is no directory that is there, or one of another file system that is mounted in its place. */
u64 cgroup_dir_id(const struct cgroup_hierarchy *hierarchy, const char *dir);

/* For a rule of CGROUP_RULE_PATH; the path is that of /proc/PID/cgroup. -ENOENT. -ENOTUNIQ: an id that several hierarchies
 * have. -EFBIG: there are too many cgroups to look for it. */
int cgroup_locate(const struct cgroup_hierarchies *hierarchies, const struct cgroup_rule *rule,
		  const struct cgroup_hierarchy **ret_hierarchy, char ret_path[PATH_MAX]);

#endif
