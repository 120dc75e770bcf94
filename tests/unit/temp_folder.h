/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of a test's own, and the entries of a stand-in for /proc in it. Include cmocka.h before. */
#ifndef PANOPY_UNIT_TEMP_FOLDER_H
#define PANOPY_UNIT_TEMP_FOLDER_H

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

static inline int temp_folder_remove_one(const char *path, const struct stat *st, int flag, struct FTW *walk)
{
	(void)st, (void)flag, (void)walk;
	return remove(path);
}

/* With all that is in it. */
static inline int temp_folder_remove(const char *path)
{
	return nftw(path, temp_folder_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* The file `name` of the process `pid` below `root`. */
static inline void temp_folder_put_process(const char *root, int pid, const char *name, const char *text,
					   size_t sz)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%d", root, pid);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%d/%s", root, pid, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, sz, file), sz);
	assert_int_equal(fclose(file), 0);
}

#endif
