/* SPDX-License-Identifier: Apache-2.0 */
/* The control flow over a stand-in for the kernel side: its map is an array, and every process runs the
 * same interpreter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/process_publish.h"
#include "runtime/runtime_detect.h"
#include "stack/thread_list.h"
#include "target_table.h"

static struct {
	bool is_known;
	struct process_config config;
} kernel;

static bool runs_python;
/* As if nothing had been published yet. */
static bool kernel_forgets;

/* Between the deepest and the shallowest stack that an interpreter was looked for on. */
static struct {
	uintptr_t lowest;
	uintptr_t highest;
} stack_seen;

int process_publish_put(int processes_fd, pid_t pid, const struct process_config *config)
{
	kernel.is_known = true;
	kernel.config = *config;
	return 0;
}

int process_publish_get(int processes_fd, pid_t pid, struct process_config *ret_config)
{
	if (!kernel.is_known || kernel_forgets)
		return -ENOENT;
	*ret_config = kernel.config;
	return 0;
}

int process_publish_remove(int processes_fd, pid_t pid)
{
	kernel.is_known = false;
	return 0;
}

int runtime_detect(struct runtime_detector *detector, pid_t pid, struct py_runtime *ret_runtime)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	stack_seen.lowest = stack_seen.lowest && stack_seen.lowest < here ? stack_seen.lowest : here;
	stack_seen.highest = stack_seen.highest > here ? stack_seen.highest : here;
	*ret_runtime = (struct py_runtime){.runtime_addr = 0x1000};
	return runs_python ? 0 : -ENOENT;
}

bool runtime_is_mapped(pid_t pid, const struct py_runtime *runtime)
{
	return true;
}

enum { SLOW_WALK_NS = 20 * CLOCK_NS_PER_MS };
static unsigned int walk_cnt;
static size_t walk_max;

int thread_list_walk(struct remote_mem *mem, const struct py_layout *layout, remote_addr_t runtime_addr,
		     size_t max_threads, void (*on_thread)(void *ctx, u64 native_id, remote_addr_t tstate),
		     void *ctx)
{
	nanosleep(&(struct timespec){.tv_nsec = SLOW_WALK_NS}, NULL);
	walk_cnt++;
	walk_max = max_threads;
	return 0;
}

struct fixture {
	pid_t self;
	struct target_table *table;
};

static int set_up(void **state, size_t pid_cnt)
{
	static struct fixture fixture;

	fixture.self = getpid();
	kernel.is_known = false;
	kernel_forgets = false;
	runs_python = true;
	*state = &fixture;
	return target_table_new(&fixture.table, &(struct target_table_config){.pids = &fixture.self,
									      .pid_cnt = pid_cnt,
									      .subprocesses = true});
}

static int set_up_followed(void **state)
{
	return set_up(state, 1);
}

static int set_up_host(void **state)
{
	return set_up(state, 0);
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	target_table_free(fixture->table);
	return 0;
}

static const struct process *process_of(const struct fixture *fixture)
{
	return process_table_find(target_table_processes(fixture->table), fixture->self);
}

static struct process_event event_of(const struct fixture *fixture, u32 kind, u64 epoch)
{
	return (struct process_event){.kind = kind, .tgid = (u32)fixture->self, .epoch = epoch};
}

/* The interpreter's mapping is seen while execve is still under way, and what it gives is published
 * only after the kernel side has voided the old image. Returns the exec's epoch. */
static u64 publish_late(struct fixture *fixture)
{
	u64 epoch;

	target_table_on_mapping(fixture->table, &(struct mapping_event){.pid = fixture->self});
	epoch = clock_monotonic_ns();
	assert_true(kernel.config.epoch < epoch);
	return epoch;
}

static void check_new_image_is_published(struct fixture *fixture, u64 exec_epoch)
{
	const struct target *target = target_table_find(fixture->table, kernel.config.epoch);
	struct process_event exit_event;

	assert_true(kernel.is_known);
	assert_int_equal(kernel.config.state, PROCESS_CONFIG_READY);
	assert_true(kernel.config.epoch >= exec_epoch);
	assert_non_null(target);
	assert_false(target->ended);
	assert_int_equal(process_of(fixture)->epoch, kernel.config.epoch);
	exit_event = event_of(fixture, PROCESS_EVENT_EXIT, kernel.config.epoch);
	exit_event.cpu_ns = 1234;
	target_table_on_event(fixture->table, &exit_event);
	assert_true(target->ended);
}

static void followed_exec_overtaken_by_its_mapping(void **state)
{
	struct fixture *fixture = *state;
	struct process_event exec;

	assert_int_equal(target_table_follow(fixture->table, fixture->self), 0);
	exec = event_of(fixture, PROCESS_EVENT_EXEC, publish_late(fixture));
	target_table_on_event(fixture->table, &exec);
	assert_int_not_equal(kernel.config.flags & PROCESS_CONFIG_FOLLOW_CHILDREN, 0);
	check_new_image_is_published(fixture, exec.epoch);
}

static void host_exec_overtaken_by_its_mapping(void **state)
{
	struct fixture *fixture = *state;
	struct process_event exec = event_of(fixture, PROCESS_EVENT_EXEC, publish_late(fixture));

	target_table_on_event(fixture->table, &exec);
	check_new_image_is_published(fixture, exec.epoch);
}

/* The kernel side has voided the old image, and what the new one maps is told of before the exec is. */
static void image_before_an_overtaken_exec_ends(void **state)
{
	struct fixture *fixture = *state;
	struct process_event exec = event_of(fixture, PROCESS_EVENT_EXEC, publish_late(fixture));
	struct target *before = target_table_find(fixture->table, kernel.config.epoch);
	const struct summary_process *rows;
	size_t cnt;

	kernel.is_known = false;
	target_table_on_mapping(fixture->table, &(struct mapping_event){.pid = fixture->self});
	exec.outside_ticks = 3;
	target_table_on_event(fixture->table, &exec);
	assert_non_null(before);
	assert_true(before->ended);
	rows = target_table_summaries(fixture->table, &cnt);
	assert_int_equal(cnt, 1);
	assert_int_equal(rows[0].outside_ticks, 3);
	check_new_image_is_published(fixture, exec.epoch);
}

static void followed_exec_of_no_python_stays_followed(void **state)
{
	struct fixture *fixture = *state;
	struct process_event exec;

	assert_int_equal(target_table_follow(fixture->table, fixture->self), 0);
	exec = event_of(fixture, PROCESS_EVENT_EXEC, publish_late(fixture));
	runs_python = false;
	target_table_on_event(fixture->table, &exec);
	assert_true(kernel.is_known);
	assert_int_equal(kernel.config.state, PROCESS_CONFIG_UNDECIDED);
	assert_int_equal(kernel.config.epoch, exec.epoch);
	assert_int_not_equal(kernel.config.flags & PROCESS_CONFIG_FOLLOW_CHILDREN, 0);
}

static void host_exec_of_no_python_is_forgotten(void **state)
{
	struct fixture *fixture = *state;
	struct process_event exec = event_of(fixture, PROCESS_EVENT_EXEC, publish_late(fixture));

	runs_python = false;
	target_table_on_event(fixture->table, &exec);
	assert_false(kernel.is_known);
}

/* In order: the kernel side's own void is the newest word, and is left as it is. */
static void exec_in_order_keeps_the_kernels_epoch(void **state)
{
	struct fixture *fixture = *state;
	struct process_event exec;

	assert_int_equal(target_table_follow(fixture->table, fixture->self), 0);
	exec = event_of(fixture, PROCESS_EVENT_EXEC, publish_late(fixture));
	kernel.config.epoch = exec.epoch;
	kernel.config.state = PROCESS_CONFIG_UNDECIDED;
	target_table_on_event(fixture->table, &exec);
	assert_int_equal(kernel.config.epoch, exec.epoch);
	check_new_image_is_published(fixture, exec.epoch);
}

/* What it ran before the exec was sampled with its parent's layout, under the fork's epoch. */
static void child_that_runs_its_next_image_keeps_its_samples(void **state)
{
	struct fixture *fixture = *state;
	struct process_event event;
	const struct target *target;
	pid_t child;

	assert_int_equal(target_table_follow(fixture->table, fixture->self), 0);
	target_table_on_mapping(fixture->table, &(struct mapping_event){.pid = fixture->self});
	child = fork();
	if (!child)
		pause();
	event = event_of(fixture, PROCESS_EVENT_FORK, clock_monotonic_ns());
	event.parent_tgid = event.tgid;
	event.tgid = (u32)child;
	kernel.config.epoch = event.epoch + 1;
	kernel.config.state = PROCESS_CONFIG_UNDECIDED;
	runs_python = false;
	target_table_on_event(fixture->table, &event);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	target = target_table_find(fixture->table, event.epoch);
	assert_non_null(target);
	assert_int_equal(target->process->pid, child);
}

/* A thread list without an end costs a small share of a CPU, however many samples ask for it. */
static void seeding_rests_after_a_long_walk(void **state)
{
	struct fixture *fixture = *state;
	struct target *target;
	u64 begun = clock_monotonic_ns();

	target_table_on_mapping(fixture->table, &(struct mapping_event){.pid = fixture->self});
	target = target_table_find(fixture->table, kernel.config.epoch);
	assert_non_null(target);
	for (walk_cnt = 0; clock_monotonic_ns() - begun < 15 * SLOW_WALK_NS;)
		target_table_seed_threads(fixture->table, target);
	assert_int_equal(walk_cnt, 1);
	/* This process has one thread, or two with the sanitizer's. */
	assert_in_range(walk_max, 64, 512);
}

static struct selection *selection_of(enum selection_kind kind, bool excluded, const char *value)
{
	struct selection *selection;
	char error[128];

	assert_int_equal(selection_new(&selection), 0);
	assert_int_equal(selection_add(selection, kind, excluded, value, error, sizeof(error)), 0);
	return selection;
}

/* A table over this process, of which only what is selected is published. */
static void check_selection(struct selection *selection, size_t pid_cnt, bool is_published)
{
	pid_t self = getpid();
	struct target_table *table;

	kernel.is_known = false;
	kernel_forgets = false;
	runs_python = true;
	assert_int_equal(target_table_new(&table, &(struct target_table_config){.pids = &self,
										.pid_cnt = pid_cnt,
										.selection = selection}),
			 0);
	if (pid_cnt)
		assert_int_equal(target_table_follow(table, self), 0);
	target_table_on_mapping(table, &(struct mapping_event){.pid = self});
	assert_int_equal(kernel.is_known, is_published || pid_cnt);
	if (kernel.is_known)
		assert_int_equal(kernel.config.state,
				 is_published ? PROCESS_CONFIG_READY : PROCESS_CONFIG_UNDECIDED);
	assert_false(target_table_retry(table, clock_monotonic_ns()));
	target_table_free(table);
	selection_free(selection);
}

static void only_the_selected_is_published(void **state)
{
	for (size_t pid_cnt = 0; pid_cnt < 2; pid_cnt++) {
		check_selection(selection_of(SELECTION_EXE, false, "target_table_test"), pid_cnt, true);
		check_selection(selection_of(SELECTION_EXE, false, "other"), pid_cnt, false);
		check_selection(selection_of(SELECTION_NAME, false, "table_test"), pid_cnt, true);
		check_selection(selection_of(SELECTION_NAME, true, "table_test"), pid_cnt, false);
		check_selection(selection_of(SELECTION_PYTHON, false, "3.12+"), pid_cnt, false);
	}
}

static bool not_sampled(void *ctx, u32 process_id)
{
	return false;
}

static bool sampled(void *ctx, u32 process_id)
{
	return true;
}

/* A user's process is published whoever runs it, as its threads may change: the kernel side decides. */
static void never_selected_is_not_listed(void **state)
{
	char value[32];

	for (int i = 0; i < 3; i++) {
		struct target_table *table;
		struct selection *selection;
		size_t cnt;

		snprintf(value, sizeof(value), "%u", getuid() + (i > 0));
		selection = selection_of(SELECTION_USER, false, value);
		assert_int_equal(target_table_new(&table,
						  &(struct target_table_config){
							  .selection = selection,
							  .was_sampled = i == 2 ? sampled : not_sampled,
						  }),
				 0);
		kernel.is_known = false;
		target_table_on_mapping(table, &(struct mapping_event){.pid = getpid()});
		assert_true(kernel.is_known);
		target_table_drop_unselected(table);
		target_table_summaries(table, &cnt);
		assert_int_equal(cnt, i == 1 ? 0 : 1);
		target_table_free(table);
		selection_free(selection);
	}
}

/* What an exit event says that was outside stands in the summary. */
static void ticks_outside_add_up(void **state)
{
	struct fixture *fixture = *state;
	const struct summary_process *rows;
	struct process_event event;
	size_t cnt;

	target_table_on_mapping(fixture->table, &(struct mapping_event){.pid = fixture->self});
	event = event_of(fixture, PROCESS_EVENT_EXEC, clock_monotonic_ns());
	event.outside_ticks = 3;
	target_table_on_event(fixture->table, &event);
	event = event_of(fixture, PROCESS_EVENT_EXIT, kernel.config.epoch);
	event.outside_ticks = 4;
	target_table_on_event(fixture->table, &event);
	rows = target_table_summaries(fixture->table, &cnt);
	assert_int_equal(cnt, 1);
	assert_int_equal(rows[0].outside_ticks, 7);
}

enum { CHAIN_CNT = 48 };

/* Makes a child that makes a child, and so on; each lives until its parent ends or `alive_fd` closes. */
static void __attribute__((noreturn)) run_chain(int cnt, int ready_fd, int alive_fd)
{
	char byte = 0;

	if (cnt > 1 && fork() == 0)
		run_chain(cnt - 1, ready_fd, alive_fd);
	if (cnt == 1 && write(ready_fd, &byte, 1) != 1)
		_exit(1);
	while (read(alive_fd, &byte, 1) > 0)
		;
	_exit(0);
}

static void deep_chain_of_children_takes_no_stack(void **state)
{
	struct fixture *fixture = *state;
	struct mapping_event mapping = {};
	int ready[2], alive[2];
	char byte, path[64];
	pid_t first;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)getpid(), (int)getpid());
	if (access(path, R_OK)) {
		printf("skip: this kernel does not list children\n");
		skip();
	}
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(alive), 0);
	first = fork();
	if (!first) {
		close(alive[1]);
		run_chain(CHAIN_CNT, ready[1], alive[0]);
	}
	assert_true(first > 0);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	kernel_forgets = true;
	memset(&stack_seen, 0, sizeof(stack_seen));
	mapping.pid = first;
	target_table_on_mapping(fixture->table, &mapping);
	close(alive[1]);
	waitpid(first, NULL, 0);
	for (int i = 0; i < 2; i++)
		close(ready[i]);
	close(alive[0]);
	assert_int_equal(process_table_count(target_table_processes(fixture->table)), CHAIN_CNT);
	/* One mapping came, the others were found: a frame or two may lie between, not one for each. */
	assert_true(stack_seen.highest - stack_seen.lowest < 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(followed_exec_overtaken_by_its_mapping, set_up_followed,
						tear_down),
		cmocka_unit_test_setup_teardown(host_exec_overtaken_by_its_mapping, set_up_host, tear_down),
		cmocka_unit_test_setup_teardown(image_before_an_overtaken_exec_ends, set_up_host, tear_down),
		cmocka_unit_test_setup_teardown(followed_exec_of_no_python_stays_followed, set_up_followed,
						tear_down),
		cmocka_unit_test_setup_teardown(host_exec_of_no_python_is_forgotten, set_up_host, tear_down),
		cmocka_unit_test_setup_teardown(exec_in_order_keeps_the_kernels_epoch, set_up_followed,
						tear_down),
		cmocka_unit_test_setup_teardown(child_that_runs_its_next_image_keeps_its_samples,
						set_up_followed, tear_down),
		cmocka_unit_test(only_the_selected_is_published),
		cmocka_unit_test(never_selected_is_not_listed),
		cmocka_unit_test_setup_teardown(ticks_outside_add_up, set_up_host, tear_down),
		cmocka_unit_test_setup_teardown(seeding_rests_after_a_long_walk, set_up_host, tear_down),
		cmocka_unit_test_setup_teardown(deep_chain_of_children_takes_no_stack, set_up_host,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
