/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void sim_memory_map(struct sim_memory *memory, u64 addr, size_t sz, bool is_mapped)
{
	for (u64 page = (addr - SIM_BASE) / SIM_PAGE_SZ; page * SIM_PAGE_SZ < addr + sz - SIM_BASE; page++)
		memory->is_unmapped[page] = !is_mapped;
}

void sim_put(struct sim_memory *memory, u64 addr, const void *bytes, size_t sz)
{
	if (addr < SIM_BASE || addr + sz > SIM_BASE + SIM_MEMORY_SZ)
		abort();
	memcpy(memory->bytes + (addr - SIM_BASE), bytes, sz);
}

void sim_put_u64(struct sim_memory *memory, u64 addr, u64 value)
{
	sim_put(memory, addr, &value, sizeof(value));
}

void sim_put_u32(struct sim_memory *memory, u64 addr, u32 value)
{
	sim_put(memory, addr, &value, sizeof(value));
}

void sim_put_u8(struct sim_memory *memory, u64 addr, u8 value)
{
	sim_put(memory, addr, &value, sizeof(value));
}

size_t sim_user_read(void *ctx, u64 addr, void *ret_buf, size_t sz)
{
	struct sim_memory *memory = ctx;
	size_t have = 0;

	while (have < sz && addr + have - SIM_BASE < SIM_MEMORY_SZ) {
		u64 at = addr + have - SIM_BASE;
		size_t part = SIM_PAGE_SZ - at % SIM_PAGE_SZ;

		if (memory->is_unmapped[at / SIM_PAGE_SZ])
			break;
		part = part < sz - have ? part : sz - have;
		memcpy((u8 *)ret_buf + have, memory->bytes + at, part);
		have += part;
	}
	return have;
}

int sim_read(struct sim_memory *memory, u64 addr, void *ret_buf, size_t sz)
{
	return sim_user_read(memory, addr, ret_buf, sz) == sz ? 0 : -EFAULT;
}

int sim_kernel_read(void *ctx, u64 addr, void *ret_buf, size_t sz)
{
	struct sim_memory *memory = ctx;

	for (u64 at = addr & ~(u64)(SIM_PAGE_SZ - 1); at < addr + sz; at += SIM_PAGE_SZ) {
		if (at - SIM_BASE < SIM_MEMORY_SZ && memory->is_away[(at - SIM_BASE) / SIM_PAGE_SZ])
			return -EFAULT;
	}
	return sim_read(memory, addr, ret_buf, sz);
}
