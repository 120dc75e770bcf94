/* SPDX-License-Identifier: Apache-2.0 */
/* The summary of a recording as JSON; its keys are documented in docs/summary.md. */
#ifndef PANOPY_EXPORT_SUMMARY_JSON_H
#define PANOPY_EXPORT_SUMMARY_JSON_H

#include "export/summary.h"

/* NUL-terminated, ends in a newline; the caller frees it. -ENOMEM. */
int summary_json_format(char **ret_text, const struct summary *summary);
/* Writes it to `path` ("-": standard output) as atomic_file does; -errno. */
int summary_json_write(const char *path, const struct summary *summary);

#endif
