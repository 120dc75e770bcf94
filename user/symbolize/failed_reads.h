/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers which code objects could not be read from their process, so that they are not read again for every
 * frame of every sample: what is unreadable, or torn each time one looks, is the target's choice, and each try
 * costs panopy several system calls.
 *
 * One that failed is left alone for a second; and so are all others of its process that are not known yet, once
 * so many failed within a second that trying on would cost more than a tenth of a CPU.
 */
#ifndef PANOPY_SYMBOLIZE_FAILED_READS_H
#define PANOPY_SYMBOLIZE_FAILED_READS_H

#include <stdbool.h>

#include "shared_types.h"

enum {
	/* A second: of one code object, and in which a process's failures are counted. */
	FAILED_READS_HOLD_MS = 1000,
	/* Of one process in that time; some 20 to 50 us each. */
	FAILED_READS_LIMIT = 2000,
};

struct failed_reads;
struct code_key;

int failed_reads_new(struct failed_reads **ret_reads);
void failed_reads_free(struct failed_reads *reads);

/* Whether it is not to be read now. `now_ns`: CLOCK_MONOTONIC. */
bool failed_reads_hold(const struct failed_reads *reads, const struct code_key *key, u64 now_ns);

/* The read of it failed. */
void failed_reads_note(struct failed_reads *reads, const struct code_key *key, u64 now_ns);

#endif
