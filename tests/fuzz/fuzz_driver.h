/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a libFuzzer entry point without libFuzzer: a fixed number of inputs, the same in every run, each a
 * mutation of a seed. With clang, the same sources build as fuzzers: -fsanitize=fuzzer -DPANOPY_LIBFUZZER.
 */
#ifndef PANOPY_TESTS_FUZZ_DRIVER_H
#define PANOPY_TESTS_FUZZ_DRIVER_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz);

/* xorshift64*: good enough to hit boundaries, and the same everywhere. */
static inline uint64_t fuzz_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dULL;
}

static inline void fuzz_mutate_once(uint8_t *data, size_t sz, uint64_t *random)
{
	static const uint64_t edges[] = {
		0,	1,	    7,		8,	     0x7f,	 0x80,		 0xff,
		0xffff, 0x7fffffff, 0xffffffff, 0x100000000, UINT64_MAX, UINT64_MAX - 7, 1ULL << 63};
	size_t off = fuzz_random(random) % sz;
	uint64_t edge = edges[fuzz_random(random) % (sizeof(edges) / sizeof(edges[0]))];
	size_t from, left, width = (size_t)1 << fuzz_random(random) % 4;

	switch (fuzz_random(random) % 4) {
	case 0:
		data[off] ^= (uint8_t)(1 << fuzz_random(random) % 8);
		break;
	case 1:
		data[off] = (uint8_t)fuzz_random(random);
		break;
	case 2: /* an aligned field becomes an edge value */
		off -= off % width;
		memcpy(data + off, &edge, width < sz - off ? width : sz - off);
		break;
	default: /* a piece is copied elsewhere */
		from = fuzz_random(random) % sz;
		left = sz - (from > off ? from : off);
		memmove(data + off, data + from, fuzz_random(random) % left / 4);
		break;
	}
}

/* `cnt` inputs made from one seed; its first is the seed itself, some are cut short. */
static inline void fuzz_run(const void *seed, size_t sz, size_t cnt)
{
	uint64_t random = 0x9e3779b97f4a7c15ULL ^ sz;
	uint8_t *data = malloc(sz);

	if (!data || sz == 0)
		abort();
	LLVMFuzzerTestOneInput(seed, sz);
	for (size_t i = 1; i < cnt; i++) {
		size_t mutations = fuzz_random(&random) % 8, cut = sz;
		uint8_t *exact;

		memcpy(data, seed, sz);
		for (size_t j = 0; j <= mutations; j++)
			fuzz_mutate_once(data, sz, &random);
		if (fuzz_random(&random) % 8 == 0)
			cut = fuzz_random(&random) % (sz + 1);
		/* Of exactly that size, so that ASan sees one byte too far. */
		exact = malloc(cut ? cut : 1);
		if (!exact)
			abort();
		memcpy(exact, data, cut);
		LLVMFuzzerTestOneInput(exact, cut);
		free(exact);
	}
	free(data);
}

#endif
