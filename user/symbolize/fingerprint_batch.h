/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the fingerprints of many code objects in a few reads (code_object_fingerprint() takes one or more
 * for each).
 */
#ifndef PANOPY_SYMBOLIZE_FINGERPRINT_BATCH_H
#define PANOPY_SYMBOLIZE_FINGERPRINT_BATCH_H

#include <stddef.h>

#include "base/remote_mem.h"
#include "py_layout.h"

struct fingerprint_batch;

int fingerprint_batch_new(struct fingerprint_batch **ret_batch);
void fingerprint_batch_free(struct fingerprint_batch *batch);

/* ret_fingerprints[i] is that of codes[i] as it is now, 0 where it could not be read. The errors of
 * remote_mem_read_batch(). */
int fingerprint_batch_read(struct fingerprint_batch *batch, struct remote_mem *mem,
			   const struct py_layout *layout, const u64 *codes, size_t cnt,
			   u32 *ret_fingerprints);

const struct remote_batch_stats *fingerprint_batch_stats(const struct fingerprint_batch *batch);

#endif
