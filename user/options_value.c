/* SPDX-License-Identifier: Apache-2.0 */
#include "options_value.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "options.h"

/* Values are held in billionths, so that decimals stay exact. */
#define BILLION 1000000000ULL

enum {
	MAX_WHOLE_DIGITS = 9, /* 10^9 * BILLION stays below 2^64 */
	MAX_FRACTION_DIGITS = 9,
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits, a fraction, or both; *ret_end is the first character after them. */
static int decode_decimal(const char *text, u64 *ret_billionths, const char **ret_end)
{
	const char *p = text;
	u64 whole = 0;
	u64 fraction = 0;
	u64 unit = BILLION;

	for (; is_digit(*p); p++) {
		if (p - text >= MAX_WHOLE_DIGITS)
			return -ERANGE;
		whole = whole * 10 + (u64)(*p - '0');
	}
	if (p == text && *p != '.')
		return -EINVAL;
	if (*p == '.') {
		const char *first = ++p;

		for (; is_digit(*p); p++) {
			if (p - first >= MAX_FRACTION_DIGITS)
				return -EINVAL;
			unit /= 10;
			fraction += unit * (u64)(*p - '0');
		}
		if (p == first)
			return -EINVAL;
	}
	*ret_billionths = whole * BILLION + fraction;
	*ret_end = p;
	return 0;
}

struct unit {
	const char *name;
	u64 scale; /* nanoseconds of one, or Hz of one */
};

static const struct unit FREQUENCY_UNITS[] = {{"", 1}, {"hz", 1}, {"khz", 1000}};

static const struct unit TIME_UNITS[] = {
	{"ns", 1},
	{"us", CLOCK_NS_PER_US},
	{"ms", CLOCK_NS_PER_MS},
	{"", CLOCK_NS_PER_S},
	{"s", CLOCK_NS_PER_S},
	{"sec", CLOCK_NS_PER_S},
	{"m", 60 * CLOCK_NS_PER_S},
	{"min", 60 * CLOCK_NS_PER_S},
	{"h", 3600 * CLOCK_NS_PER_S},
	{"d", 86400 * CLOCK_NS_PER_S},
};

static u64 unit_scale(const struct unit *units, size_t cnt, const char *name)
{
	for (size_t i = 0; i < cnt; i++)
		if (strcasecmp(units[i].name, name) == 0)
			return units[i].scale;
	return 0;
}

#define UNIT_SCALE(units, name) unit_scale(units, sizeof(units) / sizeof((units)[0]), name)

static int scale_to_ns(u64 billionths, u64 scale, u64 *ret_ns)
{
	unsigned __int128 ns = (unsigned __int128)billionths * scale / BILLION;

	if (ns > 365 * 86400 * CLOCK_NS_PER_S)
		return -ERANGE;
	*ret_ns = (u64)ns;
	return 0;
}

static int decode_time(u64 billionths, const char *suffix, u64 *ret_ns)
{
	u64 scale = UNIT_SCALE(TIME_UNITS, suffix);

	return scale ? scale_to_ns(billionths, scale, ret_ns) : -EINVAL;
}

static int decode_frequency(u64 billionths, u64 scale, u64 *ret_period_ns)
{
	unsigned __int128 hz_billionths = (unsigned __int128)billionths * scale;

	if (hz_billionths == 0)
		return -ERANGE;
	*ret_period_ns = (u64)((unsigned __int128)BILLION * BILLION / hz_billionths);
	return 0;
}

int options_decode_rate(const char *text, u64 *ret_period_ns)
{
	const char *suffix;
	u64 billionths, period_ns, scale;
	int err = decode_decimal(text, &billionths, &suffix);

	if (err)
		return err;
	scale = UNIT_SCALE(FREQUENCY_UNITS, suffix);
	err = scale ? decode_frequency(billionths, scale, &period_ns)
		    : decode_time(billionths, suffix, &period_ns);
	if (err)
		return err;
	if (period_ns < CLOCK_NS_PER_S / OPTIONS_RATE_MAX_HZ || period_ns > CLOCK_NS_PER_S)
		return -ERANGE;
	*ret_period_ns = period_ns;
	return 0;
}

int options_decode_duration(const char *text, u64 *ret_ns)
{
	const char *suffix;
	u64 billionths, ns;
	int err = decode_decimal(text, &billionths, &suffix);

	err = err ?: decode_time(billionths, suffix, &ns);
	if (err)
		return err;
	if (ns == 0)
		return -ERANGE;
	*ret_ns = ns;
	return 0;
}

int options_decode_percent(const char *text, double *ret_percent)
{
	const char *suffix;
	u64 billionths;
	int err;

	err = decode_decimal(text, &billionths, &suffix);
	if (err)
		return err;
	if (strcmp(suffix, "") != 0 && strcmp(suffix, "%") != 0)
		return -EINVAL;
	if (billionths > 100 * BILLION)
		return -ERANGE;
	*ret_percent = (double)billionths / (double)BILLION;
	return 0;
}

int options_decode_pid(const char *text, const char *end, pid_t *ret_pid)
{
	long long value = 0;

	if (text == end)
		return -EINVAL;
	for (const char *p = text; p < end; p++) {
		if (!is_digit(*p))
			return -EINVAL;
		value = value * 10 + (*p - '0');
		if (value > INT_MAX)
			return -ERANGE;
	}
	if (value == 0)
		return -ERANGE;
	*ret_pid = (pid_t)value;
	return 0;
}
