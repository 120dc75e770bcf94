/* SPDX-License-Identifier: Apache-2.0 */
/* Reads several BPF ring buffers as one stream in the order of time, not of position: every record
 * begins with its CLOCK_MONOTONIC time. Records are handed out in place, without a copy.
 */
#ifndef PANOPY_KERNEL_RING_READER_H
#define PANOPY_KERNEL_RING_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "shared_types.h"

struct ring_reader;

/* The descriptors stay the caller's and must outlive the reader. */
int ring_reader_open(struct ring_reader **ret_reader, const int *ring_fds, size_t cnt);
void ring_reader_close(struct ring_reader *reader);

/* One descriptor that becomes readable when a ring wants to be read. */
int ring_reader_fd(const struct ring_reader *reader);

/* Called with the index of the ring and the record's bytes, valid until it returns. false: no more for now, the
 * rest waits. */
typedef bool (*ring_record_fn)(void *ctx, size_t ring, const void *record, size_t sz);

/* Hands out everything up to `until_ns`, oldest first; false when on_record() ended that. Records too short to
 * carry a time are handed out first. */
bool ring_reader_drain(struct ring_reader *reader, u64 until_ns, ring_record_fn on_record, void *ctx);

#endif
