/* SPDX-License-Identifier: Apache-2.0 */
#include "base/edit_distance.h"

#include <string.h>

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t ab = a < b ? a : b;

	return ab < c ? ab : c;
}

size_t edit_distance(const char *a, const char *b)
{
	size_t a_sz = strlen(a);
	size_t b_sz = strlen(b);
	size_t row[EDIT_DISTANCE_MAX + 1];

	if (a_sz > EDIT_DISTANCE_MAX || b_sz > EDIT_DISTANCE_MAX)
		return EDIT_DISTANCE_MAX;
	for (size_t j = 0; j <= b_sz; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_sz; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_sz; j++) {
			size_t above = row[j];

			row[j] = min3(row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[b_sz];
}
