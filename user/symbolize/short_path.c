/* SPDX-License-Identifier: Apache-2.0 */
/* A process's view of the file system is named by its root directory and mount namespace; processes
 * with the same view share the answers. A view that can no longer be asked (the process is gone) falls
 * back to this process's own root, if the very file exists there, then to the names of folders.
 */
#include "symbolize/short_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/id_map.h"
#include "symbolize/path_probe.h"

enum {
	MAX_FOLDERS = 1 << 16, /* past it the answers are asked again */
	MAX_EPOCHS = 1 << 16,  /* likewise, of processes and of views */
	MAX_LEVELS = 32,       /* folders of one package; real ones have fewer than ten */
};

struct short_path {
	struct path_probe *probe;
	struct id_map views;   /* epoch -> index of its view */
	struct id_map idx_of;  /* view -> index, counted up */
	struct id_map folders; /* hash of view and folder -> bytes to skip */
	u64 seed;
};

int short_path_new(struct short_path **ret_paths)
{
	struct short_path *paths = calloc(1, sizeof(*paths));
	int err;

	if (!paths)
		return -ENOMEM;
	paths->seed = hash_seed();
	id_map_init(&paths->views, MAX_EPOCHS);
	id_map_init(&paths->idx_of, MAX_EPOCHS);
	id_map_init(&paths->folders, MAX_FOLDERS);
	err = path_probe_new(&paths->probe);
	if (err) {
		short_path_free(paths);
		return err;
	}
	*ret_paths = paths;
	return 0;
}

void short_path_free(struct short_path *paths)
{
	if (!paths)
		return;
	path_probe_free(paths->probe);
	id_map_release(&paths->views);
	id_map_release(&paths->idx_of);
	id_map_release(&paths->folders);
	free(paths);
}

/* The end of the folder that holds the file: its last slash. */
static size_t last_slash(const char *path, size_t sz)
{
	while (sz && path[sz - 1] != '/')
		sz--;
	return sz ? sz - 1 : 0;
}

static bool ends_with(const char *text, size_t sz, const char *suffix)
{
	size_t suffix_sz = strlen(suffix);

	return sz > suffix_sz && memcmp(text + sz - suffix_sz, suffix, suffix_sz) == 0;
}

static bool is_archive(const char *component, size_t sz)
{
	static const char *const suffixes[] = {".zip", ".egg", ".whl", ".pyz", ".pex", ".par"};

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		if (ends_with(component, sz, suffixes[i]))
			return true;
	}
	return false;
}

static bool is_package_folder(const char *component, size_t sz)
{
	return (sz == 13 && (memcmp(component, "site-packages", 13) == 0 ||
			     memcmp(component, "dist-packages", 13) == 0)) ||
	       (sz > 8 && memcmp(component, "python3.", 8) == 0);
}

/* Bytes up to and with the last folder for which `is_root` holds; 0 when there is none. */
static size_t skip_below(const char *path, size_t sz, bool (*is_root)(const char *, size_t))
{
	size_t skip = 0, start = 0;

	for (size_t i = 0; i < sz; i++) {
		if (path[i] != '/')
			continue;
		if (i > start && is_root(path + start, i - start))
			skip = i + 1;
		start = i + 1;
	}
	return skip < sz ? skip : 0;
}

static size_t skip_by_name(const char *path, size_t sz)
{
	size_t skip = skip_below(path, sz, is_package_folder);

	return skip ? skip : last_slash(path, sz) + 1;
}

/* Names what a process sees: equal for two processes with the same root in the same namespace. */
static int view_of(int root_fd, pid_t pid, u64 seed, u64 *ret_view)
{
	struct statx root;
	struct stat ns;
	char ns_path[32];

	/* The cached attributes will do: identity does not change, and a hung server must not be asked. */
	if (statx(root_fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &root) < 0)
		return -errno;
	if (pid)
		snprintf(ns_path, sizeof(ns_path), "/proc/%d/ns/mnt", (int)pid);
	else
		snprintf(ns_path, sizeof(ns_path), "/proc/self/ns/mnt");
	if (stat(ns_path, &ns) < 0)
		return -errno;
	*ret_view = hash_mix(hash_mix(seed, (u64)root.stx_dev_major << 32 | root.stx_dev_minor),
			     hash_mix(root.stx_ino, ns.st_ino));
	return 0;
}

/* Numbers views in the order that they come. Past the last number all is asked anew. */
static int number_view(struct short_path *paths, u64 view, u32 *ret_idx)
{
	u32 idx = id_map_find(&paths->idx_of, view);
	int err;

	if (idx != ID_MAP_NONE) {
		*ret_idx = idx;
		return 0;
	}
	if (paths->idx_of.cnt >= paths->idx_of.max) {
		id_map_clear(&paths->idx_of);
		id_map_clear(&paths->views);
		id_map_clear(&paths->folders);
	}
	idx = (u32)paths->idx_of.cnt;
	err = id_map_put(&paths->idx_of, view, idx);
	if (!err)
		*ret_idx = idx;
	return err;
}

/* The root of a live process (pid 0: this one) and the index of its view. */
static int open_view(struct short_path *paths, pid_t pid, int *ret_fd, u32 *ret_idx)
{
	char path[32] = "/";
	u64 view;
	int fd, err;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = view_of(fd, pid, paths->seed, &view);
	err = err ?: number_view(paths, view, ret_idx);
	if (err)
		close(fd);
	else
		*ret_fd = fd;
	return err;
}

static int has_init(struct short_path *paths, int root_fd, const char *folder, size_t sz)
{
	char path[PATH_MAX];

	if (sz + sizeof("/__init__.py") > sizeof(path))
		return 0;
	memcpy(path, folder, sz);
	memcpy(path + sz, "/__init__.py", sizeof("/__init__.py"));
	return path_probe_exists(paths->probe, root_fd, path);
}

/* `folder` has no slash at its end. Climbs as long as the folder is a package. */
static int ask(struct short_path *paths, int root_fd, const char *folder, size_t sz, size_t *ret_skip)
{
	for (int level = 0; level < MAX_LEVELS && sz; level++) {
		int answer = has_init(paths, root_fd, folder, sz);

		if (answer < 0)
			return answer;
		if (!answer)
			break;
		sz = last_slash(folder, sz);
	}
	*ret_skip = sz + 1;
	return 0;
}

static u64 folder_key(const struct short_path *paths, u32 view_idx, const char *folder, size_t sz)
{
	return hash_bytes(hash_mix(paths->seed, view_idx), folder, sz);
}

static void remember(struct short_path *paths, u64 key, size_t skip)
{
	if (paths->folders.cnt >= paths->folders.max)
		id_map_clear(&paths->folders);
	/* Without memory it is asked again next time. */
	(void)id_map_put(&paths->folders, key, (u32)skip);
}

/* Asks the file system of one process. */
static int ask_process(struct short_path *paths, u64 epoch, pid_t pid, const char *path, size_t folder_sz,
		       size_t *ret_skip)
{
	u32 idx = 0, known;
	u64 key;
	int fd = -1, err = open_view(paths, pid, &fd, &idx);

	if (err)
		return err;
	if (paths->views.cnt >= paths->views.max)
		id_map_clear(&paths->views);
	(void)id_map_put(&paths->views, epoch, idx);
	key = folder_key(paths, idx, path, folder_sz);
	known = id_map_find(&paths->folders, key);
	if (known != ID_MAP_NONE) {
		*ret_skip = known;
	} else {
		err = ask(paths, fd, path, folder_sz, ret_skip);
		if (!err)
			remember(paths, key, *ret_skip);
	}
	close(fd);
	return err;
}

/* This process's own root, if it has that file: most targets share it. */
static int ask_own_root(struct short_path *paths, const char *path, size_t sz, size_t folder_sz,
			size_t *ret_skip)
{
	char copy[PATH_MAX];
	int fd, err = -ENOENT;

	if (sz >= sizeof(copy))
		return -ENAMETOOLONG;
	memcpy(copy, path, sz);
	copy[sz] = '\0';
	fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (path_probe_exists(paths->probe, fd, copy) == 1)
		err = ask(paths, fd, path, folder_sz, ret_skip);
	close(fd);
	return err;
}

size_t short_path_skip(struct short_path *paths, u64 epoch, pid_t pid, const char *path, size_t sz)
{
	size_t folder_sz, skip;
	u32 idx, known = ID_MAP_NONE;

	if (!sz || path[0] != '/' || memchr(path, '\0', sz))
		return 0;
	skip = skip_below(path, sz, is_archive);
	if (skip)
		return skip;
	folder_sz = last_slash(path, sz);
	idx = id_map_find(&paths->views, epoch);
	if (idx != ID_MAP_NONE)
		known = id_map_find(&paths->folders, folder_key(paths, idx, path, folder_sz));
	if (known != ID_MAP_NONE)
		return known;
	if (pid && ask_process(paths, epoch, pid, path, folder_sz, &skip) == 0)
		return skip;
	if (ask_own_root(paths, path, sz, folder_sz, &skip) == 0)
		return skip;
	return skip_by_name(path, sz);
}
