/* SPDX-License-Identifier: Apache-2.0 */
#include "base/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sudo_user.h"

enum {
	BUF_SZ = 1 << 16,
	TRIES = 64, /* names tried beside the target; another panopy may be writing there too */
};

struct atomic_file {
	int fd;
	int err;
	char *path;
	char *temp_path; /* NULL: written directly */
	bool keep_existing;
	size_t sz;
	char buf[BUF_SZ];
};

/* What a signal handler removes. */
static const char *volatile open_temp_path;

static void file_free(struct atomic_file *file)
{
	if (!file)
		return;
	if (open_temp_path == file->temp_path)
		open_temp_path = NULL;
	if (file->fd >= 0 && file->fd != STDOUT_FILENO)
		close(file->fd);
	free(file->path);
	free(file->temp_path);
	free(file);
}

/* Failure is no error: a file system without owners (FAT, some network mounts) refuses. */
static void give_to_sudo_user(int fd)
{
	uid_t uid;
	gid_t gid;

	if (sudo_user_ids(&uid, &gid) || fchown(fd, uid, gid) < 0)
		return;
}

void atomic_file_give_to_sudo_user(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	give_to_sudo_user(fd);
	close(fd);
}

/* The file is there before the handler can know its name: until then no handler may run. */
static int create(struct atomic_file *file, char *name)
{
	sigset_t all, before;
	int err = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	file->fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (file->fd < 0)
		err = -errno;
	else
		open_temp_path = file->temp_path = name;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

static int open_temp(struct atomic_file *file)
{
	for (int i = 0; i < TRIES; i++) {
		char *name;
		int err;

		if (asprintf(&name, "%s.%d.%d.tmp", file->path, (int)getpid(), i) < 0)
			return -ENOMEM;
		err = create(file, name);
		if (!err) {
			give_to_sudo_user(file->fd);
			return 0;
		}
		free(name);
		if (err != -EEXIST)
			return err;
	}
	return -EEXIST;
}

/* A symbolic link is resolved once, so that the file it names is replaced and not the link. */
static int resolve(const char *path, char **ret_path, bool *ret_direct)
{
	struct stat st;
	char *real;

	if (stat(path, &st) < 0) {
		if (errno != ENOENT)
			return -errno;
		real = strdup(path);
		*ret_direct = false;
	} else if (S_ISDIR(st.st_mode)) {
		return -EISDIR;
	} else {
		*ret_direct = !S_ISREG(st.st_mode);
		/* What stands behind /dev/fd/N may have no path. */
		real = *ret_direct ? strdup(path) : realpath(path, NULL);
		if (!real && errno != ENOMEM)
			return -errno;
	}
	if (!real)
		return -ENOMEM;
	*ret_path = real;
	return 0;
}

/* Whatever has the name gives way to the file, but for a folder. */
static int open_replacing(struct atomic_file *file, const char *path)
{
	struct stat st;

	if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return -EISDIR;
	file->path = strdup(path);
	return file->path ? open_temp(file) : -ENOMEM;
}

static int open_output(struct atomic_file *file, const char *path)
{
	bool direct = false;
	int err;

	if (strcmp(path, "-") == 0) {
		file->fd = STDOUT_FILENO;
		return 0;
	}
	if (!*path)
		return -ENOENT;
	err = resolve(path, &file->path, &direct);
	if (err)
		return err;
	if (!direct)
		return open_temp(file);
	file->fd = open(file->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	return file->fd < 0 ? -errno : 0;
}

static int file_new(struct atomic_file **ret_file, const char *path,
		    int (*open_path)(struct atomic_file *file, const char *path))
{
	struct atomic_file *file = malloc(sizeof(*file));
	int err;

	if (!file)
		return -ENOMEM;
	file->fd = -1;
	file->err = 0;
	file->path = file->temp_path = NULL;
	file->keep_existing = false;
	file->sz = 0;
	err = open_path(file, path);
	if (err) {
		file_free(file);
		return err;
	}
	*ret_file = file;
	return 0;
}

int atomic_file_open(struct atomic_file **ret_file, const char *path)
{
	return file_new(ret_file, path, open_output);
}

int atomic_file_open_replacing(struct atomic_file **ret_file, const char *path)
{
	return file_new(ret_file, path, open_replacing);
}

void atomic_file_keep_existing(struct atomic_file *file)
{
	file->keep_existing = true;
}

void atomic_file_abort(void)
{
	const char *path = open_temp_path;

	if (path)
		unlink(path);
}

/* A pipe or terminal that somebody else, who has it open too, made non-blocking is only full for now. */
static int wait_for_room(int fd)
{
	struct pollfd pollfd = {.fd = fd, .events = POLLOUT};

	return poll(&pollfd, 1, -1) < 0 && errno != EINTR ? -errno : 0;
}

static int flush_buffer(struct atomic_file *file)
{
	size_t done = 0;

	while (!file->err && done < file->sz) {
		ssize_t n = write(file->fd, file->buf + done, file->sz - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno == EAGAIN)
			file->err = wait_for_room(file->fd);
		else if (errno != EINTR)
			file->err = -errno;
	}
	file->sz = 0;
	return file->err;
}

int atomic_file_write(struct atomic_file *file, const void *data, size_t sz)
{
	const char *bytes = data;

	while (sz && !file->err) {
		size_t room = BUF_SZ - file->sz;
		size_t part = sz < room ? sz : room;

		memcpy(file->buf + file->sz, bytes, part);
		file->sz += part;
		bytes += part;
		sz -= part;
		if (file->sz == BUF_SZ)
			flush_buffer(file);
	}
	return file->err;
}

static int rename_temp(const struct atomic_file *file)
{
	if (file->keep_existing) {
		if (renameat2(AT_FDCWD, file->temp_path, AT_FDCWD, file->path, RENAME_NOREPLACE) == 0)
			return 0;
		/* Some network file systems cannot tell in one step. */
		if (errno != EINVAL)
			return -errno;
		if (access(file->path, F_OK) == 0)
			return -EEXIST;
	}
	return rename(file->temp_path, file->path) < 0 ? -errno : 0;
}

int atomic_file_commit(struct atomic_file *file)
{
	int err = flush_buffer(file);

	/* Network file systems and quotas report a full disk only here. Standard output stays open. */
	if (file->fd != STDOUT_FILENO) {
		if (close(file->fd) < 0 && !err && errno != EINTR)
			err = -errno;
		file->fd = -1;
	}
	if (!err && file->temp_path)
		err = rename_temp(file);
	if (err && file->temp_path)
		unlink(file->temp_path);
	file_free(file);
	return err;
}

void atomic_file_discard(struct atomic_file *file)
{
	if (!file)
		return;
	if (file->temp_path)
		unlink(file->temp_path);
	file_free(file);
}
