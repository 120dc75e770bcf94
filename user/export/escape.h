/* SPDX-License-Identifier: Apache-2.0 */
/* Text from targets made safe for one-line outputs and terminals. What a terminal can show is
 * kept (base/printable.h); these bytes become `\x3b` style escapes: ';' (it separates frames), backslash,
 * those of control characters and of invisible ones that separate lines or change the direction of text,
 * and every byte that is not part of valid UTF-8.
 */
#ifndef PANOPY_EXPORT_ESCAPE_H
#define PANOPY_EXPORT_ESCAPE_H

#include "base/byte_buf.h"

/* Adds the escaped text. Errors of byte_buf_add, with part of the text added. */
int escape_add(struct byte_buf *buf, const char *text, size_t sz);

#endif
