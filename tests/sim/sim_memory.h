/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a simulated process: flat, in pages that are mapped or not, and resident or not. */
#ifndef PANOPY_SIM_MEMORY_H
#define PANOPY_SIM_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "shared_types.h"

enum {
	SIM_PAGE_SZ = 4096,
	SIM_MEMORY_SZ = 8 << 20,
	SIM_PAGES = SIM_MEMORY_SZ / SIM_PAGE_SZ,
};

#define SIM_BASE 0x7f1000000000ULL

struct sim_memory {
	u8 bytes[SIM_MEMORY_SZ];
	bool is_unmapped[SIM_PAGES];
	bool is_away[SIM_PAGES]; /* mapped, not resident: the kernel side cannot read it */
};

void sim_memory_map(struct sim_memory *memory, u64 addr, size_t sz, bool is_mapped);

/* The program's own accesses: anywhere in the memory, mapped or not. */
void sim_put(struct sim_memory *memory, u64 addr, const void *bytes, size_t sz);
void sim_put_u64(struct sim_memory *memory, u64 addr, u64 value);
void sim_put_u32(struct sim_memory *memory, u64 addr, u32 value);
void sim_put_u8(struct sim_memory *memory, u64 addr, u8 value);

/* walker_read_fn, remote_view_fn: as the kernel side and as user space see it. */
int sim_kernel_read(void *memory, u64 addr, void *ret_buf, size_t sz);
size_t sim_user_read(void *memory, u64 addr, void *ret_buf, size_t sz);
/* All or nothing; 0 or -EFAULT. */
int sim_read(struct sim_memory *memory, u64 addr, void *ret_buf, size_t sz);

struct sim_random {
	u64 state;
};

static inline u64 sim_random(struct sim_random *random)
{
	u64 z = random->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* 0 to n - 1. */
static inline u32 sim_below(struct sim_random *random, u32 n)
{
	return (u32)((sim_random(random) >> 32) * n >> 32);
}

static inline bool sim_chance(struct sim_random *random, u32 one_in)
{
	return sim_below(random, one_in) == 0;
}

#endif
