/* SPDX-License-Identifier: Apache-2.0 */
#include "process_rows.h"

#include <errno.h>
#include <stdlib.h>

void process_rows_init(struct process_rows *rows, size_t max)
{
	*rows = (struct process_rows){0};
	id_map_init(&rows->by_process, max);
}

void process_rows_release(struct process_rows *rows)
{
	id_map_release(&rows->by_process);
	free(rows->rows);
	*rows = (struct process_rows){0};
}

struct summary_process *process_rows_find(const struct process_rows *rows, u32 process_id)
{
	u32 idx = id_map_find(&rows->by_process, process_id);

	return idx == ID_MAP_NONE ? NULL : &rows->rows[idx];
}

static int row_add(struct process_rows *rows, u32 process_id)
{
	int err;

	if (rows->cnt == rows->cap) {
		size_t cap = rows->cap ? 2 * rows->cap : 64;
		void *grown = reallocarray(rows->rows, cap, sizeof(*rows->rows));

		if (!grown)
			return -ENOMEM;
		rows->rows = grown;
		rows->cap = cap;
	}
	err = id_map_put(&rows->by_process, process_id, (u32)rows->cnt);
	if (!err)
		rows->rows[rows->cnt++] = (struct summary_process){.process_id = process_id};
	return err;
}

int process_rows_note(struct process_rows *rows, u32 process_id, const struct py_runtime *runtime,
		      bool selected)
{
	struct summary_process *row;
	int err = process_rows_find(rows, process_id) ? 0 : row_add(rows, process_id);

	if (err)
		return err;
	row = process_rows_find(rows, process_id);
	row->version = runtime->version;
	row->refusal = runtime->refusal;
	row->free_threaded = runtime->free_threaded;
	row->selected = row->selected || selected;
	return 0;
}

void process_rows_forget(struct process_rows *rows, u32 process_id)
{
	u32 idx = id_map_find(&rows->by_process, process_id);

	if (idx == ID_MAP_NONE)
		return;
	id_map_remove(&rows->by_process, process_id);
	if (idx != --rows->cnt) {
		rows->rows[idx] = rows->rows[rows->cnt];
		id_map_put(&rows->by_process, rows->rows[idx].process_id, idx);
	}
}

void process_rows_filter(struct process_rows *rows,
			 bool (*keeps)(void *ctx, const struct summary_process *row), void *ctx)
{
	size_t kept = 0;

	id_map_clear(&rows->by_process);
	for (size_t i = 0; i < rows->cnt; i++) {
		if (keeps(ctx, &rows->rows[i]))
			rows->rows[kept++] = rows->rows[i];
	}
	rows->cnt = kept;
}
