/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds-checked cursor over foreign bytes (files, target memory). Multi-byte values are read in the
 * machine's byte order, unaligned. A read that does not fit fails and moves nothing; `failed` then stays
 * set, so that a run of reads needs one check at its end. The bytes are not owned.
 */
#ifndef PANOPY_BASE_BYTE_READER_H
#define PANOPY_BASE_BYTE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "shared_types.h"

struct byte_reader {
	const u8 *data;
	size_t sz;
	size_t off; /* never above sz */
	bool failed;
};

static inline void byte_reader_init(struct byte_reader *reader, const void *data, size_t sz)
{
	*reader = (struct byte_reader){.data = data, .sz = sz};
}

static inline size_t byte_reader_left(const struct byte_reader *reader)
{
	return reader->sz - reader->off;
}

/* The next `sz` bytes, or NULL. */
static inline const u8 *byte_reader_take(struct byte_reader *reader, size_t sz)
{
	const u8 *bytes;

	if (reader->failed || sz > byte_reader_left(reader)) {
		reader->failed = true;
		return NULL;
	}
	bytes = reader->data + reader->off;
	reader->off += sz;
	return bytes;
}

static inline bool byte_reader_copy(struct byte_reader *reader, void *ret_bytes, size_t sz)
{
	const u8 *bytes = byte_reader_take(reader, sz);

	if (bytes && sz)
		memcpy(ret_bytes, bytes, sz);
	return bytes != NULL;
}

/* Moves to an absolute offset; the end itself is one. */
static inline bool byte_reader_seek(struct byte_reader *reader, u64 off)
{
	if (reader->failed || off > reader->sz) {
		reader->failed = true;
		return false;
	}
	reader->off = (size_t)off;
	return true;
}

/* The value, or 0 with `failed` set. */
static inline u8 byte_reader_u8(struct byte_reader *reader)
{
	u8 value = 0;

	byte_reader_copy(reader, &value, sizeof(value));
	return value;
}

static inline u16 byte_reader_u16(struct byte_reader *reader)
{
	u16 value = 0;

	byte_reader_copy(reader, &value, sizeof(value));
	return value;
}

static inline u32 byte_reader_u32(struct byte_reader *reader)
{
	u32 value = 0;

	byte_reader_copy(reader, &value, sizeof(value));
	return value;
}

static inline u64 byte_reader_u64(struct byte_reader *reader)
{
	u64 value = 0;

	byte_reader_copy(reader, &value, sizeof(value));
	return value;
}

#endif
