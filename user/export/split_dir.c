/* SPDX-License-Identifier: Apache-2.0 */
#include "export/split_dir.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* Out of memory leaves the element out and its handle's table NULL. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

static const char OTHER[] = "other";

struct taken_name {
	UT_hash_handle hh;
	/* In small letters: some file systems do not tell them apart. */
	char text[];
};

struct split_dir {
	const char *path;
	const char *suffix;
	struct taken_name *taken;
	struct atomic_file *file; /* the current one; NULL: none */
	struct atomic_file *other;
	size_t cnt;
};

int split_dir_make(const char *path)
{
	struct stat st;

	if (mkdir(path, 0755) == 0) {
		atomic_file_give_to_sudo_user(path);
		return 0;
	}
	if (errno != EEXIST)
		return -errno;
	if (stat(path, &st) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

int split_dir_new(struct split_dir **ret_dir, const char *path, const char *suffix)
{
	struct split_dir *dir = calloc(1, sizeof(*dir));

	if (!dir)
		return -ENOMEM;
	dir->path = path;
	dir->suffix = suffix;
	*ret_dir = dir;
	return 0;
}

void split_dir_free(struct split_dir *dir)
{
	struct taken_name *taken, *next;

	if (!dir)
		return;
	HASH_ITER(hh, dir->taken, taken, next)
	{
		HASH_DEL(dir->taken, taken);
		free(taken);
	}
	atomic_file_discard(dir->file);
	atomic_file_discard(dir->other);
	free(dir);
}

void split_dir_format_name(char ret_name[SPLIT_DIR_NAME_SZ], const char *label, size_t sz)
{
	static const char kept[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-+@";
	size_t out = 0;

	for (size_t i = 0; i < sz && out < SPLIT_DIR_NAME_SZ - 1; i++) {
		char c = label[i] && strchr(kept, label[i]) ? label[i] : '_';

		if (c == '.' && out == 0)
			c = '_';
		if (c != '_' || (out && ret_name[out - 1] != '_'))
			ret_name[out++] = c;
	}
	while (out && ret_name[out - 1] == '_')
		out--;
	if (!out)
		ret_name[out++] = '_';
	ret_name[out] = '\0';
}

/* *ret_free false: another one has it. */
static int take_name(struct split_dir *dir, const char *name, bool *ret_free)
{
	size_t sz = strlen(name);
	struct taken_name *taken, *found;

	taken = calloc(1, sizeof(*taken) + sz + 1);
	if (!taken)
		return -ENOMEM;
	for (size_t i = 0; i < sz; i++)
		taken->text[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] - 'A' + 'a' : name[i]);
	HASH_FIND_STR(dir->taken, taken->text, found);
	*ret_free = !found;
	if (!found) {
		HASH_ADD_STR(dir->taken, text, taken);
		if (taken->hh.tbl)
			return 0;
	}
	free(taken);
	return found ? 0 : -ENOMEM;
}

static int open_named(struct split_dir *dir, const char *name, struct atomic_file **ret_file)
{
	char *path;
	int err;

	if (asprintf(&path, "%s/%s.%s", dir->path, name, dir->suffix) < 0)
		return -ENOMEM;
	err = atomic_file_open_replacing(ret_file, path);
	free(path);
	if (!err)
		dir->cnt++;
	return err;
}

static int open_unique(struct split_dir *dir, const char *stem, struct atomic_file **ret_file)
{
	char name[SPLIT_DIR_NAME_SZ + 16];
	bool is_free = false;
	int err;

	snprintf(name, sizeof(name), "%s", stem);
	/* No two of at most so many labels need more tries. */
	for (int i = 2; i <= SPLIT_DIR_MAX_FILES + 2; i++) {
		err = take_name(dir, name, &is_free);
		if (err)
			return err;
		if (is_free)
			return open_named(dir, name, ret_file);
		snprintf(name, sizeof(name), "%s-%d", stem, i);
	}
	return -EEXIST;
}

static int finish_current(struct split_dir *dir)
{
	struct atomic_file *file = dir->file;

	dir->file = NULL;
	return file ? atomic_file_commit(file) : 0;
}

int split_dir_next(struct split_dir *dir, const char *label, size_t sz, struct atomic_file **ret_file)
{
	char stem[SPLIT_DIR_NAME_SZ];
	bool is_free;
	int err = finish_current(dir);

	if (!err && !dir->taken)
		err = take_name(dir, OTHER, &is_free);
	if (err)
		return err;
	if (dir->cnt >= SPLIT_DIR_MAX_FILES) {
		if (!dir->other)
			err = open_named(dir, OTHER, &dir->other);
		if (!err)
			*ret_file = dir->other;
		return err;
	}
	split_dir_format_name(stem, label, sz);
	err = open_unique(dir, stem, &dir->file);
	if (!err)
		*ret_file = dir->file;
	return err;
}

int split_dir_finish(struct split_dir *dir)
{
	struct atomic_file *other = dir->other;
	int err = finish_current(dir);

	dir->other = NULL;
	if (err)
		atomic_file_discard(other);
	return err ? err : other ? atomic_file_commit(other) : 0;
}

size_t split_dir_count(const struct split_dir *dir)
{
	return dir->cnt;
}
