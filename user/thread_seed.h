/* SPDX-License-Identifier: Apache-2.0 */
/* The thread states of a target that has too many for the kernel side to search, from its own list to the kernel side's
 * map.
 */
#ifndef PANOPY_THREAD_SEED_H
#define PANOPY_THREAD_SEED_H

#include "target_table.h"

/* Does nothing if the last time was just now, or took long. */
void thread_seed(struct target *target, int thread_slots_fd);

#endif
