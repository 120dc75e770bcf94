/* SPDX-License-Identifier: Apache-2.0 */
/* The line on the terminal while a recording runs. Only on a terminal, and not with -q. */
#ifndef PANOPY_PROGRESS_H
#define PANOPY_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "shared_types.h"

struct progress_values {
	u64 elapsed_ns;	  /* since sampling began */
	u64 running_ns;	  /* since panopy's start */
	u64 duration_ns;  /* 0: open end */
	size_t processes; /* those with samples, as in the summary; and of them the threads */
	size_t threads;
	u64 samples;
	u64 lost;
	u64 own_cpu_ns; /* user, system and in-kernel since the start */
};

/* Call about once a second; draws when stderr is a terminal and `quiet` is not set. */
void progress_draw(const struct progress_values *values, bool quiet);
void progress_clear(void);

/* The line as text, for tests. Returns `buf`. */
const char *progress_format(char *buf, size_t sz, const struct progress_values *values);

#endif
