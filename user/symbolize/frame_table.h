/* SPDX-License-Identifier: Apache-2.0 */
/* Interned frames: (qualified name, file, line) -> u32. Strings are UTF-8, unescaped, interned in the
 * string table underneath; escaping is the exporters' business.
 */
#ifndef PANOPY_SYMBOLIZE_FRAME_TABLE_H
#define PANOPY_SYMBOLIZE_FRAME_TABLE_H

#include <stddef.h>

#include "symbolize/string_table.h"
#include "shared_types.h"

/* Fixed ids, the same in every table. */
enum frame_id_fixed {
	FRAME_ID_UNNAMED = 0, /* its code object died before it could be named */
	FRAME_ID_FOLDED = 1,  /* the table was full */
	FRAME_ID_FIRST = 2
};

struct frame {
	u32 qualname_id;
	u32 file_id;
	s32 line; /* 0: none known */
};

struct frame_table;

int frame_table_new(struct frame_table **ret_table, size_t max_frames);
void frame_table_free(struct frame_table *table);

struct string_table *frame_table_strings(const struct frame_table *table);
/* 0 and the id; -ENOSPC when full (the id is then FRAME_ID_FOLDED); -ENOMEM. */
int frame_table_intern(struct frame_table *table, const struct frame *frame, u32 *ret_id);
const struct frame *frame_table_at(const struct frame_table *table, u32 id);
/* Ids are 0..count-1. */
size_t frame_table_count(const struct frame_table *table);

#endif
