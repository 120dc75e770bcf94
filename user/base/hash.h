/* SPDX-License-Identifier: Apache-2.0 */
/* 64-bit hashes for the tables that grow with what targets contain. They are seeded per process, so
 * that a target cannot choose names or addresses that collide.
 */
#ifndef PANOPY_BASE_HASH_H
#define PANOPY_BASE_HASH_H

#include <stddef.h>
#include <string.h>
#include <sys/random.h>

#include "shared_types.h"

static inline u64 hash_mix(u64 a, u64 b)
{
	__uint128_t product = (__uint128_t)(a ^ 0x9e3779b97f4a7c15ULL) * (b ^ 0xd6e8feb86659fd93ULL);

	return (u64)product ^ (u64)(product >> 64);
}

static inline u64 hash_bytes(u64 seed, const void *data, size_t sz)
{
	const unsigned char *bytes = data;
	u64 hash = hash_mix(seed, sz);
	u64 word = 0;

	for (; sz >= sizeof(word); bytes += sizeof(word), sz -= sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		hash = hash_mix(hash, word);
	}
	word = 0;
	if (sz)
		memcpy(&word, bytes, sz);
	return hash_mix(hash, word);
}

/* Without entropy (early boot) the seed is a constant: the tables stay right, only predictable. */
static inline u64 hash_seed(void)
{
	u64 seed = 0x2545f4914f6cdd1dULL;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed))
		seed = 0x2545f4914f6cdd1dULL;
	return seed;
}

#endif
