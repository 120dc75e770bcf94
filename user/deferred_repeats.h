/* SPDX-License-Identifier: Apache-2.0 */
/* References to stacks that are not known yet: their record is on another CPU's ring.
 *
 * The rings are merged by the time of the tick, not of the record, and read up to an instant. So the sample
 * that sends a stack may come after one that refers to it, within one reading of the rings or, where the
 * instant lies between their ticks, at the next: a reference waits for that one, and no longer.
 */
#ifndef PANOPY_DEFERRED_REPEATS_H
#define PANOPY_DEFERRED_REPEATS_H

#include <stdbool.h>

#include "sample.h"

struct deferred_repeats;

struct deferred_repeats_ops {
	bool (*resolve)(void *ctx, const struct repeat_record *record); /* false: still not known */
	void (*lose)(void *ctx, const struct repeat_record *record);
	void *ctx;
};

int deferred_repeats_new(struct deferred_repeats **ret_repeats);
void deferred_repeats_free(struct deferred_repeats *repeats);

/* Keeps a copy; false: there is no room. */
bool deferred_repeats_put(struct deferred_repeats *repeats, const struct repeat_record *record);
/* After each reading of the rings: tries those that wait again, and loses those that waited before it. */
void deferred_repeats_settle(struct deferred_repeats *repeats, const struct deferred_repeats_ops *ops);

#endif
