/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the thread states of a live process, for threads that the kernel side could not find within its
 * search limit. What it yields is a hint: the sampler verifies it at every use.
 */
#ifndef PANOPY_STACK_THREAD_LIST_H
#define PANOPY_STACK_THREAD_LIST_H

#include "base/remote_mem.h"
#include "py_layout.h"

/* Calls on_thread with every thread state's native thread id, as the process sees it; before CPython 3.11 that
 * is a guess, and 0 where there is none. At most
 * `max_threads`; lists that do not end are cut there. 0, or the error of a read. */
int thread_list_walk(struct remote_mem *mem, const struct py_layout *layout, remote_addr_t runtime_addr,
		     size_t max_threads, void (*on_thread)(void *ctx, u64 native_id, remote_addr_t tstate),
		     void *ctx);

#endif
