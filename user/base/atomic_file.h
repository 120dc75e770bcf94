/* SPDX-License-Identifier: Apache-2.0 */
/* An output file that appears whole or not at all: written beside its target under a temporary name
 * and renamed on success. Until then, and after any failure, a file of an earlier run stays as it was.
 */
#ifndef PANOPY_BASE_ATOMIC_FILE_H
#define PANOPY_BASE_ATOMIC_FILE_H

#include <stddef.h>

struct atomic_file;

/* "-" is standard output. A path that names something else than a regular file (a device, a pipe) is
 * written directly. Run as root through sudo, the file is given to SUDO_UID and SUDO_GID.
 * -errno of the open: -ENOENT, -EACCES, -EROFS, ... */
int atomic_file_open(struct atomic_file **ret_file, const char *path);

/* For a name that nobody gave: a link of that name is replaced itself, and so is a device or a pipe. -EISDIR. */
int atomic_file_open_replacing(struct atomic_file **ret_file, const char *path);

/* The commit then replaces nothing: -EEXIST where a file is there by then. */
void atomic_file_keep_existing(struct atomic_file *file);

/* Buffered. The first failure is kept: later writes and the commit return it again. */
int atomic_file_write(struct atomic_file *file, const void *data, size_t sz);

/* Writes what is buffered, closes and renames. The file object is gone afterwards, also on failure,
 * when the temporary file is removed. No fsync: this is a report, not a database. */
int atomic_file_commit(struct atomic_file *file);

/* Gives up: removes the temporary file. NULL is fine. */
void atomic_file_discard(struct atomic_file *file);

/* What atomic_file_open() does for files, for a folder that was just made. */
void atomic_file_give_to_sudo_user(const char *path);

/* For a signal handler that ends the process: removes the temporary file opened last, if it is still there. */
void atomic_file_abort(void);

#endif
