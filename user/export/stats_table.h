/* SPDX-License-Identifier: Apache-2.0 */
/* What became of the samples on their way, as one list of rows: a table for people (--stats) and, by
 * group and key, the `stats` of the summary's JSON.
 */
#ifndef PANOPY_EXPORT_STATS_TABLE_H
#define PANOPY_EXPORT_STATS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "export/summary.h"

enum stats_unit {
	STATS_UNIT_COUNT,   /* `count` */
	STATS_UNIT_PERCENT, /* `count`, and its share of `whole` */
	STATS_UNIT_MEAN,    /* `count` divided by `whole` */
	STATS_UNIT_MEAN_NS, /* the same, nanoseconds */
	STATS_UNIT_NS,	    /* `count` nanoseconds */
};

struct stats_row {
	const char *group; /* JSON key of the group, and the table's heading */
	const char *key;
	const char *text;
	enum stats_unit unit;
	u64 count;
	u64 whole;
	bool only_if_any; /* the table leaves it out when `count` is 0 */
};

enum { STATS_MAX_ROWS = 96 };

/* Fills the rows, those of one group in a row; returns how many. */
size_t stats_table_rows(const struct summary *summary, struct stats_row ret_rows[STATS_MAX_ROWS]);
/* What a row says as one number; 0 where it is a share or mean of nothing. */
double stats_row_value(const struct stats_row *row);

/* `color`: bold headings. */
void stats_table_print(FILE *out, const struct summary *summary, bool color);

#endif
