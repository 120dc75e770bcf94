/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of output files, one for each label; each appears whole or not at all. Files of an earlier run that have
 * another name stay.
 */
#ifndef PANOPY_EXPORT_SPLIT_DIR_H
#define PANOPY_EXPORT_SPLIT_DIR_H

#include <stddef.h>

#include "base/atomic_file.h"

enum {
	/* More labels than that share one file, `other`. */
	SPLIT_DIR_MAX_FILES = 4096,
	SPLIT_DIR_NAME_SZ = 128,
};

struct split_dir;

/* Makes the folder if it is not there (its parent must be); run as root through sudo, it is given to SUDO_UID.
 * -errno of mkdir; -ENOTDIR. */
int split_dir_make(const char *path);

/* `suffix` without the dot. Strings are not owned. */
int split_dir_new(struct split_dir **ret_dir, const char *path, const char *suffix);
void split_dir_free(struct split_dir *dir);

/* The file for what is labelled so, from now until the next call; valid until then. Labels that make the same name
 * get different ones, in the order in which they come. -errno: of the file, or of finishing the one before. */
int split_dir_next(struct split_dir *dir, const char *label, size_t sz, struct atomic_file **ret_file);
/* Finishes the last file. Without it, that one never appears. */
int split_dir_finish(struct split_dir *dir);

size_t split_dir_count(const struct split_dir *dir);

/* What a label becomes: letters, digits and `.-+@_`, others are one `_` together; never empty, no leading dot. */
void split_dir_format_name(char ret_name[SPLIT_DIR_NAME_SZ], const char *label, size_t sz);

#endif
