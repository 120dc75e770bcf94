/* SPDX-License-Identifier: Apache-2.0 */
/* A made-up target: bytes put at addresses, opened as a memory image. */
#ifndef PANOPY_UNIT_STACK_FIXTURE_H
#define PANOPY_UNIT_STACK_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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
	/* Called before every segment that is read. */
	void (*on_read)(void *ctx);
	void *ctx;
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

static inline size_t fake_memory_view(void *ctx, remote_addr_t addr, void *ret_buf, size_t sz)
{
	struct fake_memory *memory = ctx;
	size_t have = 0;

	if (memory->on_read)
		memory->on_read(memory->ctx);
	for (size_t i = 0; i < memory->cnt && have < sz; i++) {
		const struct fake_segment *segment = &memory->segments[i];

		if (addr + have < segment->addr || addr + have - segment->addr >= segment->sz)
			continue;
		while (have < sz && addr + have - segment->addr < segment->sz) {
			((u8 *)ret_buf)[have] = segment->bytes[addr + have - segment->addr];
			have++;
		}
	}
	return have;
}

/* The memory as it is at each read. */
static inline struct remote_mem *fake_memory_open(struct fake_memory *memory)
{
	if (!memory->mem)
		assert_int_equal(remote_mem_open_view(&memory->mem, fake_memory_view, memory), 0);
	return memory->mem;
}

static inline void fake_memory_release(struct fake_memory *memory)
{
	remote_mem_close(memory->mem);
}

#endif
