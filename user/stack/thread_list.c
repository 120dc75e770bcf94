/* SPDX-License-Identifier: Apache-2.0 */
#include "stack/thread_list.h"

#include <string.h>

#include "shared_limits.h"

static u64 load_u64(const u8 *bytes)
{
	u64 value;

	memcpy(&value, bytes, sizeof(value));
	return value;
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
			on_thread(ctx, load_u64(state + layout->tstate_native_thread_id), tstate);
			tstate = load_u64(state + layout->tstate_next);
		}
		if (!err)
			err = remote_mem_read_u64(mem, interp + layout->interp_next, &interp);
		if (max_threads)
			max_threads--;
	}
	return err;
}
