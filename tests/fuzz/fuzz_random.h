/* SPDX-License-Identifier: Apache-2.0 */
/* Random inputs that are the same in every run: a failure found once is found again. */
#ifndef PANOPY_FUZZ_RANDOM_H
#define PANOPY_FUZZ_RANDOM_H

#include <stddef.h>
#include <stdlib.h>

#include "shared_types.h"

static u64 g_fuzz_state = 0x9e3779b97f4a7c15ULL;

static inline u32 fuzz_random(void)
{
	g_fuzz_state = g_fuzz_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (u32)(g_fuzz_state >> 32);
}

/* Rounds to run: the argument, or a default that takes about a second. */
static inline long fuzz_rounds(int argc, char **argv, long default_cnt)
{
	return argc > 1 ? strtol(argv[1], NULL, 10) : default_cnt;
}

/* Fills `sz` bytes; small and special values are more frequent than chance has them. */
static inline void fuzz_fill(u8 *bytes, size_t sz)
{
	static const u8 special[] = {0, 1, 0x3f, 0x40, 0x7f, 0x80, 0xff, 0xdc};

	for (size_t i = 0; i < sz; i++) {
		u32 value = fuzz_random();

		bytes[i] = value & 0x300 ? (u8)value : special[(value >> 16) % sizeof(special)];
	}
}

/* Changes a few bytes of something valid. */
static inline void fuzz_mutate(u8 *bytes, size_t sz)
{
	for (u32 i = fuzz_random() % 4; sz && i > 0; i--)
		fuzz_fill(bytes + fuzz_random() % sz, 1);
}

#endif
