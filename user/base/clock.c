/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <stdio.h>
#include <time.h>

static u64 read_clock(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (u64)now.tv_sec * CLOCK_NS_PER_S + (u64)now.tv_nsec;
}

u64 clock_monotonic_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

u64 clock_boottime_ns(void)
{
	return read_clock(CLOCK_BOOTTIME);
}

u64 clock_real_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}

/* Three significant digits of value/unit. */
static void format_scaled(char *buf, size_t sz, u64 ns, u64 unit, const char *name)
{
	double value = (double)ns / (double)unit;

	/* The borders lie where rounding would give a fourth digit. */
	snprintf(buf, sz, "%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, name);
}

const char *clock_format_duration(char *buf, size_t sz, u64 ns)
{
	u64 seconds = (ns + CLOCK_NS_PER_S / 2) / CLOCK_NS_PER_S;

	if (ns < CLOCK_NS_PER_US)
		snprintf(buf, sz, "%u ns", (unsigned int)ns);
	else if (ns < 999500)
		format_scaled(buf, sz, ns, CLOCK_NS_PER_US, "us");
	else if (ns < 999500000)
		format_scaled(buf, sz, ns, CLOCK_NS_PER_MS, "ms");
	else if (seconds < 60)
		format_scaled(buf, sz, ns, CLOCK_NS_PER_S, "s");
	else if (seconds < 3600)
		snprintf(buf, sz, "%u min %02u s", (unsigned int)(seconds / 60),
			 (unsigned int)(seconds % 60));
	else
		snprintf(buf, sz, "%llu h %02u min", (unsigned long long)seconds / 3600,
			 (unsigned int)(seconds % 3600 / 60));
	return buf;
}

const char *clock_format_stamp(char *buf, size_t sz, u64 real_ns)
{
	time_t seconds = (time_t)(real_ns / CLOCK_NS_PER_S);
	struct tm parts = {0};

	localtime_r(&seconds, &parts);
	if (strftime(buf, sz, "%Y%m%d-%H%M%S", &parts) == 0 && sz)
		buf[0] = '\0';
	return buf;
}

const char *clock_format_utc(char *buf, size_t sz, u64 real_ns)
{
	time_t seconds = (time_t)(real_ns / CLOCK_NS_PER_S);
	struct tm parts = {0};
	char text[32];

	gmtime_r(&seconds, &parts);
	if (strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts) == 0)
		text[0] = '\0';
	snprintf(buf, sz, "%s.%03uZ", text, (unsigned int)(real_ns % CLOCK_NS_PER_S / CLOCK_NS_PER_MS));
	return buf;
}
