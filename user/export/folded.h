/* SPDX-License-Identifier: Apache-2.0 */
/* Collapsed stacks: one line per distinct stack, root to leaf, ';' between frames, a space and the
 * number of samples at the end; lines sorted by their bytes. README and docs/panopy.1 describe the
 * frames; text from targets is escaped (export/escape.h), so that a line is always one stack.
 */
#ifndef PANOPY_EXPORT_FOLDED_H
#define PANOPY_EXPORT_FOLDED_H

#include "export/exporter.h"

extern const struct exporter_ops folded_exporter;

#endif
