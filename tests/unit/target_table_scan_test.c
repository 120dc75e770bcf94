/* SPDX-License-Identifier: Apache-2.0 */
/* What a look at /proc follows and publishes, over real processes and a stand-in for the kernel side: a map without
 * hooks, so that no fork hands anything on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <alloca.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/process_publish.h"
#include "runtime/runtime_detect.h"
#include "stack/thread_list.h"
#include "target_table.h"

enum { MAP_MAX = 64 };

static struct {
	pid_t pid;
	struct process_config config;
} map[MAP_MAX];

/* Called once each, before the entry is written and before the interpreter is looked for. */
static void (*before_put)(pid_t pid, const struct process_config *config);
static void (*before_detect)(pid_t pid);

static struct process_config *entry_of(pid_t pid)
{
	for (size_t i = 0; i < MAP_MAX; i++) {
		if (map[i].pid == pid)
			return &map[i].config;
	}
	return NULL;
}

int process_publish_put(int processes_fd, pid_t pid, const struct process_config *config)
{
	void (*hook)(pid_t pid, const struct process_config *config) = before_put;

	before_put = NULL;
	if (hook)
		hook(pid, config);
	for (size_t i = 0; i < MAP_MAX; i++) {
		if (map[i].pid && map[i].pid != pid)
			continue;
		map[i].pid = pid;
		map[i].config = *config;
		return 0;
	}
	return -E2BIG;
}

int process_publish_get(int processes_fd, pid_t pid, struct process_config *ret_config)
{
	const struct process_config *config = entry_of(pid);

	if (!config)
		return -ENOENT;
	*ret_config = *config;
	return 0;
}

int process_publish_remove(int processes_fd, pid_t pid)
{
	for (size_t i = 0; i < MAP_MAX; i++) {
		if (map[i].pid == pid)
			map[i].pid = 0;
	}
	return 0;
}

static u64 detected_addr = 0x1000;

int runtime_detect(struct runtime_detector *detector, pid_t pid, struct py_runtime *ret_runtime)
{
	void (*hook)(pid_t pid) = before_detect;

	before_detect = NULL;
	if (hook)
		hook(pid);
	*ret_runtime = (struct py_runtime){.runtime_addr = detected_addr};
	return 0;
}

/* As if an exec had come between, as often as that. */
static int vanishes;

bool runtime_is_mapped(pid_t pid, const struct py_runtime *runtime)
{
	return vanishes-- <= 0;
}

int thread_list_walk(struct remote_mem *mem, const struct py_layout *layout, remote_addr_t runtime_addr,
		     size_t max_threads, void (*on_thread)(void *ctx, u64 native_id, remote_addr_t tstate),
		     void *ctx)
{
	return 0;
}

/* A child that forks one of its own for each byte it is sent, and answers with that one's pid. */
struct helper {
	pid_t pid;
	int to;
	int from;
};

/* Who outlives the test holds its output open, and whoever reads that waits. */
static void die_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
}

static void __attribute__((noreturn)) run_helper(pid_t parent, int from, int to)
{
	pid_t own = getpid();
	char byte;

	die_with(parent);
	while (read(from, &byte, 1) == 1) {
		pid_t pid = fork();

		if (!pid) {
			die_with(own);
			for (;;)
				pause();
		}
		if (write(to, &pid, sizeof(pid)) != sizeof(pid))
			break;
	}
	_exit(0);
}

static struct helper helper_start(void)
{
	pid_t own = getpid();
	struct helper helper;
	int to[2], from[2];

	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	helper.pid = fork();
	if (!helper.pid) {
		close(to[1]);
		run_helper(own, to[0], from[1]);
	}
	assert_true(helper.pid > 0);
	close(to[0]);
	close(from[1]);
	helper.to = to[1];
	helper.from = from[0];
	return helper;
}

static pid_t helper_fork(const struct helper *helper)
{
	pid_t pid = 0;

	assert_int_equal(write(helper->to, "", 1), 1);
	assert_int_equal(read(helper->from, &pid, sizeof(pid)), sizeof(pid));
	return pid;
}

static void helper_stop(const struct helper *helper)
{
	kill(helper->pid, SIGKILL);
	waitpid(helper->pid, NULL, 0);
	close(helper->to);
	close(helper->from);
}

static struct target_table *table_new(const pid_t *pids, size_t cnt, struct selection *selection)
{
	struct target_table *table;

	memset(map, 0, sizeof(map));
	before_put = NULL;
	before_detect = NULL;
	assert_int_equal(target_table_new(&table, &(struct target_table_config){.pids = pids,
										.pid_cnt = cnt,
										.subprocesses = true,
										.selection = selection}),
			 0);
	return table;
}

static size_t open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t cnt = 0;

	assert_non_null(dir);
	while (readdir(dir))
		cnt++;
	closedir(dir);
	return cnt;
}

static void check_ready(struct target_table *table, pid_t pid)
{
	const struct process_config *config = entry_of(pid);
	const struct target *target;

	assert_non_null(config);
	assert_int_equal(config->state, PROCESS_CONFIG_READY);
	target = target_table_find(table, config->epoch);
	assert_non_null(target);
	assert_false(target->ended);
	assert_int_equal(target->process->pid, pid);
	assert_int_equal(target->process->epoch, config->epoch);
}

static void another_look_leaves_what_is_published(void **state)
{
	struct helper helper = helper_start();
	struct target_table *table = table_new(&helper.pid, 1, NULL);
	struct process_config before;
	size_t file_cnt;
	pid_t missing;

	assert_int_equal(target_table_scan(table, &missing), 0);
	check_ready(table, helper.pid);
	entry_of(helper.pid)->outside_ticks = 7;
	before = *entry_of(helper.pid);
	file_cnt = open_files();
	for (int i = 0; i < 3; i++)
		assert_int_equal(target_table_scan(table, &missing), 0);
	assert_memory_equal(entry_of(helper.pid), &before, sizeof(before));
	check_ready(table, helper.pid);
	assert_int_equal(open_files(), file_cnt);
	target_table_free(table);
	helper_stop(&helper);
}

static bool goes_on_after(void *ctx)
{
	size_t *left = ctx;

	return (*left)-- != 0;
}

/* Whoever scans is asked after each look whether to go on. */
static void scan_ends_when_told(void **state)
{
	struct helper first = helper_start(), second = helper_start();
	pid_t pids[] = {first.pid, second.pid}, missing;
	struct target_table *table;
	size_t left = 0;

	memset(map, 0, sizeof(map));
	assert_int_equal(target_table_new(&table, &(struct target_table_config){.pids = pids,
										.pid_cnt = 2,
										.goes_on = goes_on_after,
										.goes_on_ctx = &left}),
			 0);
	assert_int_equal(target_table_scan(table, &missing), -ECANCELED);
	check_ready(table, first.pid);
	assert_int_equal(entry_of(second.pid)->state, PROCESS_CONFIG_UNDECIDED);
	left = 2;
	assert_int_equal(target_table_scan(table, &missing), 0);
	assert_int_equal(left, 0);
	check_ready(table, second.pid);
	target_table_free(table);
	helper_stop(&first);
	helper_stop(&second);
}

/* Nothing is said of the one that ended but that its entry is gone: whoever has its pid by then is not followed. */
static void another_look_goes_on_without_those_that_ended(void **state)
{
	struct helper ended = helper_start(), stays = helper_start();
	pid_t pids[] = {ended.pid, stays.pid}, child, stranger, missing = 0;
	struct target_table *table = table_new(pids, 2, NULL);

	assert_int_equal(target_table_scan(table, &missing), 0);
	process_publish_remove(-1, ended.pid);
	stranger = helper_fork(&ended);
	child = helper_fork(&stays);
	assert_int_equal(target_table_scan(table, &missing), 0);
	assert_null(entry_of(ended.pid));
	assert_null(entry_of(stranger));
	check_ready(table, stays.pid);
	check_ready(table, child);
	helper_stop(&ended);
	assert_int_equal(target_table_scan(table, &missing), 0);
	assert_int_equal(missing, 0);
	target_table_free(table);
	helper_stop(&stays);
}

/* The record of its end found no room. */
static void another_look_ends_what_is_gone(void **state)
{
	struct helper helper = helper_start();
	struct target_table *table = table_new(NULL, 0, NULL);
	struct mapping_event mapping = {.pid = helper.pid};
	struct target *target;
	pid_t missing;

	target_table_on_mapping(table, &mapping);
	check_ready(table, helper.pid);
	target = target_table_find(table, entry_of(helper.pid)->epoch);
	process_publish_remove(-1, helper.pid);
	helper_stop(&helper);
	assert_int_equal(target_table_scan(table, &missing), 0);
	assert_true(target->ended);
	assert_true(target->process->ended);
	target_table_free(table);
}

static void first_look_says_who_is_missing(void **state)
{
	struct helper ended = helper_start();
	pid_t pids[] = {getpid(), ended.pid}, missing = 0;
	struct target_table *table = table_new(pids, 2, NULL);

	helper_stop(&ended);
	assert_int_equal(target_table_scan(table, &missing), -ESRCH);
	assert_int_equal(missing, ended.pid);
	target_table_free(table);
}

static pid_t family[3];

static void check_family_is_followed(pid_t pid)
{
	for (size_t i = 0; i < sizeof(family) / sizeof(family[0]); i++)
		assert_non_null(entry_of(family[i]));
}

static void all_are_followed_before_one_is_looked_at(void **state)
{
	struct helper first = helper_start(), second = helper_start();
	pid_t self = getpid(), missing;
	struct target_table *table = table_new(&self, 1, NULL);

	family[0] = first.pid;
	family[1] = second.pid;
	family[2] = helper_fork(&first);
	before_detect = check_family_is_followed;
	assert_int_equal(target_table_scan(table, &missing), 0);
	for (size_t i = 0; i < sizeof(family) / sizeof(family[0]); i++)
		check_ready(table, family[i]);
	target_table_free(table);
	helper_stop(&first);
	helper_stop(&second);
}

static struct helper forking;
static pid_t forked;

static void fork_now(pid_t pid, const struct process_config *config)
{
	forked = helper_fork(&forking);
}

/* The entry that the fork hook would have copied was not there yet. */
static void forked_before_its_parent_was_followed(void **state)
{
	pid_t self = getpid(), missing;
	struct target_table *table = table_new(&self, 1, NULL);

	assert_int_equal(target_table_follow(table, self), 0);
	forking = helper_start();
	before_put = fork_now;
	assert_int_equal(target_table_scan(table, &missing), 0);
	check_ready(table, forking.pid);
	check_ready(table, forked);
	target_table_free(table);
	helper_stop(&forking);
}

static struct process_event fork_event(pid_t parent, pid_t pid, u64 epoch)
{
	return (struct process_event){
		.kind = PROCESS_EVENT_FORK, .tgid = (u32)pid, .parent_tgid = (u32)parent, .epoch = epoch};
}

/* The kernel side copied what stood there: that of a parent that was followed, and published right after. */
static void copy_of_an_undecided_parent_is_looked_at(void **state)
{
	struct helper helper = helper_start();
	struct target_table *table = table_new(&helper.pid, 1, NULL);
	struct process_config copy;
	struct process_event event;
	pid_t missing, child;

	assert_int_equal(target_table_follow(table, helper.pid), 0);
	copy = *entry_of(helper.pid);
	copy.epoch++;
	assert_int_equal(target_table_scan(table, &missing), 0);
	child = helper_fork(&helper);
	process_publish_put(-1, child, &copy);
	event = fork_event(helper.pid, child, copy.epoch);
	target_table_on_event(table, &event);
	check_ready(table, child);
	target_table_free(table);
	helper_stop(&helper);
}

/* A look at /proc found the child, and the record of its fork comes after that. */
static void late_fork_event_changes_nothing(void **state)
{
	struct helper helper = helper_start();
	struct target_table *table = table_new(&helper.pid, 1, NULL);
	struct process_config copy;
	struct process_event event;
	size_t file_cnt;
	pid_t missing, child;

	assert_int_equal(target_table_scan(table, &missing), 0);
	child = helper_fork(&helper);
	copy = *entry_of(helper.pid);
	copy.epoch++;
	process_publish_put(-1, child, &copy);
	assert_int_equal(target_table_scan(table, &missing), 0);
	check_ready(table, child);
	file_cnt = open_files();
	event = fork_event(helper.pid, child, copy.epoch);
	target_table_on_event(table, &event);
	check_ready(table, child);
	assert_int_equal(open_files(), file_cnt);
	target_table_free(table);
	helper_stop(&helper);
}

/* The child ran its next image before the record of its fork was read: its samples before that are its own, too. */
static void overtaken_fork_event_keeps_its_samples(void **state)
{
	struct helper helper = helper_start();
	struct target_table *table = table_new(&helper.pid, 1, NULL);
	struct process_config next;
	struct process_event event;
	struct target *old;
	size_t file_cnt;
	pid_t missing, child;

	assert_int_equal(target_table_scan(table, &missing), 0);
	child = helper_fork(&helper);
	next = *entry_of(helper.pid);
	next.epoch += 10;
	process_publish_put(-1, child, &next);
	assert_int_equal(target_table_scan(table, &missing), 0);
	check_ready(table, child);
	file_cnt = open_files();
	event = fork_event(helper.pid, child, next.epoch - 5);
	target_table_on_event(table, &event);
	old = target_table_find(table, next.epoch - 5);
	assert_non_null(old);
	assert_true(old->ended);
	assert_null(old->mem);
	assert_int_equal(old->process->pid, child);
	assert_int_equal(open_files(), file_cnt);
	check_ready(table, child);
	target_table_free(table);
	helper_stop(&helper);
}

/* The parent runs its next image, which was found before the record of the fork was read: what the kernel side copied
 * is of the one before. */
static void child_of_the_parents_last_image(void **state)
{
	struct helper helper = helper_start();
	struct target_table *table = table_new(&helper.pid, 1, NULL);
	struct mapping_event mapping = {.pid = helper.pid};
	struct process_config copy, next;
	struct process_event event;
	pid_t missing, child;

	assert_int_equal(target_table_scan(table, &missing), 0);
	copy = *entry_of(helper.pid);
	copy.epoch++;
	child = helper_fork(&helper);
	process_publish_put(-1, child, &copy);
	next = (struct process_config){.epoch = copy.epoch + 1};
	process_publish_put(-1, helper.pid, &next);
	detected_addr = 0x2000;
	target_table_on_mapping(table, &mapping);
	detected_addr = 0x1000;
	event = fork_event(helper.pid, child, copy.epoch);
	target_table_on_event(table, &event);
	check_ready(table, child);
	assert_int_equal(target_table_find(table, copy.epoch)->runtime.runtime_addr, copy.runtime_addr);
	target_table_free(table);
	helper_stop(&helper);
}

static void *start_helper(void *helper)
{
	*(struct helper *)helper = helper_start();
	pause();
	return NULL;
}

/* In a process of its own: its children are those of two threads. */
static void __attribute__((noreturn)) run_threads(pid_t parent, int to)
{
	struct helper helper = {};
	pthread_t thread;

	die_with(parent);
	if (pthread_create(&thread, NULL, start_helper, &helper))
		_exit(1);
	while (!__atomic_load_n(&helper.from, __ATOMIC_ACQUIRE))
		usleep(1000);
	if (write(to, &helper.pid, sizeof(helper.pid)) != sizeof(helper.pid))
		_exit(1);
	for (;;)
		pause();
}

static void children_of_all_threads_are_found(void **state)
{
	struct target_table *table = table_new(NULL, 0, NULL);
	struct mapping_event mapping = {};
	char path[64];
	int from[2];
	pid_t child = 0;
	pid_t own = getpid();

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)getpid(), (int)getpid());
	if (access(path, R_OK)) {
		printf("skip: this kernel does not list children\n");
		target_table_free(table);
		skip();
	}
	assert_int_equal(pipe(from), 0);
	mapping.pid = fork();
	if (!mapping.pid)
		run_threads(own, from[1]);
	close(from[1]);
	assert_int_equal(read(from[0], &child, sizeof(child)), sizeof(child));
	target_table_on_mapping(table, &mapping);
	check_ready(table, mapping.pid);
	check_ready(table, child);
	target_table_free(table);
	kill(mapping.pid, SIGKILL);
	waitpid(mapping.pid, NULL, 0);
	close(from[0]);
}

static struct selection *selection_of(bool is_excluded, const char *name)
{
	struct selection *selection;
	char error[128];

	assert_int_equal(selection_new(&selection), 0);
	assert_int_equal(selection_add(selection, SELECTION_NAME, is_excluded, name, error, sizeof(error)),
			 0);
	return selection;
}

static void become_unwanted(pid_t pid, const struct process_config *config)
{
	prctl(PR_SET_NAME, "unwanted");
}

/* What was judged became something else before it was published. */
static void published_is_judged_again(void **state)
{
	struct selection *selection = selection_of(true, "^unwanted$");
	pid_t self = getpid();
	char name[16];

	prctl(PR_GET_NAME, name);
	for (size_t pid_cnt = 0; pid_cnt < 2; pid_cnt++) {
		struct target_table *table = table_new(&self, pid_cnt, selection);
		struct mapping_event mapping = {.pid = self};

		if (pid_cnt)
			assert_int_equal(target_table_follow(table, self), 0);
		before_put = become_unwanted;
		target_table_on_mapping(table, &mapping);
		if (pid_cnt)
			assert_int_equal(entry_of(self)->state, PROCESS_CONFIG_UNDECIDED);
		else
			assert_null(entry_of(self));
		assert_int_equal(process_table_find(target_table_processes(table), self)->epoch, 0);
		/* It is looked at once more; not again unless it asks for that. */
		prctl(PR_SET_NAME, name);
		assert_false(target_table_retry(table, clock_monotonic_ns() + CLOCK_NS_PER_S));
		check_ready(table, self);
		target_table_free(table);
	}
	selection_free(selection);
}

/* The hooks of the kernel side found no entry that they could have taken away. */
static void what_changed_before_it_was_published_is_taken_back(void **state)
{
	struct target_table *table = table_new(NULL, 0, NULL);
	struct mapping_event mapping = {.pid = getpid()};
	u64 begun = clock_monotonic_ns();

	vanishes = 1;
	target_table_on_mapping(table, &mapping);
	assert_null(entry_of(mapping.pid));
	assert_true(target_table_retry(table, begun));
	(void)target_table_retry(table, begun + CLOCK_NS_PER_S);
	check_ready(table, mapping.pid);
	target_table_free(table);
}

static struct helper ending;

static void end_now(pid_t pid, const struct process_config *config)
{
	helper_stop(&ending);
}

static void what_ended_before_it_was_published_is_taken_back(void **state)
{
	for (size_t pid_cnt = 0; pid_cnt < 2; pid_cnt++) {
		struct helper helper = helper_start();
		struct target_table *table = table_new(&helper.pid, pid_cnt, NULL);
		struct mapping_event mapping = {.pid = helper.pid};

		if (pid_cnt)
			assert_int_equal(target_table_follow(table, helper.pid), 0);
		ending = helper;
		before_put = end_now;
		target_table_on_mapping(table, &mapping);
		assert_null(before_put);
		assert_null(entry_of(helper.pid));
		assert_null(process_table_find(target_table_processes(table), helper.pid));
		assert_false(target_table_retry(table, clock_monotonic_ns()));
		target_table_free(table);
	}
}

/* Takes away its own arguments, with all that lies above them on the stack. */
static void __attribute__((noreturn)) run_without_arguments(pid_t parent, int to)
{
	enum { PAGE_SZ = 4096, ABOVE_SZ = 1 << 20 };
	volatile char *below =
		alloca(2 * PAGE_SZ); /* nothing of the stack that is used from here on lies there */

	die_with(parent);
	below[0] = 0;
	syscall(SYS_munmap, (uintptr_t)program_invocation_name / PAGE_SZ * PAGE_SZ, ABOVE_SZ);
	syscall(SYS_write, to, below, 1);
	for (;;)
		syscall(SYS_pause);
}

static void process_without_arguments_is_decided_at_last(void **state)
{
	struct mapping_event mapping = {};
	pid_t own = getpid();
	int from[2];
	char byte;

	assert_int_equal(pipe(from), 0);
	mapping.pid = fork();
	if (!mapping.pid)
		run_without_arguments(own, from[1]);
	close(from[1]);
	assert_int_equal(read(from[0], &byte, 1), 1);
	for (int is_excluded = 0; is_excluded < 2; is_excluded++) {
		struct selection *selection = selection_of(is_excluded, "nobody");
		struct target_table *table = table_new(NULL, 0, selection);
		u64 begun = clock_monotonic_ns(), now = begun;

		target_table_on_mapping(table, &mapping);
		do {
			assert_null(entry_of(mapping.pid));
			now += CLOCK_NS_PER_MS;
			assert_true(now < begun + 3 * CLOCK_NS_PER_S);
		} while (target_table_retry(table, now));
		if (is_excluded)
			check_ready(table, mapping.pid);
		else
			assert_null(entry_of(mapping.pid));
		target_table_free(table);
		selection_free(selection);
	}
	kill(mapping.pid, SIGKILL);
	waitpid(mapping.pid, NULL, 0);
	close(from[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_look_leaves_what_is_published),
		cmocka_unit_test(scan_ends_when_told),
		cmocka_unit_test(another_look_goes_on_without_those_that_ended),
		cmocka_unit_test(another_look_ends_what_is_gone),
		cmocka_unit_test(first_look_says_who_is_missing),
		cmocka_unit_test(all_are_followed_before_one_is_looked_at),
		cmocka_unit_test(forked_before_its_parent_was_followed),
		cmocka_unit_test(copy_of_an_undecided_parent_is_looked_at),
		cmocka_unit_test(late_fork_event_changes_nothing),
		cmocka_unit_test(overtaken_fork_event_keeps_its_samples),
		cmocka_unit_test(child_of_the_parents_last_image),
		cmocka_unit_test(children_of_all_threads_are_found),
		cmocka_unit_test(what_changed_before_it_was_published_is_taken_back),
		cmocka_unit_test(what_ended_before_it_was_published_is_taken_back),
		cmocka_unit_test(published_is_judged_again),
		cmocka_unit_test(process_without_arguments_is_decided_at_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
