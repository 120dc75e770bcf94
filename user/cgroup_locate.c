/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroup_locate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct place {
	const struct cgroup_hierarchies *hierarchies;
	const struct cgroup_hierarchy *hierarchy;
	char *path; /* of PATH_MAX */
};

u64 cgroup_dir_id(const struct cgroup_hierarchy *hierarchy, const char *dir)
{
	struct stat st, mount;

	return stat(dir, &st) == 0 && S_ISDIR(st.st_mode) && stat(hierarchy->mount, &mount) == 0 &&
			       st.st_dev == mount.st_dev
		       ? st.st_ino
		       : 0;
}

struct id_search {
	u64 id;
	const struct cgroup_hierarchy *hierarchy;
	struct place *place;
	size_t cnt;
};

static int on_cgroup_of_id(void *ctx, const char *path, u64 id)
{
	struct id_search *search = ctx;

	if (id != search->id)
		return CGROUP_WALK_ON;
	search->cnt++;
	search->place->hierarchy = search->hierarchy;
	snprintf(search->place->path, PATH_MAX, "%s", path);
	return CGROUP_WALK_ON;
}

static int locate_id(struct place *place, const char *text)
{
	struct id_search search = {.id = strtoull(text, NULL, 10), .place = place};
	int err = 0;

	for (size_t i = 0; i < place->hierarchies->cnt; i++) {
		search.hierarchy = &place->hierarchies->list[i];
		if (cgroup_hierarchy_walk(search.hierarchy, on_cgroup_of_id, &search) == -EFBIG)
			err = -EFBIG;
	}
	if (search.cnt > 1)
		return -ENOTUNIQ;
	return search.cnt ? 0 : err ?: -ENOENT;
}

/* Every end of the path may be the part below the mount that it lies in. */
static int locate_by_end(struct place *place, const char *text, const struct stat *wanted)
{
	char *real = realpath(text, NULL);
	int err = -ENOENT;

	for (size_t at = real ? strlen(real) : 0; err == -ENOENT && at-- > 0;) {
		if (real[at] != '/')
			continue;
		for (size_t i = 0; err == -ENOENT && i < place->hierarchies->cnt; i++) {
			const struct cgroup_hierarchy *hierarchy = &place->hierarchies->list[i];
			char dir[PATH_MAX];
			struct stat st;

			if (cgroup_hierarchy_dir(hierarchy, real + at, dir) || stat(dir, &st) ||
			    st.st_dev != wanted->st_dev || st.st_ino != wanted->st_ino)
				continue;
			place->hierarchy = hierarchy;
			snprintf(place->path, PATH_MAX, "%s", real + at);
			err = 0;
		}
	}
	free(real);
	return err;
}

/* A directory in the mounted file system. A hierarchy may be mounted in several places, also in part: the
 * device tells which it is, the inode which cgroup. */
static int locate_mounted(struct place *place, const char *text)
{
	struct id_search search = {.place = place};
	struct stat st, mount;
	int err;

	if (stat(text, &st) || !S_ISDIR(st.st_mode))
		return -ENOENT;
	search.id = st.st_ino;
	if (!locate_by_end(place, text, &st))
		return 0;
	for (size_t i = 0; i < place->hierarchies->cnt; i++) {
		search.hierarchy = &place->hierarchies->list[i];
		if (stat(search.hierarchy->mount, &mount) || mount.st_dev != st.st_dev)
			continue;
		err = cgroup_hierarchy_walk(search.hierarchy, on_cgroup_of_id, &search);
		return search.cnt == 1 ? 0 : err == -EFBIG ? err : -ENOENT;
	}
	return -ENOENT;
}

static int locate_path(struct place *place, const char *text)
{
	int err = locate_mounted(place, text);
	char dir[PATH_MAX];

	if (err != -ENOENT)
		return err;
	if (snprintf(place->path, PATH_MAX, "/%s", text + strspn(text, "/")) >= PATH_MAX)
		return -ENOENT;
	for (size_t i = 0; i < place->hierarchies->cnt; i++) {
		place->hierarchy = &place->hierarchies->list[i];
		if (!cgroup_hierarchy_dir(place->hierarchy, place->path, dir) &&
		    cgroup_dir_id(place->hierarchy, dir))
			return 0;
	}
	return -ENOENT;
}

int cgroup_locate(const struct cgroup_hierarchies *hierarchies, const struct cgroup_rule *rule,
		  const struct cgroup_hierarchy **ret_hierarchy, char ret_path[PATH_MAX])
{
	char path[PATH_MAX];
	struct place place = {.hierarchies = hierarchies, .path = path};
	int err = cgroup_rule_is_id(rule) ? locate_id(&place, rule->text) : locate_path(&place, rule->text);

	if (err)
		return err;
	*ret_hierarchy = place.hierarchy;
	memcpy(ret_path, path, strlen(path) + 1);
	return 0;
}
