/* SPDX-License-Identifier: Apache-2.0 */
/* The cgroup hierarchies of this host: version 2, version 1, or both beside each other; where each is mounted,
 * and which cgroup of it a process is in.
 *
 * Names of cgroups are chosen by whoever may make them: hostile text, bounded here, and shown only through
 * printable_text().
 */
#ifndef PANOPY_DISCOVER_CGROUP_HIERARCHY_H
#define PANOPY_DISCOVER_CGROUP_HIERARCHY_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "shared_types.h"

enum {
	/* Version 2, a controller each, and some named ones. */
	CGROUP_HIERARCHIES_MAX = 32,
	CGROUP_HIERARCHY_NAME_SZ = 128,
	/* Of /proc/PID/cgroup: a path for each hierarchy, most of them the same and short. */
	CGROUP_TEXT_SZ = 64 << 10,
	/* Cgroups that one walk looks at. */
	CGROUP_WALK_MAX = 1 << 17,
};

struct cgroup_hierarchy {
	u32 id; /* as in /proc/PID/cgroup; 0 for version 2 */
	bool is_v2;
	char name[CGROUP_HIERARCHY_NAME_SZ]; /* "cpu,cpuacct", "name=systemd"; "" for version 2 */
	char controller[32];		     /* the first; "" where it has none */
	char mount[PATH_MAX];		     /* where it is mounted */
	char root[PATH_MAX];		     /* the cgroup that is mounted there; "/" mostly */
};

struct cgroup_hierarchies {
	size_t cnt;
	/* Version 2 first, then systemd's own, then those of CPU time, then the rest: what a path that several
	 * have stands for. */
	struct cgroup_hierarchy list[CGROUP_HIERARCHIES_MAX];
};

/* From the texts of /proc/PID/mountinfo and /proc/PID/cgroup; lines that make no sense are left out, and so is
 * what is not mounted. is_covered tells of a mount, by its id, whether its path leads to another one. */
void cgroup_hierarchies_decode(struct cgroup_hierarchies *ret_hierarchies, const char *mountinfo,
			       const char *cgroup, bool (*is_covered)(const char *mount, u64 id));
/* Those of this process. 0 (also without any), -ENOMEM, or -errno when /proc cannot be read. */
int cgroup_hierarchies_read(struct cgroup_hierarchies *ret_hierarchies);

/* The directory of a cgroup, from its path as /proc/PID/cgroup writes it. -ENOENT: it lies outside of what is
 * mounted. -ENAMETOOLONG. */
int cgroup_hierarchy_dir(const struct cgroup_hierarchy *hierarchy, const char *path, char ret_dir[PATH_MAX]);
/* The cgroup of a directory below the hierarchy's mount; -ENOENT: it is not there. Nothing is looked up. */
int cgroup_hierarchy_path(const struct cgroup_hierarchy *hierarchy, const char *dir, char ret_path[PATH_MAX]);

/* /proc/PID/cgroup, into CGROUP_TEXT_SZ bytes; -ESRCH: gone. */
int cgroup_text_read(pid_t pid, char ret_text[CGROUP_TEXT_SZ]);
/* The process's path in that hierarchy, `*ret_sz` bytes of the text; NULL: there is none. */
const char *cgroup_text_path(const char *text, u32 hierarchy_id, size_t *ret_sz);

/* Whether the path of `sz` bytes is the cgroup `top` or below it. */
bool cgroup_path_is_within(const char *path, size_t sz, const char *top);

/* What a callback of a walk answers; a negative number ends the walk and is returned. */
enum cgroup_walk_step {
	CGROUP_WALK_ON,
	CGROUP_WALK_NOT_BELOW,	/* leaves out what is below */
	CGROUP_WALK_NOT_BESIDE, /* and what comes after it in the same directory */
};

/* Calls on_cgroup for every cgroup of the hierarchy that is mounted, parents first, with its path as
 * /proc/PID/cgroup writes it and its id. -EFBIG past CGROUP_WALK_MAX. */
int cgroup_hierarchy_walk(const struct cgroup_hierarchy *hierarchy,
			  int (*on_cgroup)(void *ctx, const char *path, u64 id), void *ctx);

#endif
