/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/layout_tables.h"

const struct layout_row layout_rows[] = {
#if defined(__x86_64__)
#include "runtime/layout_rows_x86_64.inc"
#elif defined(__aarch64__)
#include "runtime/layout_rows_aarch64.inc"
#endif
};

const size_t layout_row_cnt = sizeof(layout_rows) / sizeof(layout_rows[0]);

const struct debug_offsets_format debug_offsets_formats[] = {
#if defined(__x86_64__)
#include "runtime/debug_offsets_formats_x86_64.inc"
#elif defined(__aarch64__)
#include "runtime/debug_offsets_formats_aarch64.inc"
#endif
};

const size_t debug_offsets_format_cnt = sizeof(debug_offsets_formats) / sizeof(debug_offsets_formats[0]);
