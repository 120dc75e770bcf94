/* SPDX-License-Identifier: Apache-2.0 */
/* How long single samples kept the CPU in the interrupt, as counts by bucket: a mean hides both the rule and
 * the worst case. Four buckets for each doubling, from 256 ns to 16 ms; the first and the last are open.
 */
#ifndef PANOPY_SAMPLE_TIME_H
#define PANOPY_SAMPLE_TIME_H

#include "shared_types.h"

enum {
	SAMPLE_TIME_LOG2_MIN = 8,
	SAMPLE_TIME_LOG2_END = 24,
	SAMPLE_TIME_BUCKETS = 4 * (SAMPLE_TIME_LOG2_END - SAMPLE_TIME_LOG2_MIN) + 2,
};

static inline u32 sample_time_log2(u32 value)
{
	u32 log2 = 0;

	for (u32 step = 16; step; step /= 2) {
		if (value >> step) {
			value >>= step;
			log2 += step;
		}
	}
	return log2;
}

static inline u32 sample_time_bucket(u64 ns)
{
	u32 log2;

	if (ns < 1u << SAMPLE_TIME_LOG2_MIN)
		return 0;
	if (ns >= 1u << SAMPLE_TIME_LOG2_END)
		return SAMPLE_TIME_BUCKETS - 1;
	log2 = sample_time_log2((u32)ns);
	return 1 + 4 * (log2 - SAMPLE_TIME_LOG2_MIN) + ((u32)ns >> (log2 - 2) & 3);
}

/* Times in the bucket are below this, in nanoseconds; in the last one they are at least that of the one
 * before. */
static inline u64 sample_time_end(u32 bucket)
{
	u32 log2 = SAMPLE_TIME_LOG2_MIN + (bucket - 1) / 4;

	if (!bucket)
		return 1u << SAMPLE_TIME_LOG2_MIN;
	if (bucket >= SAMPLE_TIME_BUCKETS - 1)
		return 1u << SAMPLE_TIME_LOG2_END;
	return (u64)(5 + (bucket - 1) % 4) << (log2 - 2);
}

#endif
