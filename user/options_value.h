/* SPDX-License-Identifier: Apache-2.0 */
/* Decoders of option values: text to number, nothing else. 0, -EINVAL (makes no sense) or -ERANGE
 * (makes sense, but is not allowed).
 */
#ifndef PANOPY_OPTIONS_VALUE_H
#define PANOPY_OPTIONS_VALUE_H

#include <stddef.h>
#include <sys/types.h>

#include "shared_types.h"

/* "99", "99hz", "1khz", "1.5khz", or a period: "100us", "10ms", "1s". */
int options_decode_rate(const char *text, u64 *ret_period_ns);
/* "10", "0.5", "10s", "500ms", "250us", "2m", "2min", "1h", "1d"; more than 0, at most 365 days. */
int options_decode_duration(const char *text, u64 *ret_ns);
/* "0" to "100", decimals and a trailing "%" allowed. */
int options_decode_percent(const char *text, double *ret_percent);
/* One positive decimal number that ends at `end`. */
int options_decode_pid(const char *text, const char *end, pid_t *ret_pid);

#endif
