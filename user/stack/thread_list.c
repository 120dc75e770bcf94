/* SPDX-License-Identifier: Apache-2.0 */
#include "stack/thread_list.h"

#include <string.h>

#include "shared_limits.h"

enum { PTHREAD_TID_OFF = 720 };

static u64 load_u64(const u8 *bytes)
{
	u64 value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* Before 3.11 only thread_id is there, pthread_self(): glibc keeps the thread's id behind it (x86-64, nptl/descr.h:
 * struct pthread.tid, behind a head of 704 bytes and two links). Whatever else stands there is a hint that
 * leads nowhere. */
static u64 thread_id_of(struct remote_mem *mem, const struct py_layout *layout, const u8 *state)
{
	u64 value;

	if (layout->tstate_native_thread_id)
		return load_u64(state + layout->tstate_native_thread_id);
	if (remote_mem_read_u64(mem, load_u64(state + layout->tstate_thread_id) + PTHREAD_TID_OFF, &value))
		return 0;
	return (u32)value;
}

int thread_list_walk(struct remote_mem *mem, const struct py_layout *layout, remote_addr_t runtime_addr,
		     size_t max_threads, void (*on_thread)(void *ctx, u64 native_id, remote_addr_t tstate),
		     void *ctx)
{
	u8 state[LIMIT_TSTATE_SPAN];
	remote_addr_t interp, tstate;
	int err = remote_mem_read_u64(mem, runtime_addr + layout->runtime_interpreters_head, &interp);

	while (!err && interp && max_threads) {
		err = remote_mem_read_u64(mem, interp + layout->interp_threads_head, &tstate);
		while (!err && tstate && max_threads) {
			max_threads--;
			err = remote_mem_read(mem, tstate, state, layout->tstate_sz);
			if (err)
				return err;
			on_thread(ctx, thread_id_of(mem, layout, state), tstate);
			tstate = load_u64(state + layout->tstate_next);
		}
		if (!err)
			err = remote_mem_read_u64(mem, interp + layout->interp_next, &interp);
		if (max_threads)
			max_threads--;
	}
	return err;
}
