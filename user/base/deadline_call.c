/* SPDX-License-Identifier: Apache-2.0 */
/* Two tasks for each worker:
 *   its keeper, a thread, makes the worker by clone() and waits for its end. The worker runs on a stack of
 *     its own and uses the keeper's thread-local storage (errno, malloc's cache) meanwhile: until the
 *     worker's end the keeper makes one raw system call and touches nothing;
 *   the worker, a process that shares memory and descriptors. It is sent SIGKILL when its keeper ends,
 *     which is at the end of the program, however it ends.
 * (CLONE_VFORK would make the keeper wait, too, but such a thread cannot be stopped by a debugger.)
 *
 * The pool is file-scope state because the limit on workers that hang is one of this program.
 */
#define _GNU_SOURCE
#include "base/deadline_call.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define START_DEADLINE_NS (2 * CLOCK_NS_PER_S)
/* Of what is left open at the end, all of it together or up to the first that hangs. */
#define CLOSE_DEADLINE_NS CLOCK_NS_PER_S

enum {
	/* Descriptors whose closing may hang at the end: one of each worker that was left behind. */
	MAX_CLOSERS = DEADLINE_CALL_MAX_STUCK,
	KEEPER_STACK_SZ = 64 * 1024,
	MAX_SHUNNED = 64,
	/* More than a program opens unless its limit was raised. */
	CLOSED_ONE_BY_ONE = 65536,
};

enum call_state { CALL_NONE, CALL_REQUESTED, CALL_RUNNING, CALL_DONE };

struct worker {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum call_state state;
	bool abandoned; /* owned by its keeper alone from now on */
	pid_t pid;	/* 0 until it runs */
	void (*run)(void *block);
	void (*release)(void *block);
	void *block;
	void *stack;
};

static struct {
	pthread_mutex_t lock; /* held during a whole call: one at a time */
	struct worker *current;
	unsigned int stuck_cnt;
	bool closes_at_exit;
	struct {
		u64 subject;
		u64 until_ns;
	} shunned[MAX_SHUNNED];
	unsigned int shunned_next; /* the oldest entry */
} g_pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pid_t g_owner; /* a fork of this process has the pool's memory, but not its worker */

static void worker_destroy(struct worker *worker)
{
	munmap(worker->stack, DEADLINE_CALL_STACK_SZ);
	pthread_cond_destroy(&worker->changed);
	pthread_mutex_destroy(&worker->lock);
	free(worker);
}

/* The worker's process. */
static int serve(void *arg)
{
	struct worker *worker = arg;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != g_owner)
		return 0; /* the program ended before that was set */
	pthread_mutex_lock(&worker->lock);
	worker->pid = getpid();
	for (;;) {
		while (worker->state != CALL_REQUESTED)
			pthread_cond_wait(&worker->changed, &worker->lock);
		worker->state = CALL_RUNNING;
		pthread_mutex_unlock(&worker->lock);
		worker->run(worker->block);
		pthread_mutex_lock(&worker->lock);
		if (worker->abandoned)
			break;
		worker->state = CALL_DONE;
		pthread_cond_broadcast(&worker->changed);
	}
	pthread_mutex_unlock(&worker->lock);
	worker->release(worker->block);
	return 0;
}

static void *keep(void *arg)
{
	struct worker *worker = arg;
	pid_t pid = clone(serve, (char *)worker->stack + DEADLINE_CALL_STACK_SZ,
			  CLONE_VM | CLONE_FS | CLONE_FILES, worker);

	if (pid > 0)
		syscall(SYS_wait4, pid, NULL, __WCLONE, NULL);
	/* The last call was late, not stuck; or there is no worker. */
	pthread_mutex_lock(&worker->lock);
	while (!worker->abandoned)
		pthread_cond_wait(&worker->changed, &worker->lock);
	pthread_mutex_unlock(&worker->lock);
	if (pid < 0)
		worker->release(worker->block);
	worker_destroy(worker);
	pthread_mutex_lock(&g_pool.lock);
	g_pool.stuck_cnt--;
	pthread_mutex_unlock(&g_pool.lock);
	return NULL;
}

static int start_keeper(struct worker *worker)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, before;
	int err;

	if (pthread_attr_init(&attr) != 0)
		return -ENOMEM;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, KEEPER_STACK_SZ);
	/* Signals are the main thread's business. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, &attr, keep, worker);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -err;
}

static int worker_new(struct worker **ret_worker)
{
	struct worker *worker = calloc(1, sizeof(*worker));
	pthread_condattr_t attr;
	int err;

	if (!worker)
		return -ENOMEM;
	worker->stack = mmap(NULL, DEADLINE_CALL_STACK_SZ, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (worker->stack == MAP_FAILED) {
		free(worker);
		return -ENOMEM;
	}
	pthread_mutex_init(&worker->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&worker->changed, &attr);
	pthread_condattr_destroy(&attr);
	err = start_keeper(worker);
	if (err) {
		worker_destroy(worker);
		return err;
	}
	*ret_worker = worker;
	return 0;
}

/* With worker->lock held; returns when the call is done or the time is over. */
static void wait_for(struct worker *worker, u64 timeout_ns)
{
	struct timespec at;
	int err = 0;

	clock_gettime(CLOCK_MONOTONIC, &at);
	timeout_ns += (u64)at.tv_nsec;
	at.tv_sec += (time_t)(timeout_ns / CLOCK_NS_PER_S);
	at.tv_nsec = (long)(timeout_ns % CLOCK_NS_PER_S);
	while (worker->state != CALL_DONE && err != ETIMEDOUT)
		err = pthread_cond_timedwait(&worker->changed, &worker->lock, &at);
}

/* -ETIMEDOUT: worker and block are the keeper's. */
static int worker_call(struct worker *worker, u64 timeout_ns)
{
	int err = 0;

	worker->state = CALL_REQUESTED;
	pthread_cond_broadcast(&worker->changed);
	wait_for(worker, timeout_ns);
	/* On a busy host the worker itself may wait long for a CPU; that says nothing of the call. */
	if (worker->state == CALL_REQUESTED)
		wait_for(worker, START_DEADLINE_NS);
	if (worker->state == CALL_DONE) {
		worker->state = CALL_NONE;
	} else {
		worker->abandoned = true;
		pthread_cond_broadcast(&worker->changed);
		err = -ETIMEDOUT;
	}
	return err;
}

static void shun(u64 subject)
{
	if (!subject)
		return;
	g_pool.shunned[g_pool.shunned_next].subject = subject;
	g_pool.shunned[g_pool.shunned_next].until_ns =
		clock_monotonic_ns() + DEADLINE_CALL_SHUN_S * CLOCK_NS_PER_S;
	g_pool.shunned_next = (g_pool.shunned_next + 1) % MAX_SHUNNED;
}

static bool is_shunned(u64 subject)
{
	for (unsigned int i = 0; subject && i < MAX_SHUNNED; i++) {
		if (g_pool.shunned[i].subject == subject && clock_monotonic_ns() < g_pool.shunned[i].until_ns)
			return true;
	}
	return false;
}

void deadline_shun(u64 subject)
{
	pthread_mutex_lock(&g_pool.lock);
	shun(subject);
	pthread_mutex_unlock(&g_pool.lock);
}

bool deadline_is_shunned(u64 subject)
{
	bool shunned;

	pthread_mutex_lock(&g_pool.lock);
	shunned = is_shunned(subject);
	pthread_mutex_unlock(&g_pool.lock);
	return shunned;
}

static void close_all(void);

static int call_on_worker(void (*run)(void *), void (*release)(void *), void *block, u64 timeout_ns)
{
	struct worker *worker = g_pool.current;
	int err;

	pthread_mutex_lock(&worker->lock);
	worker->run = run;
	worker->release = release;
	worker->block = block;
	err = worker_call(worker, timeout_ns);
	pthread_mutex_unlock(&worker->lock);
	if (err) {
		g_pool.current = NULL;
		g_pool.stuck_cnt++;
		if (!g_pool.closes_at_exit)
			g_pool.closes_at_exit = atexit(close_all) == 0;
	}
	return err;
}

/* In a fork: the worker stayed with the parent. Who waits on its lock did, too, and must not be waited for. */
static void drop_copy(void)
{
	if (!g_pool.current)
		return;
	munmap(g_pool.current->stack, DEADLINE_CALL_STACK_SZ);
	free(g_pool.current);
	g_pool.current = NULL;
}

static int call_unless_stuck(u64 subject, void (*run)(void *block), void (*release)(void *block), void *block,
			     u64 timeout_ns, unsigned int max_stuck)
{
	int err = 0;

	pthread_mutex_lock(&g_pool.lock);
	if (g_owner != getpid()) {
		drop_copy();
		g_pool.stuck_cnt = 0;
		g_owner = getpid();
	}
	if (is_shunned(subject))
		err = -EBUSY;
	else if (g_pool.stuck_cnt >= max_stuck)
		err = -EIO;
	else if (!g_pool.current)
		err = worker_new(&g_pool.current);
	if (!err)
		err = call_on_worker(run, release, block, timeout_ns);
	if (err == -ETIMEDOUT)
		shun(subject);
	pthread_mutex_unlock(&g_pool.lock);
	return err;
}

int deadline_call(u64 subject, void (*run)(void *block), void (*release)(void *block), void *block,
		  u64 timeout_ns)
{
	return call_unless_stuck(subject, run, release, block, timeout_ns, DEADLINE_CALL_MAX_STUCK);
}

/* One system call each: a closed file is let go of when its system call returns (fs/file_table.c __fput_deferred,
 * Linux 6.18), so that those closed in one with a file that hangs would stay open with it. */
static void run_close_all(void *block)
{
	unsigned int *next_fd = block;

	while (*next_fd < CLOSED_ONE_BY_ONE)
		syscall(SYS_close, (*next_fd)++);
	syscall(SYS_close_range, CLOSED_ONE_BY_ONE, ~0U, 0); /* Linux 5.9 */
}

static void release_nothing(void *block)
{
	(void)block;
}

/* A file that a worker hangs in is open, and its closing would hang, too. It is no longer in the table of
 * descriptors then (fs/file.c file_close_fd, Linux 6.18): the next worker goes on behind it. Standard output is
 * closed first, and here, as another process may wait for its end. */
static void close_all(void)
{
	static unsigned int next_fd = STDERR_FILENO + 1;
	int err = -ETIMEDOUT;

	if (getpid() != g_owner)
		return;
	fflush(NULL);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		close(fd);
	for (int i = 0; i < MAX_CLOSERS && err == -ETIMEDOUT; i++)
		err = call_unless_stuck(0, run_close_all, release_nothing, &next_fd, CLOSE_DEADLINE_NS,
					DEADLINE_CALL_MAX_STUCK + MAX_CLOSERS);
}

u64 deadline_call_cpu_ns(void)
{
	struct timespec used;
	clockid_t clock;
	pid_t pid;

	pthread_mutex_lock(&g_pool.lock);
	pid = g_pool.current ? g_pool.current->pid : 0;
	pthread_mutex_unlock(&g_pool.lock);
	if (!pid || clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &used))
		return 0;
	return (u64)used.tv_sec * CLOCK_NS_PER_S + (u64)used.tv_nsec;
}
