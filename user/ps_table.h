/* SPDX-License-Identifier: Apache-2.0 */
/* The listing of `panopy ps`: rows in, text or JSON out. */
#ifndef PANOPY_PS_TABLE_H
#define PANOPY_PS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "discover/process_table.h"
#include "runtime/py_runtime.h"

enum { PS_USER_SZ = 33 }; /* longest login name that useradd takes, and a terminator */

struct ps_row {
	const struct process *process; /* not owned */
	/* Its memory could not be looked at; nothing in `runtime` is valid. */
	bool unreadable;
	struct py_runtime runtime;
	size_t thread_cnt; /* 0: unknown */
	char user[PS_USER_SZ];
};

struct ps_listing {
	const struct ps_row *rows;
	size_t cnt;
	/* Processes of which could not even be said whether they run Python. */
	size_t unreadable_cnt;
};

/* Aligned columns; unless `width` is 0, lines are cut there and narrow terminals get no interpreter
 * column. Below, one line a reason why processes cannot be profiled. */
void ps_table_print(FILE *out, const struct ps_listing *listing, int width);
/* Keys: docs/panopy.1, section "JSON of ps". 0 or -ENOMEM or -EIO. */
int ps_table_print_json(FILE *out, const struct ps_listing *listing);

#endif
