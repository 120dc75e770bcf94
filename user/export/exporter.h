/* SPDX-License-Identifier: Apache-2.0 */
/* Output formats: one struct exporter_ops per format, one file each, found by name. */
#ifndef PANOPY_EXPORT_EXPORTER_H
#define PANOPY_EXPORT_EXPORTER_H

#include "aggregate/profile.h"
#include "base/atomic_file.h"
#include "discover/process_table.h"
#include "export/split_dir.h"

/* What stands at the root of each stack. */
enum exporter_per {
	EXPORTER_PER_PROCESS, /* `comm (pid)` */
	EXPORTER_PER_THREAD,  /* that and `thread NAME (tid)` */
	/* One frame, of root_label.h; equal stacks of all processes below it become one. */
	EXPORTER_PER_CONTAINER,
	EXPORTER_PER_CGROUP,
	EXPORTER_PER_USER,
	EXPORTER_PER_NONE, /* nothing: equal stacks of all processes become one */
};

/* What is written; not owned, not changed. */
struct exporter_input {
	struct profile *profile;
	struct process_table *processes;
	enum exporter_per per;
	bool keep_existing; /* a file that is there is not replaced: -EEXIST */
};

struct exporter_ops {
	const char *name;   /* as the command line and the summary call it */
	const char *suffix; /* of the default file name, without the dot */
	/* 0 or -errno; the file's own write errors come back from here too. */
	int (*write)(const struct exporter_input *input, struct atomic_file *file);
	/* The same, each value of `per` into a file of its own (not EXPORTER_PER_NONE). */
	int (*split)(const struct exporter_input *input, struct split_dir *dir);
};

/* NULL: no such format. */
const struct exporter_ops *exporter_find(const char *name);

/* Opens, writes and commits; on failure (-errno) a file that was there stays as it was. */
int exporter_write(const struct exporter_ops *ops, const struct exporter_input *input, const char *path);

/* One file below `path` (a folder that is there) for each value of input->per; ret_cnt: how many. On failure files
 * that were written before are whole. */
int exporter_split(const struct exporter_ops *ops, const struct exporter_input *input, const char *path,
		   size_t *ret_cnt);

#endif
