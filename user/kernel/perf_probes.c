/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/perf_probes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/bpf_probes.h"

static int read_number(const char *path, long *ret_number)
{
	CLEANUP_FILE FILE *file = fopen(path, "re");

	if (!file)
		return -errno;
	return fscanf(file, "%ld", ret_number) == 1 ? 0 : -EINVAL;
}

/* CPU 0 may be offline: the first of the list is not. */
static int first_online_cpu(void)
{
	long cpu = 0;

	return read_number("/sys/devices/system/cpu/online", &cpu) ? 0 : (int)cpu;
}

/* On one CPU, for every process; not enabled. */
static int open_event(struct perf_event_attr *attr)
{
	long fd;

	attr->size = sizeof(*attr);
	attr->type = PERF_TYPE_SOFTWARE;
	attr->disabled = 1;
	fd = syscall(SYS_perf_event_open, attr, -1, first_online_cpu(), -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

static int open_cpu_clock(void)
{
	struct perf_event_attr attr = {
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 10 * CLOCK_NS_PER_MS,
		.exclude_idle = 1,
	};

	return open_event(&attr);
}

static void set_by_error(struct feature_result *result, int err)
{
	result->state = err < 0 ? FEATURE_STATE_MISSING : FEATURE_STATE_PRESENT;
	result->denied = err == -EPERM || err == -EACCES;
	if (err < 0)
		snprintf(result->detail, sizeof(result->detail), "%s", strerror(-err));
}

void probe_cpu_clock(struct feature_result *ret_result)
{
	CLEANUP_FD int fd = open_cpu_clock();

	set_by_error(ret_result, fd);
}

void probe_perf_event_prog(struct feature_result *ret_result)
{
	CLEANUP_FD int event_fd = open_cpu_clock();
	CLEANUP_FD int program_fd = probe_open_perf_program();
	int err = event_fd < 0 ? event_fd : program_fd;

	if (err >= 0 && ioctl(event_fd, PERF_EVENT_IOC_SET_BPF, program_fd) != 0)
		err = -errno;
	set_by_error(ret_result, err);
}

void probe_mmap_records(struct feature_result *ret_result)
{
	struct perf_event_attr attr = {.config = PERF_COUNT_SW_DUMMY, .mmap = 1, .mmap2 = 1, .watermark = 1};
	CLEANUP_FD int fd = open_event(&attr);
	size_t sz = 2 * (size_t)sysconf(_SC_PAGESIZE);
	void *ring;

	set_by_error(ret_result, fd);
	if (fd < 0)
		return;
	ring = mmap(NULL, sz, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		set_by_error(ret_result, -errno);
	else
		munmap(ring, sz);
}

void probe_perf_paranoid(struct feature_result *ret_result)
{
	long level;

	ret_result->state = FEATURE_STATE_INFO;
	if (read_number("/proc/sys/kernel/perf_event_paranoid", &level) == 0)
		snprintf(ret_result->detail, sizeof(ret_result->detail),
			 "%ld; does not matter with CAP_PERFMON", level);
	else
		snprintf(ret_result->detail, sizeof(ret_result->detail), "cannot be read");
}

void probe_sample_rate_limit(struct feature_result *ret_result, u32 rate_hz)
{
	long limit;

	if (read_number("/proc/sys/kernel/perf_event_max_sample_rate", &limit)) {
		ret_result->state = FEATURE_STATE_INFO;
		snprintf(ret_result->detail, sizeof(ret_result->detail), "cannot be read");
		return;
	}
	ret_result->state = limit >= (long)rate_hz ? FEATURE_STATE_PRESENT : FEATURE_STATE_LIMITED;
	snprintf(ret_result->detail, sizeof(ret_result->detail), "%ld Hz at most", limit);
}

void probe_cpu_time_limit(struct feature_result *ret_result)
{
	long percent;

	ret_result->state = FEATURE_STATE_INFO;
	if (read_number("/proc/sys/kernel/perf_cpu_time_max_percent", &percent))
		snprintf(ret_result->detail, sizeof(ret_result->detail), "cannot be read");
	else if (percent == 0 || percent == 100)
		snprintf(ret_result->detail, sizeof(ret_result->detail), "off");
	else
		snprintf(ret_result->detail, sizeof(ret_result->detail),
			 "past %ld %% of a CPU the kernel lowers perf_event_max_sample_rate", percent);
}

void probe_idle_wakeups(struct feature_result *ret_result)
{
	ret_result->state = FEATURE_STATE_INFO;
	snprintf(ret_result->detail, sizeof(ret_result->detail),
		 "cpu-clock timers wake idle CPUs at the sampling rate while a recording runs");
}
