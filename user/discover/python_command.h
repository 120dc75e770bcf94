/* SPDX-License-Identifier: Apache-2.0 */
/* What a Python command line runs. */
#ifndef PANOPY_DISCOVER_PYTHON_COMMAND_H
#define PANOPY_DISCOVER_PYTHON_COMMAND_H

#include <stddef.h>

/* `cmdline` holds `sz` bytes of arguments that end in NUL (the last one may not). The script as it was given, the module of -m, or, where
 * the command is no interpreter's (an embedded Python) or runs neither (-c, standard input), its first word. NULL without any word.
 * The bytes are `cmdline`'s, up to `*ret_sz`. */
const char *python_command_subject(const char *cmdline, size_t sz, size_t *ret_sz);

#endif
