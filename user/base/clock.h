/* SPDX-License-Identifier: Apache-2.0 */
/* Time as nanoseconds in u64; none of these can fail on Linux. */
#ifndef PANOPY_BASE_CLOCK_H
#define PANOPY_BASE_CLOCK_H

#include <stddef.h>

#include "shared_types.h"

enum { CLOCK_DURATION_SZ = 32 };

#define CLOCK_NS_PER_US 1000ULL
#define CLOCK_NS_PER_MS 1000000ULL
#define CLOCK_NS_PER_S	1000000000ULL

u64 clock_monotonic_ns(void);
u64 clock_boottime_ns(void);
u64 clock_real_ns(void); /* since 1970-01-01 UTC */

/* Three significant digits and the unit that fits: "850 ns", "12.5 us", "1.25 s"; from a minute on
 * "3 min 05 s", "2 h 10 min". Returns `buf`, always terminated. */
const char *clock_format_duration(char *buf, size_t sz, u64 ns);
/* Local time as 20260131-235959, for file names. Returns `buf`. */
const char *clock_format_stamp(char *buf, size_t sz, u64 real_ns);
/* UTC as 2026-01-31T23:59:59.123Z. Returns `buf`. */
const char *clock_format_utc(char *buf, size_t sz, u64 real_ns);

#endif
