/* SPDX-License-Identifier: Apache-2.0 */
/* perf_event_open(2), which the C library does not wrap. */
#ifndef PANOPY_KERNEL_PERF_OPEN_H
#define PANOPY_KERNEL_PERF_OPEN_H

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A descriptor, closed on exec, or -errno. */
static inline int perf_open(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	long fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

#endif
