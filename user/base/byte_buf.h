/* SPDX-License-Identifier: Apache-2.0 */
/* Growable bytes with a maximum. */
#ifndef PANOPY_BASE_BYTE_BUF_H
#define PANOPY_BASE_BYTE_BUF_H

#include <stddef.h>

#include "shared_types.h"

struct byte_buf {
	char *data; /* NULL until something was added; not NUL-terminated */
	size_t sz;
	size_t cap;
	size_t max;
};

void byte_buf_init(struct byte_buf *buf, size_t max);
void byte_buf_release(struct byte_buf *buf);
/* Empties it, keeps the memory. */
void byte_buf_clear(struct byte_buf *buf);

/* All of these leave the buffer as it was on failure: -ENOSPC past the maximum, -ENOMEM. */
int byte_buf_add(struct byte_buf *buf, const void *data, size_t sz);
int byte_buf_add_text(struct byte_buf *buf, const char *text);
int byte_buf_add_char(struct byte_buf *buf, char c);
int byte_buf_add_number(struct byte_buf *buf, u64 number); /* decimal */
/* Makes room for `sz` more bytes, which the caller writes at data + sz before raising sz. */
int byte_buf_reserve(struct byte_buf *buf, size_t sz);

#endif
