/* SPDX-License-Identifier: Apache-2.0 */
/* CPUs that come and go, and timers that cannot be opened or die: the kernel is made up, seconds are calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include "base/clock.h"
#include "cpu_tick.h"
#include "kernel/perf_timers.h"

enum { CPUS = 4, FIRST_FD = 1000, MAP_FD = 5, PERIOD_NS = 1000000 };

static struct {
	const char *online;
	u64 now_ns;
	bool is_refused[CPUS]; /* perf_event_open() */
	bool is_open[CPUS];
	bool is_started[CPUS];
	bool is_dead[CPUS]; /* its timer does not fire */
	struct cpu_tick ticks[CPUS];
} host;

long __wrap_syscall(long number, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);
int __real_close(int fd);
int __wrap_close(int fd);
int libbpf_num_possible_cpus(void);
int bpf_map_update_elem(int fd, const void *key, const void *value, u64 flags);
int bpf_map_lookup_elem(int fd, const void *key, void *value);
ssize_t text_file_read(const char *path, char *ret_text, size_t sz);

long __wrap_syscall(long number, ...)
{
	va_list args;
	int cpu;

	assert_int_equal(number, SYS_perf_event_open);
	va_start(args, number);
	(void)va_arg(args, void *);
	(void)va_arg(args, int);
	cpu = va_arg(args, int);
	va_end(args);
	assert_false(host.is_open[cpu]);
	if (host.is_refused[cpu]) {
		errno = EMFILE;
		return -1;
	}
	host.is_open[cpu] = true;
	host.is_dead[cpu] = false;
	return FIRST_FD + cpu;
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	assert_true(host.is_open[fd - FIRST_FD]);
	if (request == PERF_EVENT_IOC_ENABLE)
		host.is_started[fd - FIRST_FD] = true;
	return 0;
}

int __wrap_close(int fd)
{
	if (fd < FIRST_FD)
		return __real_close(fd);
	assert_true(host.is_open[fd - FIRST_FD]);
	host.is_open[fd - FIRST_FD] = host.is_started[fd - FIRST_FD] = false;
	return 0;
}

int libbpf_num_possible_cpus(void)
{
	return CPUS;
}

int bpf_map_update_elem(int fd, const void *key, const void *value, u64 flags)
{
	assert_int_equal(fd, MAP_FD);
	host.ticks[*(const u32 *)key] = *(const struct cpu_tick *)value;
	return 0;
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	assert_int_equal(fd, MAP_FD);
	*(struct cpu_tick *)value = host.ticks[*(const u32 *)key];
	return 0;
}

ssize_t text_file_read(const char *path, char *ret_text, size_t sz)
{
	return snprintf(ret_text, sz, "%s", host.online);
}

u64 clock_monotonic_ns(void)
{
	return host.now_ns;
}

static int set_up(void **state)
{
	const struct perf_timers_config config = {.period_ns = PERIOD_NS, .last_ticks_fd = MAP_FD};
	struct perf_timers *timers;

	memset(&host, 0, sizeof(host));
	host.online = "0-1";
	host.now_ns = CLOCK_NS_PER_S;
	if (perf_timers_open(&timers, &config) || perf_timers_start(timers))
		return -1;
	*state = timers;
	return 0;
}

static int tear_down(void **state)
{
	perf_timers_close(*state);
	return 0;
}

/* A second later. */
static void expect(struct perf_timers *timers, int want_err, bool want_changed, size_t want_cnt)
{
	bool changed;

	host.now_ns += CLOCK_NS_PER_S;
	for (int cpu = 0; cpu < CPUS; cpu++) {
		if (host.is_started[cpu] && !host.is_dead[cpu])
			host.ticks[cpu].time_ns = host.now_ns;
	}
	assert_int_equal(perf_timers_refresh(timers, host.now_ns, &changed), want_err);
	assert_int_equal(changed, want_changed);
	assert_int_equal(perf_timers_cpu_count(timers), want_cnt);
	assert_memory_equal(host.is_open, host.is_started, sizeof(host.is_open));
}

static void what_cannot_be_opened_is_tried_each_second(void **state)
{
	expect(*state, 0, false, 2);
	host.online = "0-2";
	host.is_refused[2] = true;
	expect(*state, -EMFILE, true, 2);
	expect(*state, -EMFILE, false, 2);
	host.is_refused[2] = false;
	expect(*state, 0, true, 3);
	assert_true(host.is_started[2]);
	expect(*state, 0, false, 3);
}

/* Nobody else would be told of CPU 3. */
static void one_that_fails_does_not_hide_another(void **state)
{
	host.is_refused[2] = true;
	host.online = "0-2";
	expect(*state, -EMFILE, true, 2);
	host.online = "0-3";
	expect(*state, -EMFILE, true, 3);
	assert_true(host.is_started[3]);
}

static void a_dead_timer_is_opened_anew(void **state)
{
	host.is_dead[1] = true;
	host.ticks[1].time_ns = host.now_ns;
	expect(*state, 0, false, 2);
	host.is_refused[1] = true;
	expect(*state, -EMFILE, false, 1);
	expect(*state, -EMFILE, false, 1);
	host.is_refused[1] = false;
	expect(*state, 0, true, 2);
	/* The ticks that were missed are to be counted at the next one. */
	assert_true(host.ticks[1].time_ns);
	expect(*state, 0, false, 2);
}

static void a_cpu_that_leaves_is_forgotten(void **state)
{
	expect(*state, 0, false, 2);
	assert_true(host.ticks[1].time_ns);
	host.online = "0";
	expect(*state, 0, true, 1);
	assert_false(host.ticks[1].time_ns);
	host.online = "0-1";
	expect(*state, 0, true, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_cannot_be_opened_is_tried_each_second, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(one_that_fails_does_not_hide_another, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_dead_timer_is_opened_anew, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_cpu_that_leaves_is_forgotten, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
