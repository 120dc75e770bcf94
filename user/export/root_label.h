/* SPDX-License-Identifier: Apache-2.0 */
/* What stands at the root of a process's stacks with --per container, cgroup or user. Two containers never share a
 * label: where they are called the same, both have their id behind the name.
 */
#ifndef PANOPY_EXPORT_ROOT_LABEL_H
#define PANOPY_EXPORT_ROOT_LABEL_H

#include "discover/process_table.h"

enum root_label_kind {
	ROOT_LABEL_CONTAINER, /* container_format_label(), `host` outside of any */
	ROOT_LABEL_CGROUP,    /* its path */
	ROOT_LABEL_USER,      /* the name, or the number where it has none */
};

enum { ROOT_LABEL_SZ = 4096 };

struct root_labels;

/* The table is not owned. Processes that are added to it later have no label. */
int root_labels_new(struct root_labels **ret_labels, struct process_table *processes,
		    enum root_label_kind kind);
void root_labels_free(struct root_labels *labels);

/* Not escaped. "?": what is not known. Valid as long as both tables. */
const char *root_labels_at(const struct root_labels *labels, u32 process_id);

#endif
