/* SPDX-License-Identifier: Apache-2.0 */
/* PY_VERSION_HEX as text. */
#ifndef PANOPY_BASE_PYTHON_VERSION_H
#define PANOPY_BASE_PYTHON_VERSION_H

#include <stddef.h>

#include "shared_types.h"

enum { PYTHON_VERSION_SZ = 24 };

/* "3.13.1", "3.15.0a3", "3.14.0rc2"; "3.6" when the low 16 bits are 0, "" for 0 (unknown). Returns `buf`. */
const char *python_version_format(char *buf, size_t sz, u32 version_hex);

#endif
