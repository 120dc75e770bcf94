/* SPDX-License-Identifier: Apache-2.0 */
/* Interned strings -> u32. Id 0 is the empty string. Strings keep their address for the table's life. */
#ifndef PANOPY_SYMBOLIZE_STRING_TABLE_H
#define PANOPY_SYMBOLIZE_STRING_TABLE_H

#include <stddef.h>

#include "shared_types.h"

struct string_table;

int string_table_new(struct string_table **ret_table, size_t max_bytes);
void string_table_free(struct string_table *table);

/* `text` need not end in NUL and may contain NUL. -ENOSPC when the table is full, -ENOMEM. */
int string_table_intern(struct string_table *table, const char *text, size_t sz, u32 *ret_id);
/* NUL-terminated; *ret_sz (may be NULL) excludes the terminator. */
const char *string_table_at(const struct string_table *table, u32 id, size_t *ret_sz);

#endif
