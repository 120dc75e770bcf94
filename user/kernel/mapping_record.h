/* SPDX-License-Identifier: Apache-2.0 */
/* From one of perf's records to a mapping. */
#ifndef PANOPY_KERNEL_MAPPING_RECORD_H
#define PANOPY_KERNEL_MAPPING_RECORD_H

#include <linux/perf_event.h>
#include <stdbool.h>

#include "kernel/mapping_events.h"

/* Whether the record tells of a file. A JIT's code, which is made executable a thousand times a second, is none. */
bool mapping_record_decode(const struct perf_event_header *header, struct mapping_event *ret_mapping);

#endif
