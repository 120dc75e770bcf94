/* SPDX-License-Identifier: Apache-2.0 */
/* A made-up target: bytes put at addresses, opened as a memory image. */
#ifndef PANOPY_UNIT_STACK_FIXTURE_H
#define PANOPY_UNIT_STACK_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/remote_mem.h"
#include "py_layout.h"

enum {
	FAKE_SEGMENTS_MAX = 512,
	FAKE_BYTES_MAX = 256,
};

struct fake_segment {
	u64 addr;
	u64 sz;
	u8 bytes[FAKE_BYTES_MAX];
};

struct fake_memory {
	struct remote_mem *mem;
	size_t cnt;
	struct fake_segment segments[FAKE_SEGMENTS_MAX];
};

static inline struct py_layout fake_layout(void)
{
	return (struct py_layout){
		.traits = PY_TRAIT_OWNER_ENTRY,
		.frame_executable = 0,
		.frame_previous = 8,
		.frame_instr = 16,
		.frame_owner = 24,
		.frame_sz = 32,
		.owner_entry = 3,
		.code_code_adaptive = 200,
		.runtime_interpreters_head = 8,
		.interp_next = 0,
		.interp_threads_head = 8,
		.tstate_next = 8,
		.tstate_native_thread_id = 16,
		.tstate_sz = 24,
	};
}

/* Adds or replaces; segments must not overlap otherwise. */
static inline void fake_memory_put(struct fake_memory *memory, u64 addr, const void *bytes, size_t sz)
{
	size_t at = 0;

	assert_true(sz <= FAKE_BYTES_MAX);
	while (at < memory->cnt && memory->segments[at].addr < addr)
		at++;
	if (at == memory->cnt || memory->segments[at].addr != addr) {
		assert_true(memory->cnt < FAKE_SEGMENTS_MAX);
		memmove(&memory->segments[at + 1], &memory->segments[at],
			(memory->cnt - at) * sizeof(memory->segments[0]));
		memory->cnt++;
	}
	memory->segments[at].addr = addr;
	memory->segments[at].sz = sz;
	memcpy(memory->segments[at].bytes, bytes, sz);
}

/* The memory as it is now; valid until the next call. */
static inline struct remote_mem *fake_memory_open(struct fake_memory *memory)
{
	char path[] = "/tmp/panopy-unit-XXXXXX";
	int fd = mkstemp(path);
	FILE *file = fdopen(fd, "w");
	u32 head[2] = {1, (u32)memory->cnt};
	u64 off = 16 + 24 * memory->cnt;
	int err;

	assert_non_null(file);
	fwrite("PANOPYMI", 8, 1, file);
	fwrite(head, sizeof(head), 1, file);
	for (size_t i = 0; i < memory->cnt; i++) {
		u64 row[3] = {memory->segments[i].addr, memory->segments[i].sz, off};

		fwrite(row, sizeof(row), 1, file);
		off += row[1];
	}
	for (size_t i = 0; i < memory->cnt; i++)
		fwrite(memory->segments[i].bytes, memory->segments[i].sz, 1, file);
	assert_int_equal(fclose(file), 0);
	remote_mem_close(memory->mem);
	memory->mem = NULL;
	err = remote_mem_open_image(&memory->mem, path);
	unlink(path);
	assert_int_equal(err, 0);
	return memory->mem;
}

static inline void fake_memory_release(struct fake_memory *memory)
{
	remote_mem_close(memory->mem);
}

#endif
