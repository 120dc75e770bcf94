/* SPDX-License-Identifier: Apache-2.0 */
/* Two reads for some hundred code objects at once: their heads (how long the bytecode is, where the array of
 * copies lies), then the array's size and the one entry. CPython 3.14, Include/cpython/code.h: _PyCodeArray
 * is {Py_ssize_t size; char *entries[]}.
 */
#include "stack/bytecode_copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cpython_facts.h"

enum {
	ROUND_CODES = 512,
	/* Of one stack, each round being two reads of some 60 us. */
	MAX_CODES = 32 * ROUND_CODES,
	SEGMENTS = 2, /* of one code object, in either read */
	UNIT_SZ = 2,
};

struct bytecode_reader {
	struct remote_batch *batch;
	u64 arrays[ROUND_CODES];
};

int bytecode_reader_new(struct bytecode_reader **ret_reader)
{
	struct bytecode_reader *reader = calloc(1, sizeof(*reader));
	int err;

	if (!reader)
		return -ENOMEM;
	err = remote_batch_new(&reader->batch, SEGMENTS * ROUND_CODES, SEGMENTS * ROUND_CODES * sizeof(u64));
	if (err) {
		free(reader);
		return err;
	}
	*ret_reader = reader;
	return 0;
}

void bytecode_reader_free(struct bytecode_reader *reader)
{
	if (!reader)
		return;
	remote_batch_free(reader->batch);
	free(reader);
}

/* The segment's number, negative where no such address can be. */
static int ask_u64(struct bytecode_reader *reader, u64 addr)
{
	return remote_batch_add(reader->batch, addr, sizeof(u64));
}

/* 0: it was not read. */
static u64 answer_u64(const struct bytecode_reader *reader, int segment)
{
	size_t sz = 0;
	const u8 *bytes = segment < 0 ? NULL : remote_batch_bytes(reader->batch, (size_t)segment, &sz);
	u64 value = 0;

	if (bytes && sz == sizeof(value))
		memcpy(&value, bytes, sizeof(value));
	return value;
}

static int read_heads(struct bytecode_reader *reader, struct remote_mem *mem, const struct py_layout *layout,
		      struct bytecode_copy *copies, size_t cnt)
{
	int sizes[ROUND_CODES], arrays[ROUND_CODES], err;

	remote_batch_clear(reader->batch);
	for (size_t i = 0; i < cnt; i++) {
		/* ob_size, in code units, lies where that of bytes does. */
		sizes[i] = ask_u64(reader, copies[i].code + layout->bytes_size);
		arrays[i] = ask_u64(reader, copies[i].code + layout->code_tlbc);
	}
	err = remote_mem_read_batch(mem, reader->batch);
	if (err)
		return err;
	for (size_t i = 0; i < cnt; i++) {
		u64 units = answer_u64(reader, sizes[i]);

		copies[i].sz = units < BYTECODE_NOWHERE / UNIT_SZ ? (u32)units * UNIT_SZ : 0;
		reader->arrays[i] = copies[i].index ? answer_u64(reader, arrays[i]) : 0;
	}
	return 0;
}

static int read_entries(struct bytecode_reader *reader, struct remote_mem *mem, struct bytecode_copy *copies,
			size_t cnt)
{
	int counts[ROUND_CODES], entries[ROUND_CODES], err;

	remote_batch_clear(reader->batch);
	for (size_t i = 0; i < cnt; i++) {
		u64 array = reader->arrays[i];

		counts[i] = array ? ask_u64(reader, array) : -1;
		entries[i] =
			array ? ask_u64(reader, array + PY_CODE_ARRAY_HEAD_SZ + copies[i].index * sizeof(u64))
			      : -1;
	}
	if (!remote_batch_count(reader->batch))
		return 0;
	err = remote_mem_read_batch(mem, reader->batch);
	for (size_t i = 0; i < cnt && !err; i++) {
		if (copies[i].index < answer_u64(reader, counts[i]))
			copies[i].base = answer_u64(reader, entries[i]);
	}
	return err;
}

int bytecode_reader_find(struct bytecode_reader *reader, struct remote_mem *mem,
			 const struct py_layout *layout, struct bytecode_copy *copies, size_t cnt)
{
	int err = 0;

	for (size_t i = 0; i < cnt; i++) {
		copies[i].sz = 0;
		copies[i].base = 0;
	}
	for (size_t at = 0; !err && at < cnt && at < MAX_CODES; at += ROUND_CODES) {
		size_t round = cnt - at < ROUND_CODES ? cnt - at : ROUND_CODES;

		err = read_heads(reader, mem, layout, copies + at, round);
		err = err ?: read_entries(reader, mem, copies + at, round);
	}
	return err;
}

s32 bytecode_copy_offset(const struct bytecode_copy *copy, const struct py_layout *layout, u64 instr)
{
	u64 own = copy->code + layout->code_code_adaptive;

	if (instr - own < copy->sz)
		return (s32)(instr - own);
	if (copy->base && instr - copy->base < copy->sz)
		return (s32)(instr - copy->base);
	return BYTECODE_NOWHERE;
}
