/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's own small text files, in /proc and /sys. Not for files of a target: see base/target_file.h. */
#ifndef PANOPY_BASE_TEXT_FILE_H
#define PANOPY_BASE_TEXT_FILE_H

#include <stddef.h>
#include <sys/types.h>

/* Up to sz - 1 bytes and a NUL behind them, from as many reads as it takes; what is longer is cut. How many bytes
 * it was, or -errno of the open or of a read, with ret_text then of no meaning. */
ssize_t text_file_read(const char *path, char *ret_text, size_t sz);

#endif
