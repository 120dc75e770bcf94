/* SPDX-License-Identifier: Apache-2.0 */
#include "base/byte_buf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	CAP_FIRST = 256,
	NUMBER_DIGITS = 20, /* of the largest of 64 bits */
};

void byte_buf_init(struct byte_buf *buf, size_t max)
{
	*buf = (struct byte_buf){.max = max};
}

void byte_buf_release(struct byte_buf *buf)
{
	free(buf->data);
	*buf = (struct byte_buf){.max = buf->max};
}

void byte_buf_clear(struct byte_buf *buf)
{
	buf->sz = 0;
}

int byte_buf_reserve(struct byte_buf *buf, size_t sz)
{
	size_t need, cap;
	char *data;

	if (buf->sz > buf->max || sz > buf->max - buf->sz)
		return -ENOSPC;
	need = buf->sz + sz;
	if (need <= buf->cap)
		return 0;
	cap = buf->cap ? buf->cap : CAP_FIRST;
	while (cap < need && cap <= buf->max / 2)
		cap *= 2;
	if (cap < need)
		cap = buf->max;
	data = realloc(buf->data, cap);
	if (!data)
		return -ENOMEM;
	buf->data = data;
	buf->cap = cap;
	return 0;
}

int byte_buf_add(struct byte_buf *buf, const void *data, size_t sz)
{
	int err = byte_buf_reserve(buf, sz);

	if (err)
		return err;
	if (sz)
		memcpy(buf->data + buf->sz, data, sz);
	buf->sz += sz;
	return 0;
}

int byte_buf_add_text(struct byte_buf *buf, const char *text)
{
	return byte_buf_add(buf, text, strlen(text));
}

int byte_buf_add_char(struct byte_buf *buf, char c)
{
	return byte_buf_add(buf, &c, 1);
}

int byte_buf_add_number(struct byte_buf *buf, u64 number)
{
	char digits[NUMBER_DIGITS];
	char *first = digits + sizeof(digits);

	do
		*--first = (char)('0' + number % 10);
	while (number /= 10);
	return byte_buf_add(buf, first, (size_t)(digits + sizeof(digits) - first));
}
