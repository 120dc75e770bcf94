/* SPDX-License-Identifier: Apache-2.0 */
/* Formats: proc(5) for mountinfo, cgroups(7) for /proc/PID/cgroup. Both are the kernel's own text around names
 * that anybody may have chosen: in mountinfo space, tab, newline and backslash are \ooo, in cgroup a newline
 * cannot be in a name (kernfs refuses it, kernel/cgroup/cgroup.c cgroup_mkdir). */
#define _GNU_SOURCE
#include "discover/cgroup_hierarchy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/text_file.h"

enum {
	/* Hosts with thousands of containers have as many mounts. */
	MOUNTINFO_SZ = 16 << 20,
	/* Each level takes a file descriptor. As deep as the kernel side looks (selection_config.h). */
	WALK_DEPTH = 256,
};

/* The fields of a mountinfo line that matter. */
struct mount_line {
	u64 id;
	char root[PATH_MAX];
	char mount[PATH_MAX];
	char type[16];
	char options[256]; /* of the super block */
};

/* Up to the next space; -EINVAL when it does not fit. */
static int take_field(const char **text, const char *end, char *ret_field, size_t sz)
{
	const char *p = *text;
	size_t have = 0;

	while (p < end && *p != ' ') {
		char c = *p++;

		if (c == '\\' && end - p >= 3 && p[0] >= '0' && p[0] <= '3' && p[1] >= '0' && p[1] <= '7' &&
		    p[2] >= '0' && p[2] <= '7') {
			c = (char)((p[0] - '0') << 6 | (p[1] - '0') << 3 | (p[2] - '0'));
			p += 3;
		}
		if (!c || have + 1 >= sz)
			return -EINVAL;
		ret_field[have++] = c;
	}
	ret_field[have] = '\0';
	*text = p < end ? p + 1 : p;
	return have ? 0 : -EINVAL;
}

/* "36 35 98:0 /root /mount rw,noatime shared:1 - type source rw,options" */
static int decode_mount(const char *text, const char *end, struct mount_line *ret_line)
{
	char skipped[PATH_MAX];
	int err = take_field(&text, end, skipped, sizeof(skipped));

	ret_line->id = err ? 0 : strtoull(skipped, NULL, 10);
	for (int i = 0; i < 2 && !err; i++)
		err = take_field(&text, end, skipped, sizeof(skipped));
	err = err ?: take_field(&text, end, ret_line->root, sizeof(ret_line->root));
	err = err ?: take_field(&text, end, ret_line->mount, sizeof(ret_line->mount));
	do
		err = err ?: take_field(&text, end, skipped, sizeof(skipped));
	while (!err && strcmp(skipped, "-") != 0);
	err = err ?: take_field(&text, end, ret_line->type, sizeof(ret_line->type));
	err = err ?: take_field(&text, end, skipped, sizeof(skipped));
	return err ?: take_field(&text, end, ret_line->options, sizeof(ret_line->options));
}

/* Whether `list`, separated by commas, has the first word of `names`. */
static bool has_first(const char *list, const char *names)
{
	size_t sz = strcspn(names, ",");

	while (sz) {
		size_t word = strcspn(list, ",");

		if (word == sz && strncmp(list, names, sz) == 0)
			return true;
		if (!list[word])
			return false;
		list += word + 1;
	}
	return false;
}

/* "9:name=systemd:/path"; the hierarchy's id and names. */
static int decode_cgroup_line(const char *text, const char *end, struct cgroup_hierarchy *ret_hierarchy)
{
	char *after;
	unsigned long id = strtoul(text, &after, 10);
	const char *names = after + 1;
	const char *colon;
	size_t sz;

	if (after == text || after >= end || *after != ':' || id > UINT32_MAX)
		return -EINVAL;
	colon = memchr(names, ':', (size_t)(end - names));
	if (!colon || (size_t)(colon - names) >= sizeof(ret_hierarchy->name))
		return -EINVAL;
	memset(ret_hierarchy, 0, sizeof(*ret_hierarchy));
	ret_hierarchy->id = (u32)id;
	memcpy(ret_hierarchy->name, names, (size_t)(colon - names));
	ret_hierarchy->is_v2 = id == 0 && colon == names;
	if (!ret_hierarchy->is_v2 && colon == names)
		return -EINVAL;
	sz = strcspn(ret_hierarchy->name, ",");
	if (strncmp(ret_hierarchy->name, "name=", 5) != 0 && sz < sizeof(ret_hierarchy->controller))
		memcpy(ret_hierarchy->controller, ret_hierarchy->name, sz);
	return 0;
}

static bool is_mount_of(const struct mount_line *line, const struct cgroup_hierarchy *hierarchy)
{
	if (hierarchy->is_v2)
		return strcmp(line->type, "cgroup2") == 0;
	return strcmp(line->type, "cgroup") == 0 && has_first(line->options, hierarchy->name);
}

/* The mount that shows most of the hierarchy: the shortest root, and the first of those. */
static void find_mount(struct cgroup_hierarchy *hierarchy, const char *mountinfo,
		       bool (*is_covered)(const char *mount, u64 id), struct mount_line *line)
{
	for (const char *text = mountinfo; *text;) {
		const char *end = text + strcspn(text, "\n");

		if (!decode_mount(text, end, line) && is_mount_of(line, hierarchy) &&
		    (!hierarchy->mount[0] || strlen(line->root) < strlen(hierarchy->root)) &&
		    !is_covered(line->mount, line->id)) {
			memcpy(hierarchy->mount, line->mount, sizeof(hierarchy->mount));
			memcpy(hierarchy->root, line->root, sizeof(hierarchy->root));
		}
		text = *end ? end + 1 : end;
	}
}

static int rank(const struct cgroup_hierarchy *hierarchy)
{
	if (hierarchy->is_v2)
		return 0;
	if (strcmp(hierarchy->name, "name=systemd") == 0)
		return 1;
	return strncmp(hierarchy->controller, "cpu", 3) == 0 && strcmp(hierarchy->controller, "cpuset") != 0
		       ? 2
		       : 3;
}

static int compare_hierarchies(const void *a, const void *b)
{
	const struct cgroup_hierarchy *left = a, *right = b;

	return rank(left) != rank(right) ? rank(left) - rank(right)
					 : (left->id > right->id) - (left->id < right->id);
}

void cgroup_hierarchies_decode(struct cgroup_hierarchies *ret_hierarchies, const char *mountinfo,
			       const char *cgroup, bool (*is_covered)(const char *mount, u64 id))
{
	struct cgroup_hierarchies *all = ret_hierarchies;
	struct mount_line line;

	all->cnt = 0;
	for (const char *text = cgroup; *text && all->cnt < CGROUP_HIERARCHIES_MAX;) {
		const char *end = text + strcspn(text, "\n");
		struct cgroup_hierarchy *hierarchy = &all->list[all->cnt];

		if (!decode_cgroup_line(text, end, hierarchy)) {
			find_mount(hierarchy, mountinfo, is_covered, &line);
			all->cnt += hierarchy->mount[0] == '/';
		}
		text = *end ? end + 1 : end;
	}
	qsort(all->list, all->cnt, sizeof(all->list[0]), compare_hierarchies);
}

/* The path leads to another mount by now, as where a container's own /sys/fs/cgroup came over the host's. */
static bool is_covered(const char *mount, u64 id)
{
	struct statx stx;

	return statx(AT_FDCWD, mount, AT_NO_AUTOMOUNT, STATX_MNT_ID, &stx) ||
	       ((stx.stx_mask & STATX_MNT_ID) && stx.stx_mnt_id != id);
}

int cgroup_hierarchies_read(struct cgroup_hierarchies *ret_hierarchies)
{
	CLEANUP_FREE char *mountinfo = malloc(MOUNTINFO_SZ);
	CLEANUP_FREE char *cgroup = malloc(CGROUP_TEXT_SZ);
	ssize_t sz;

	if (!mountinfo || !cgroup)
		return -ENOMEM;
	sz = text_file_read("/proc/self/mountinfo", mountinfo, MOUNTINFO_SZ);
	if (sz >= 0)
		sz = text_file_read("/proc/self/cgroup", cgroup, CGROUP_TEXT_SZ);
	if (sz < 0)
		return (int)sz;
	cgroup_hierarchies_decode(ret_hierarchies, mountinfo, cgroup, is_covered);
	return 0;
}

/* What stands behind `top` in `path`, without its slash; NULL when the path is not within. */
static const char *behind(const char *path, const char *top)
{
	size_t sz = strlen(top);

	while (sz && top[sz - 1] == '/')
		sz--;
	if (strncmp(path, top, sz) != 0 || (path[sz] && path[sz] != '/'))
		return NULL;
	path += sz;
	return path + strspn(path, "/");
}

static int join(char ret_path[PATH_MAX], const char *top, const char *rest)
{
	size_t sz = strlen(top);
	int len;

	while (sz && top[sz - 1] == '/')
		sz--;
	len = snprintf(ret_path, PATH_MAX, "%.*s%s%s", (int)sz, top, *rest || !sz ? "/" : "", rest);
	return len < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int cgroup_hierarchy_dir(const struct cgroup_hierarchy *hierarchy, const char *path, char ret_dir[PATH_MAX])
{
	const char *rest = behind(path, hierarchy->root);

	return rest ? join(ret_dir, hierarchy->mount, rest) : -ENOENT;
}

int cgroup_hierarchy_path(const struct cgroup_hierarchy *hierarchy, const char *dir, char ret_path[PATH_MAX])
{
	const char *rest = behind(dir, hierarchy->mount);

	return rest ? join(ret_path, hierarchy->root, rest) : -ENOENT;
}

int cgroup_text_read(pid_t pid, char ret_text[CGROUP_TEXT_SZ])
{
	char path[32];
	ssize_t sz;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	sz = text_file_read(path, ret_text, CGROUP_TEXT_SZ);
	return sz >= 0 ? 0 : sz == -ENOENT ? -ESRCH : (int)sz;
}

const char *cgroup_text_path(const char *text, u32 hierarchy_id, size_t *ret_sz)
{
	while (*text) {
		const char *end = text + strcspn(text, "\n");
		char *after;
		unsigned long id = strtoul(text, &after, 10);
		const char *colon = NULL;

		/* An empty line would be skipped with the space in front of a number. */
		if (after > text && after < end && *after == ':')
			colon = memchr(after + 1, ':', (size_t)(end - after - 1));
		/* The names hold no colon: what follows the second one is the path. */
		if (colon && id == hierarchy_id) {
			*ret_sz = (size_t)(end - colon - 1);
			return colon + 1;
		}
		text = *end ? end + 1 : end;
	}
	return NULL;
}

bool cgroup_path_is_within(const char *path, size_t sz, const char *top)
{
	size_t top_sz = strlen(top);

	while (top_sz && top[top_sz - 1] == '/')
		top_sz--;
	return sz >= top_sz && memcmp(path, top, top_sz) == 0 && (sz == top_sz || path[top_sz] == '/');
}

struct walk {
	const struct cgroup_hierarchy *hierarchy;
	int (*on_cgroup)(void *ctx, const char *path, u64 id);
	void *ctx;
	size_t cnt;
	char dir[PATH_MAX];
};

/* The groups in walk->dir, which is `sz` bytes long. Names and inodes are the directory's own: nothing is looked up,
 * a cgroup has twenty files and more. */
static int walk_below(struct walk *walk, size_t sz, int depth)
{
	DIR *dir = depth < WALK_DEPTH ? opendir(walk->dir) : NULL;
	char path[PATH_MAX];
	struct dirent *entry;
	int err = 0;

	while (dir && !err && (entry = readdir(dir))) {
		size_t name_sz = strlen(entry->d_name);

		if (entry->d_type != DT_DIR || strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0 || sz + 1 + name_sz >= sizeof(walk->dir))
			continue;
		walk->dir[sz] = '/';
		memcpy(walk->dir + sz + 1, entry->d_name, name_sz + 1);
		if (++walk->cnt > CGROUP_WALK_MAX)
			err = -EFBIG;
		else if (!cgroup_hierarchy_path(walk->hierarchy, walk->dir, path))
			err = walk->on_cgroup(walk->ctx, path, entry->d_ino);
		if (err == CGROUP_WALK_ON)
			err = walk_below(walk, sz + 1 + name_sz, depth + 1);
		else if (err == CGROUP_WALK_NOT_BELOW)
			err = 0;
		walk->dir[sz] = '\0';
	}
	if (dir)
		closedir(dir);
	return err == CGROUP_WALK_NOT_BESIDE ? 0 : err;
}

int cgroup_hierarchy_walk(const struct cgroup_hierarchy *hierarchy,
			  int (*on_cgroup)(void *ctx, const char *path, u64 id), void *ctx)
{
	struct walk walk = {.hierarchy = hierarchy, .on_cgroup = on_cgroup, .ctx = ctx, .cnt = 1};
	struct stat st;
	int err;

	memcpy(walk.dir, hierarchy->mount, sizeof(walk.dir));
	if (stat(walk.dir, &st))
		return -errno;
	err = on_cgroup(ctx, hierarchy->root, st.st_ino);
	return err == CGROUP_WALK_ON ? walk_below(&walk, strlen(walk.dir), 0) : err < 0 ? err : 0;
}
