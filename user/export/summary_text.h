/* SPDX-License-Identifier: Apache-2.0 */
/* How the tables for people write numbers and headings. */
#ifndef PANOPY_EXPORT_SUMMARY_TEXT_H
#define PANOPY_EXPORT_SUMMARY_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "shared_types.h"

/* 1234567 as 1,234,567, cut at `sz` bytes (32 hold any). Returns `buf`. */
const char *summary_text_count(char *buf, size_t sz, u64 count);
/* An empty line, then the heading; bold with `color`. */
void summary_text_heading(FILE *out, bool color, const char *text);

#endif
