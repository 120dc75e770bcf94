/* SPDX-License-Identifier: Apache-2.0 */
#include "thread_seed.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "kernel/process_publish.h"
#include "stack/thread_list.h"

enum {
	SEED_INTERVAL_NS = CLOCK_NS_PER_S / 10,
	/* A list that a broken or hostile process made endless may take a fiftieth of a CPU. */
	SEED_REST = 50,
	SEED_MAX_STATES = 1 << 16,
	/* Thread states believed: so many for each thread (one for each interpreter that it runs), and some of
	 * threads that are gone. A list that is longer has no end. */
	SEED_STATES_PER_THREAD = 4,
	SEED_STATES_BESIDE = 256,
};

struct seeding {
	int thread_slots_fd;
	const struct target *target;
};

static void on_thread_state(void *ctx, u64 native_id, remote_addr_t tstate)
{
	const struct seeding *seeding = ctx;
	const struct process *process = seeding->target->process;

	/* Ids inside a pid namespace are not the ones the kernel side sees. */
	if (process->ns_pid && process->ns_pid != process->pid)
		return;
	if (native_id)
		process_publish_thread(seeding->thread_slots_fd, seeding->target->epoch, (pid_t)native_id,
				       tstate);
}

static size_t states_at_most(const struct process *process)
{
	char path[32];
	struct stat st;
	size_t cnt = SEED_STATES_BESIDE;

	/* The links of this folder are its threads, itself and its parent. */
	snprintf(path, sizeof(path), "/proc/%d/task", (int)process->pid);
	if (stat(path, &st) == 0)
		cnt += st.st_nlink * SEED_STATES_PER_THREAD;
	return cnt < SEED_MAX_STATES ? cnt : SEED_MAX_STATES;
}

void thread_seed(struct target *target, int thread_slots_fd)
{
	struct seeding seeding = {.thread_slots_fd = thread_slots_fd, .target = target};
	u64 now = clock_monotonic_ns();
	u64 took;

	if (!target->mem || now < target->seed_next_ns)
		return;
	thread_list_walk(target->mem, &target->runtime.layout, target->runtime.runtime_addr,
			 states_at_most(target->process), on_thread_state, &seeding);
	took = clock_monotonic_ns() - now;
	target->seed_next_ns =
		now + took + (took > SEED_INTERVAL_NS / SEED_REST ? took * SEED_REST : SEED_INTERVAL_NS);
}
