/* SPDX-License-Identifier: Apache-2.0 */
/* How long the looks at each process took lately. One that makes memory of files executable all the time, of which each
 * is a reason to look, gets a share of a CPU and no more; a start with hundreds of libraries is not held up.
 */
#ifndef PANOPY_LOOK_DEBT_H
#define PANOPY_LOOK_DEBT_H

#include <stdbool.h>
#include <sys/types.h>

#include "shared_types.h"

enum { LOOK_DEBT_SLOTS = 1024 };

/* All zero: none. Another pid of the same slot just takes its place. */
struct look_debts {
	struct look_debt {
		pid_t pid;
		u64 owed_ns;
		u64 at_ns;
	} slots[LOOK_DEBT_SLOTS];
};

/* Whether the process has had its share for now. Times are CLOCK_MONOTONIC. */
bool look_debts_hold(const struct look_debts *debts, pid_t pid, u64 now_ns);
void look_debts_note(struct look_debts *debts, pid_t pid, u64 took_ns, u64 now_ns);

#endif
