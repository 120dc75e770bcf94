/* SPDX-License-Identifier: Apache-2.0 */
/* A file that a target process mapped, opened without trusting the target: only regular files are opened
 * for reading, links are followed inside the process's own root, and nothing is ever mapped (a file that
 * shrinks under a mapping would be a SIGBUS). A FIFO, a device or an endless file costs an error code, and
 * so does a file whose file system does not answer (-ETIMEDOUT, after at most a few seconds; then at once for
 * DEADLINE_CALL_SHUN_S, for every file of that device, or for this one if it only took too long in all). Where many
 * hang, all reads fail with -EIO.
 */
#ifndef PANOPY_BASE_TARGET_FILE_H
#define PANOPY_BASE_TARGET_FILE_H

#include <stddef.h>
#include <sys/types.h>

#include "shared_types.h"

/* What tells one state of a file from another. */
struct target_file_id {
	u64 dev;
	u64 ino;
	u64 sz;
	s64 mtime_ns;
	s64 ctime_ns;
};

/* As /proc/PID/maps shows it. */
struct target_mapping {
	u64 start;
	u64 end;
	u64 dev;
	u64 ino;
	const char *path; /* as the process sees it; may be NULL */
};

struct target_file;

/* -ESRCH: process or mapping gone. -EACCES, -EPERM: not allowed. -ENOTSUP: not a regular file.
 * -ESTALE: another file lies at that path now. -EFBIG: larger than any real interpreter. -ETIMEDOUT: see above.
 * The file is identified at once and opened for reading at the first read. */
int target_file_open_mapping(struct target_file **ret_file, pid_t pid, const struct target_mapping *mapping);
int target_file_open_exe(struct target_file **ret_file, pid_t pid);
/* A file of ours (tests, tools). */
int target_file_open_path(struct target_file **ret_file, const char *path);
/* The file at `path` below the folder `root`, as chroot(2) would find it: no link leads out of it. With
 * `owner`, it must be that user's and no link leads to it: -ELOOP, -EPERM. */
int target_file_open_below(struct target_file **ret_file, const char *root, const char *path,
			   const uid_t *owner);
/* NULL is fine. Waits for a file system that does not answer no longer than the others do. */
void target_file_close(struct target_file *file);

const struct target_file_id *target_file_id(const struct target_file *file);

/* Reads all `sz` bytes at `off`. -ERANGE: beyond the end. -EIO. -ETIMEDOUT: see above. */
int target_file_read(struct target_file *file, u64 off, void *ret_buf, size_t sz);
/* The same into new memory, with a NUL behind it. -EFBIG above max_sz; -ENOMEM. */
int target_file_read_alloc(struct target_file *file, u64 off, u64 sz, size_t max_sz, u8 **ret_bytes);

#endif
