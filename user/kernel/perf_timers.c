/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/perf_timers.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text_file.h"
#include "cpu_tick.h"
#include "kernel/cpu_list.h"
#include "kernel/perf_open.h"

enum { ONLINE_TEXT_SZ = 4096 };

struct perf_timers {
	struct perf_timers_config config;
	int *fds;	/* by CPU; -1: no timer */
	u64 *opened_ns; /* by CPU: when its timer was opened, or started if that was later */
	size_t cpu_cnt;
	bool started;
	char online[ONLINE_TEXT_SZ]; /* as last read */
};

static int timer_open(struct perf_timers *timers, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(attr),
		.sample_period = timers->config.period_ns,
		.disabled = 1,
	};
	int fd = perf_open(&attr, -1, cpu);

	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, timers->config.sampler_fd)) {
		int err = -errno;

		close(fd);
		return err;
	}
	timers->fds[cpu] = fd;
	timers->opened_ns[cpu] = clock_monotonic_ns();
	return 0;
}

/* The time that a CPU is away is not time of ticks that never came. */
static void tick_forget(struct perf_timers *timers, int cpu)
{
	struct cpu_tick never = {};
	u32 key = cpu;

	bpf_map_update_elem(timers->config.last_ticks_fd, &key, &never, BPF_ANY);
}

static void timer_close(struct perf_timers *timers, int cpu)
{
	if (timers->fds[cpu] >= 0)
		close(timers->fds[cpu]);
	timers->fds[cpu] = -1;
}

static int online_read(char ret_text[ONLINE_TEXT_SZ])
{
	ssize_t sz = text_file_read("/sys/devices/system/cpu/online", ret_text, ONLINE_TEXT_SZ);

	return sz < 0 ? (int)sz : 0;
}

/* Opens and starts the timer of a CPU that has none. */
static int timer_begin(struct perf_timers *timers, int cpu)
{
	int err = timer_open(timers, cpu);

	if (err)
		return err == -ENODEV ? 0 : err; /* went offline just now */
	if (timers->started && ioctl(timers->fds[cpu], PERF_EVENT_IOC_ENABLE, 0)) {
		err = -errno;
		timer_close(timers, cpu);
	}
	return err;
}

/* Each CPU that is online has a timer afterwards, no other one. The first error, after every CPU was tried. */
static int timers_match(struct perf_timers *timers, const char *online)
{
	int err = 0;

	for (size_t cpu = 0; cpu < timers->cpu_cnt; cpu++) {
		bool is_online = cpu_list_has(online, cpu);

		if (is_online && timers->fds[cpu] < 0) {
			int this_err = timer_begin(timers, (int)cpu);

			err = err ?: this_err;
		} else if (!is_online && timers->fds[cpu] >= 0) {
			timer_close(timers, cpu);
			tick_forget(timers, cpu);
		}
	}
	return err;
}

int perf_timers_open(struct perf_timers **ret_timers, const struct perf_timers_config *config)
{
	int cpu_cnt = libbpf_num_possible_cpus();
	struct perf_timers *timers;
	int err;

	if (cpu_cnt < 0)
		return cpu_cnt;
	timers = calloc(1, sizeof(*timers));
	if (!timers)
		return -ENOMEM;
	timers->config = *config;
	timers->cpu_cnt = cpu_cnt;
	timers->opened_ns = calloc(cpu_cnt, sizeof(*timers->opened_ns));
	timers->fds = malloc(cpu_cnt * sizeof(*timers->fds));
	if (timers->fds)
		memset(timers->fds, 0xff, cpu_cnt * sizeof(*timers->fds));
	err = timers->fds && timers->opened_ns ? online_read(timers->online) : -ENOMEM;
	err = err ?: timers_match(timers, timers->online);
	if (err) {
		perf_timers_close(timers);
		return err;
	}
	*ret_timers = timers;
	return 0;
}

void perf_timers_close(struct perf_timers *timers)
{
	if (!timers)
		return;
	for (size_t cpu = 0; timers->fds && cpu < timers->cpu_cnt; cpu++)
		timer_close(timers, cpu);
	free(timers->fds);
	free(timers->opened_ns);
	free(timers);
}

int perf_timers_start(struct perf_timers *timers)
{
	timers->started = true;
	for (size_t cpu = 0; cpu < timers->cpu_cnt; cpu++) {
		timers->opened_ns[cpu] = clock_monotonic_ns();
		if (timers->fds[cpu] >= 0 && ioctl(timers->fds[cpu], PERF_EVENT_IOC_ENABLE, 0))
			return -errno;
	}
	return 0;
}

void perf_timers_stop(struct perf_timers *timers)
{
	timers->started = false;
	for (size_t cpu = 0; cpu < timers->cpu_cnt; cpu++) {
		if (timers->fds[cpu] >= 0)
			ioctl(timers->fds[cpu], PERF_EVENT_IOC_DISABLE, 0);
	}
}

/* Idle CPUs tick too, so a timer that does not is dead. */
static bool timer_is_dead(const struct perf_timers *timers, u32 cpu, u64 now_ns)
{
	u64 patience_ns = CLOCK_NS_PER_S + 4 * timers->config.period_ns;
	struct cpu_tick last = {};

	if (bpf_map_lookup_elem(timers->config.last_ticks_fd, &cpu, &last))
		return false;
	if (last.time_ns < timers->opened_ns[cpu])
		last.time_ns = timers->opened_ns[cpu];
	return now_ns > last.time_ns + patience_ns;
}

/* Closes them, to be opened anew. The ticks missed meanwhile count as not delivered at the next one. */
static void timers_close_dead(struct perf_timers *timers, u64 now_ns)
{
	for (size_t cpu = 0; cpu < timers->cpu_cnt; cpu++) {
		if (timers->fds[cpu] >= 0 && timer_is_dead(timers, cpu, now_ns))
			timer_close(timers, cpu);
	}
}

int perf_timers_refresh(struct perf_timers *timers, u64 now_ns, bool *ret_changed)
{
	char online[ONLINE_TEXT_SZ];
	int err = online_read(online);
	size_t cnt;
	bool changed;

	*ret_changed = false;
	if (err)
		return err;
	changed = strcmp(online, timers->online) != 0;
	memcpy(timers->online, online, sizeof(online));
	if (timers->started)
		timers_close_dead(timers, now_ns);
	cnt = perf_timers_cpu_count(timers);
	err = timers_match(timers, online);
	*ret_changed = changed || perf_timers_cpu_count(timers) != cnt;
	return err;
}

size_t perf_timers_cpu_count(const struct perf_timers *timers)
{
	size_t cnt = 0;

	for (size_t cpu = 0; cpu < timers->cpu_cnt; cpu++)
		cnt += timers->fds[cpu] >= 0;
	return cnt;
}
