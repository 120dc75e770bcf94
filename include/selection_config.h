/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes are sampled, as far as the kernel side decides it: by the cgroup and the user that the
 * thread has when it is interrupted. Users are settings (sampler_config.h); cgroups may come, go and come
 * again during a recording and stand in the one value of the `selection_cgroups` map, which user space
 * writes and the sampler reads.
 */
#ifndef PANOPY_SELECTION_CONFIG_H
#define PANOPY_SELECTION_CONFIG_H

#include "shared_types.h"

enum {
	/* Cgroups of one recording, the excluded ones included: each costs every sample a look. */
	LIMIT_SELECTION_CGROUPS = 64,
	/* Users, likewise. */
	LIMIT_SELECTION_USERS = 32,
	/* Levels of a version 1 hierarchy that are looked at, from the thread's cgroup upwards. Systemd and the
	 * container runtimes nest them five to ten deep; who may make some may make more, to be out of a selection. */
	LIMIT_SELECTION_DEPTH = 256,
	/* Hierarchies that a task can be in: one of version 2, one for each controller (14 in Linux 6.18) and
	 * named ones. */
	LIMIT_SELECTION_HIERARCHIES = 32,
};

enum selection_hierarchy {
	SELECTION_HIERARCHY_NONE = 0,
	/* Version 2: the entry of the `cgroup_dirs` map with the slot's index holds the cgroup. */
	SELECTION_HIERARCHY_V2 = 1,
	/* Version 1 with a controller: `number` is its cgroup_subsys_id. */
	SELECTION_HIERARCHY_CONTROLLER = 2,
	/* Version 1 with a name only: `number` is its hierarchy id, as in /proc/self/cgroup. */
	SELECTION_HIERARCHY_NAMED = 3,
};

/* A thread in this cgroup or below is excluded; other kinds must each be met by one of their cgroups. */
#define SELECTION_KIND_EXCLUDED 31u

struct selection_cgroup {
	u64 id;	       /* its kernfs_node id, the inode number of its directory; 0: it is not there */
	u32 hierarchy; /* enum selection_hierarchy */
	u32 number;
	u32 kind; /* 0 to 30, or SELECTION_KIND_EXCLUDED */
	u32 reserved;
};

struct selection_cgroups {
	u32 cnt;
	u32 reserved;
	struct selection_cgroup slots[LIMIT_SELECTION_CGROUPS];
};

SHARED_ASSERT_SIZE(struct selection_cgroup, 24);

/* Of the settings; all 0: every process is selected. */
struct selection_config {
	/* Set of kinds: each must be met. */
	u32 cgroup_kinds;
	/* Whether there are cgroups to exclude. */
	u32 excludes_cgroups;
	/* Whether version 2, version 1 are among the hierarchies: what is not, is not even loaded. */
	u32 uses_v2;
	u32 uses_v1;
	u32 user_cnt;
	u32 excluded_user_cnt;
	/* The selected ones, then the excluded ones. */
	u32 users[LIMIT_SELECTION_USERS];
};

SHARED_ASSERT_SIZE(struct selection_config, 24 + 4 * LIMIT_SELECTION_USERS);

#endif
