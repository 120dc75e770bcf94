/* SPDX-License-Identifier: Apache-2.0 */
/* Order of the ways to a mapped file:
 *   1. /proc/PID/map_files/START-END is the very file, deleted or replaced ones included, but needs
 *      CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE (fs/proc/base.c proc_map_files_get_link, Linux 5.9).
 *   2. /proc/PID/exe, when it is the same inode.
 *   3. The path below /proc/PID/root, by openat2 with RESOLVE_IN_ROOT, when it is the same inode.
 * Each is first opened with O_PATH, which runs no driver and waits for no writer, and judged by fstat;
 * then that very inode is reopened through /proc/self/fd.
 *
 * All that happens in deadline calls: a file system may be served by the target. The first way asks such a
 * server nothing until the reopening (statx with AT_STATX_DONT_SYNC), by which time the device to blame is
 * known. One file is given SLOW_FILE_NS in all. Where each read was in time but their sum is not, the file is to
 * blame, not its device, which others may share, except on FUSE, where a server may always answer late.
 * Closing asks the server, too (fs/fuse/file.c fuse_flush, Linux 6.1), but not of a descriptor with O_PATH.
 */
#define _GNU_SOURCE
#include "base/target_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/deadline_call.h"
#include "base/hash.h"

/* Parts are read, never the whole: this only keeps absurd offsets out. */
#define MAX_FILE_SZ (4ULL << 30)
/* Of one operation; disks that spin up take their time. */
#define DEADLINE_NS  CLOCK_NS_PER_S
#define SLOW_FILE_NS (2 * CLOCK_NS_PER_S)

enum { READ_MAX_SZ = 256 * 1024, FUSE_MAGIC = 0x65735546 };

struct target_file {
	/* Its user's, and that of a read that may never return. */
	atomic_uint ref_cnt;
	int path_fd;
	int fd; /* -1 until the first read */
	struct target_file_id id;
	uid_t owner;
	u64 waited_ns;	/* in reads, so far */
	bool is_served; /* by a process; known once it was opened for reading */
};

static s64 ns_from_statx(const struct statx_timestamp *time)
{
	return (s64)time->tv_sec * (s64)CLOCK_NS_PER_S + time->tv_nsec;
}

static void file_free(struct target_file *file)
{
	close(file->path_fd);
	if (file->fd >= 0)
		close(file->fd);
	free(file);
}

/* On a worker, or of a file that was not read. */
static void file_unref(struct target_file *file)
{
	if (file && atomic_fetch_sub(&file->ref_cnt, 1) == 1)
		file_free(file);
}

/* Takes path_fd over. */
static int file_from_path_fd(struct target_file **ret_file, int path_fd)
{
	struct target_file *file = NULL;
	struct statx st;
	int err = 0;

	if (statx(path_fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &st) < 0)
		err = -errno;
	else if (!S_ISREG(st.stx_mode))
		err = -ENOTSUP;
	else if (st.stx_size > MAX_FILE_SZ)
		err = -EFBIG;
	else if (!(file = calloc(1, sizeof(*file))))
		err = -ENOMEM;
	if (err) {
		close(path_fd);
		return err;
	}
	atomic_init(&file->ref_cnt, 1);
	file->path_fd = path_fd;
	file->fd = -1;
	file->owner = st.stx_uid;
	file->id = (struct target_file_id){
		.dev = makedev(st.stx_dev_major, st.stx_dev_minor),
		.ino = st.stx_ino,
		.sz = st.stx_size,
		.mtime_ns = ns_from_statx(&st.stx_mtime),
		.ctime_ns = ns_from_statx(&st.stx_ctime),
	};
	*ret_file = file;
	return 0;
}

static int open_path(struct target_file **ret_file, const char *path)
{
	int path_fd = open(path, O_PATH | O_CLOEXEC);

	return path_fd < 0 ? -errno : file_from_path_fd(ret_file, path_fd);
}

static int open_proc_link(struct target_file **ret_file, const char *path)
{
	int err = open_path(ret_file, path);

	return err == -ENOENT ? -ESRCH : err;
}

static int open_exe(struct target_file **ret_file, pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return open_proc_link(ret_file, path);
}

/* resolve: further RESOLVE_* flags. */
static int open_below(struct target_file **ret_file, int root_fd, const char *path, u64 resolve)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | resolve,
	};
	int path_fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

	return path_fd < 0 ? -errno : file_from_path_fd(ret_file, path_fd);
}

static int open_in_root(struct target_file **ret_file, pid_t pid, const char *path)
{
	char root[64];
	CLEANUP_FD int root_fd = -1;

	snprintf(root, sizeof(root), "/proc/%d/root", (int)pid);
	root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return open_below(ret_file, root_fd, path, 0);
}

static int open_owned(struct target_file **ret_file, const char *root, const char *path, const uid_t *owner)
{
	CLEANUP_FD int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct target_file *file;
	int err;

	if (root_fd < 0)
		return -errno;
	err = open_below(&file, root_fd, path, owner ? RESOLVE_NO_SYMLINKS : 0);
	if (err)
		return err;
	if (owner && file->owner != *owner) {
		file_unref(file);
		return -EPERM;
	}
	*ret_file = file;
	return 0;
}

/* maps prints the superblock's device; btrfs and overlayfs give stat another one. */
static bool is_mapped_file(const struct target_file *file, const struct target_mapping *mapping)
{
	struct statfs fs;

	if (file->id.ino != mapping->ino)
		return false;
	if (file->id.dev == mapping->dev)
		return true;
	return fstatfs(file->path_fd, &fs) == 0 &&
	       (fs.f_type == BTRFS_SUPER_MAGIC || fs.f_type == OVERLAYFS_SUPER_MAGIC);
}

/* Lets an opened file through only if it is the mapped one. */
static int check_mapped(struct target_file **file, const struct target_mapping *mapping)
{
	if (is_mapped_file(*file, mapping))
		return 0;
	file_unref(*file);
	*file = NULL;
	return -ESTALE;
}

static int open_by_name(struct target_file **ret_file, pid_t pid, const struct target_mapping *mapping)
{
	struct target_file *file = NULL;
	int err = open_exe(&file, pid);

	if (!err)
		err = check_mapped(&file, mapping);
	if (err && mapping->path && mapping->path[0] == '/') {
		err = open_in_root(&file, pid, mapping->path);
		if (!err)
			err = check_mapped(&file, mapping);
	}
	if (!err)
		*ret_file = file;
	return err;
}

static int open_mapping(struct target_file **ret_file, pid_t pid, const struct target_mapping *mapping)
{
	char path[128];
	int err;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)pid,
		 (unsigned long long)mapping->start, (unsigned long long)mapping->end);
	err = open_proc_link(ret_file, path);
	if (err == -EPERM || err == -EACCES || err == -ESRCH) {
		int second = open_by_name(ret_file, pid, mapping);

		/* The first error says more, unless the second way worked or found another file. */
		if (second == 0 || second == -ESTALE || err == -EPERM)
			err = second;
	}
	return err;
}

struct open_call {
	pid_t pid;
	bool exe;
	struct target_mapping mapping; /* with the path below */
	const char *root;	       /* behind the path; NULL: not below one */
	const uid_t *owner;	       /* &owner_uid or NULL */
	uid_t owner_uid;
	int result;
	struct target_file *file;
	char path[];
};

static void run_open(void *block)
{
	struct open_call *call = block;

	if (call->root)
		call->result = open_owned(&call->file, call->root, call->path, call->owner);
	else if (!call->pid)
		call->result = open_path(&call->file, call->path);
	else if (call->exe)
		call->result = open_exe(&call->file, call->pid);
	else
		call->result = open_mapping(&call->file, call->pid, &call->mapping);
}

static void open_call_free(void *block)
{
	struct open_call *call = block;

	file_unref(call->file);
	free(call);
}

static struct open_call *open_call_new(pid_t pid, const char *path, const char *root)
{
	size_t sz = path ? strlen(path) + 1 : 1, root_sz = root ? strlen(root) + 1 : 0;
	struct open_call *call = calloc(1, sizeof(*call) + sz + root_sz);

	if (!call)
		return NULL;
	call->pid = pid;
	if (path)
		memcpy(call->path, path, sz);
	if (root)
		call->root = memcpy(call->path + sz, root, root_sz);
	return call;
}

static u64 subject_of(const struct open_call *call)
{
	if (call->owner)
		return deadline_subject_user(call->owner_uid);
	return call->pid ? deadline_subject_pid(call->pid) : 0;
}

/* Takes the call over. */
static int open_with_deadline(struct target_file **ret_file, struct open_call *call)
{
	u64 subject = subject_of(call);
	int err = deadline_call(subject, run_open, open_call_free, call, DEADLINE_NS);

	if (err == -ETIMEDOUT)
		return err;
	err = err == -EBUSY ? -ETIMEDOUT : err ?: call->result;
	if (!err)
		*ret_file = steal_ptr(call->file);
	open_call_free(call);
	return err;
}

int target_file_open_path(struct target_file **ret_file, const char *path)
{
	struct open_call *call = open_call_new(0, path, NULL);

	return call ? open_with_deadline(ret_file, call) : -ENOMEM;
}

int target_file_open_below(struct target_file **ret_file, const char *root, const char *path,
			   const uid_t *owner)
{
	struct open_call *call = open_call_new(0, path, root);

	if (!call)
		return -ENOMEM;
	if (owner) {
		call->owner_uid = *owner;
		call->owner = &call->owner_uid;
	}
	return open_with_deadline(ret_file, call);
}

int target_file_open_exe(struct target_file **ret_file, pid_t pid)
{
	struct open_call *call = open_call_new(pid, NULL, NULL);

	if (!call)
		return -ENOMEM;
	call->exe = true;
	return open_with_deadline(ret_file, call);
}

int target_file_open_mapping(struct target_file **ret_file, pid_t pid, const struct target_mapping *mapping)
{
	struct open_call *call;

	if (deadline_is_shunned(deadline_subject_device(mapping->dev)))
		return -ETIMEDOUT;
	call = open_call_new(pid, mapping->path, NULL);
	if (!call)
		return -ENOMEM;
	call->mapping = *mapping;
	call->mapping.path = mapping->path ? call->path : NULL;
	return open_with_deadline(ret_file, call);
}

static void run_close(void *block)
{
	struct target_file **file = block;

	file_free(*file);
	*file = NULL;
}

/* Nobody is to blame before the call, so that one who was slow before has the file closed all the same. Where no
 * worker is to be had the descriptor stays open, which harms less than to wait for good. */
void target_file_close(struct target_file *file)
{
	struct target_file **block;
	u64 device;
	int err;

	/* A read that was given up opens and closes it. */
	if (!file || atomic_fetch_sub(&file->ref_cnt, 1) != 1)
		return;
	if (file->fd < 0) {
		file_free(file);
		return;
	}
	device = file->id.dev;
	block = malloc(sizeof(struct target_file *));
	if (!block)
		return;
	*block = file;
	err = deadline_call(0, run_close, free, block, DEADLINE_NS);
	if (err == -ETIMEDOUT)
		deadline_shun(deadline_subject_device(device));
	else
		free(block);
}

const struct target_file_id *target_file_id(const struct target_file *file)
{
	return &file->id;
}

static int open_for_reading(struct target_file *file)
{
	struct statfs fs;
	char path[64];

	if (file->fd >= 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file->path_fd);
	file->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (file->fd < 0)
		return -errno;
	/* Only a server refuses to answer that. */
	file->is_served = fstatfs(file->fd, &fs) || fs.f_type == FUSE_MAGIC;
	return 0;
}

struct read_call {
	struct target_file *file; /* a reference of its own */
	u64 off;
	size_t sz;
	int result;
	u8 bytes[];
};

static void run_read(void *block)
{
	struct read_call *call = block;
	size_t have = 0;

	call->result = open_for_reading(call->file);
	while (!call->result && have < call->sz) {
		ssize_t got =
			pread(call->file->fd, call->bytes + have, call->sz - have, (off_t)(call->off + have));

		if (got > 0)
			have += (size_t)got;
		else if (got == 0)
			call->result = -ERANGE; /* shrank meanwhile */
		else if (errno != EINTR)
			call->result = -EIO;
	}
}

static void read_call_free(void *block)
{
	struct read_call *call = block;

	file_unref(call->file);
	free(call);
}

static u64 subject_of_file(const struct target_file *file)
{
	return deadline_subject_file(hash_mix(file->id.dev, file->id.ino));
}

static int account_wait(struct target_file *file, u64 waited_ns)
{
	file->waited_ns += waited_ns;
	if (file->waited_ns <= SLOW_FILE_NS)
		return 0;
	deadline_shun(file->is_served ? deadline_subject_device(file->id.dev) : subject_of_file(file));
	return -ETIMEDOUT;
}

/* At most READ_MAX_SZ bytes. */
static int read_part(struct target_file *file, u64 off, void *ret_buf, size_t sz)
{
	u64 subject = deadline_subject_device(file->id.dev), begin = clock_monotonic_ns();
	struct read_call *call;
	int err;

	if (deadline_is_shunned(subject_of_file(file)))
		return -ETIMEDOUT;
	call = malloc(sizeof(*call) + sz);
	if (!call)
		return -ENOMEM;
	atomic_fetch_add(&file->ref_cnt, 1);
	call->file = file;
	call->off = off;
	call->sz = sz;
	err = deadline_call(subject, run_read, read_call_free, call, DEADLINE_NS);
	if (err == -ETIMEDOUT)
		return err;
	err = err == -EBUSY ? -ETIMEDOUT : err ?: call->result;
	if (!err)
		memcpy(ret_buf, call->bytes, sz);
	read_call_free(call);
	return err ?: account_wait(file, clock_monotonic_ns() - begin);
}

int target_file_read(struct target_file *file, u64 off, void *ret_buf, size_t sz)
{
	u8 *out = ret_buf;

	if (off > file->id.sz || sz > file->id.sz - off)
		return -ERANGE;
	while (sz > 0) {
		size_t part = sz < READ_MAX_SZ ? sz : READ_MAX_SZ;
		int err = read_part(file, off, out, part);

		if (err)
			return err;
		out += part;
		off += part;
		sz -= part;
	}
	return 0;
}

int target_file_read_alloc(struct target_file *file, u64 off, u64 sz, size_t max_sz, u8 **ret_bytes)
{
	CLEANUP_FREE u8 *bytes = NULL;
	int err;

	if (sz > max_sz)
		return -EFBIG;
	if (off > file->id.sz || sz > file->id.sz - off)
		return -ERANGE;
	bytes = malloc((size_t)sz + 1);
	if (!bytes)
		return -ENOMEM;
	err = target_file_read(file, off, bytes, (size_t)sz);
	if (err)
		return err;
	bytes[sz] = '\0';
	*ret_bytes = steal_ptr(bytes);
	return 0;
}
