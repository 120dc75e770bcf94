/* SPDX-License-Identifier: Apache-2.0 */
/* How far one word is from another, for "did you mean". */
#ifndef PANOPY_BASE_EDIT_DISTANCE_H
#define PANOPY_BASE_EDIT_DISTANCE_H

#include <stddef.h>

/* Words longer than this are as far apart as it says. */
enum { EDIT_DISTANCE_MAX = 128 };

/* Levenshtein distance in bytes. */
size_t edit_distance(const char *a, const char *b);

#endif
