/* SPDX-License-Identifier: Apache-2.0 */
/* Probes that open perf events or read perf's settings. One per feature of the same name in
 * kernel/features.h; nothing stays open.
 */
#ifndef PANOPY_KERNEL_PERF_PROBES_H
#define PANOPY_KERNEL_PERF_PROBES_H

#include "kernel/features.h"

void probe_cpu_clock(struct feature_result *ret_result);
void probe_perf_event_prog(struct feature_result *ret_result);
void probe_mmap_records(struct feature_result *ret_result);
void probe_perf_paranoid(struct feature_result *ret_result);
void probe_sample_rate_limit(struct feature_result *ret_result, u32 rate_hz);
void probe_cpu_time_limit(struct feature_result *ret_result);
void probe_idle_wakeups(struct feature_result *ret_result);

#endif
