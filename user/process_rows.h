/* SPDX-License-Identifier: Apache-2.0 */
/* What the summary says of each Python process seen, refused ones included: one row a process, by its id in the
 * process table.
 */
#ifndef PANOPY_PROCESS_ROWS_H
#define PANOPY_PROCESS_ROWS_H

#include <stdbool.h>

#include "base/id_map.h"
#include "export/summary.h"
#include "runtime/py_runtime.h"

struct process_rows {
	struct id_map by_process; /* process id -> index */
	struct summary_process *rows;
	size_t cnt;
	size_t cap;
};

void process_rows_init(struct process_rows *rows, size_t max);
void process_rows_release(struct process_rows *rows);

/* NULL: no Python process. The row moves when one is noted. */
struct summary_process *process_rows_find(const struct process_rows *rows, u32 process_id);

/* A later image of the same process replaces what its row says. 0, -ENOSPC or -ENOMEM. */
int process_rows_note(struct process_rows *rows, u32 process_id, const struct py_runtime *runtime,
		      bool selected);

/* The id will be another process's. */
void process_rows_forget(struct process_rows *rows, u32 process_id);

/* Forgets those for which `keeps` is false. Finding is over after that. */
void process_rows_filter(struct process_rows *rows,
			 bool (*keeps)(void *ctx, const struct summary_process *row), void *ctx);

#endif
