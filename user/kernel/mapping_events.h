/* SPDX-License-Identifier: Apache-2.0 */
/* Tells when any process of the host maps a file executable: how new interpreters are noticed without
 * polling. From perf's PERF_RECORD_MMAP2 records, which need no tracefs.
 */
#ifndef PANOPY_KERNEL_MAPPING_EVENTS_H
#define PANOPY_KERNEL_MAPPING_EVENTS_H

#include <stddef.h>
#include <sys/types.h>

#include "shared_types.h"

struct mapping_events;

int mapping_events_open(struct mapping_events **ret_events);
void mapping_events_close(struct mapping_events *events);

/* Listens on CPUs that came online since. 0, or -errno: on some CPU nothing is heard until the next call. */
int mapping_events_refresh(struct mapping_events *events);

/* One descriptor that becomes readable when records wait. */
int mapping_events_fd(const struct mapping_events *events);

struct mapping_event {
	pid_t pid;
	u64 start;
	u64 end;
	u64 file_offset;
};

/* Hands out what waits, CPU by CPU, the next one first at the next call; from `until_ns` on (of
 * clock_monotonic_ns) nothing more than the record at hand: the rest waits. Returns how many records the kernel
 * dropped since the last call: processes may have been missed then, and a scan is due. */
u64 mapping_events_drain(struct mapping_events *events, u64 until_ns,
			 void (*on_mapping)(void *ctx, const struct mapping_event *mapping), void *ctx);

#endif
