/* SPDX-License-Identifier: Apache-2.0 */
/* The sampling timers: one cpu-clock perf event on each online CPU, which runs the sampler. */
#ifndef PANOPY_KERNEL_PERF_TIMERS_H
#define PANOPY_KERNEL_PERF_TIMERS_H

#include <stdbool.h>
#include <stddef.h>

#include "shared_types.h"

struct perf_timers;

struct perf_timers_config {
	u64 period_ns;
	int sampler_fd;	   /* the program, not owned */
	int last_ticks_fd; /* map: CPU -> time of its last tick, not owned */
};

/* Opens the timers stopped. -EACCES, -EPERM: not allowed. */
int perf_timers_open(struct perf_timers **ret_timers, const struct perf_timers_config *config);
void perf_timers_close(struct perf_timers *timers);

int perf_timers_start(struct perf_timers *timers);
void perf_timers_stop(struct perf_timers *timers);

/* Follows CPU hotplug: starts timers on CPUs that came online, drops those of CPUs that left, and starts
 * anew a timer that has not fired for a second and four periods (its CPU left and came back in between).
 * Call about once a second with CLOCK_MONOTONIC; one read of a small file and one map lookup a CPU when
 * nothing changed. -errno: a CPU has no timer, and the next call tries again. *ret_changed, also then: one was started
 * or dropped. */
int perf_timers_refresh(struct perf_timers *timers, u64 now_ns, bool *ret_changed);
size_t perf_timers_cpu_count(const struct perf_timers *timers);

#endif
