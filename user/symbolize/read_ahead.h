/* SPDX-License-Identifier: Apache-2.0 */
/* Small reads of a target answered from larger ones done before, all of them in one hand-over: first asked
 * for, then fetched, then read at will. What was not asked for is read from the target there and then.
 *
 * Two looks at the same memory fit into one fetch: what is asked for behind read_ahead_mark() is read later
 * than what is asked for before it, and answers from read_ahead_look_again() on.
 */
#ifndef PANOPY_SYMBOLIZE_READ_AHEAD_H
#define PANOPY_SYMBOLIZE_READ_AHEAD_H

#include <stdbool.h>

#include "base/remote_mem.h"

enum {
	READ_AHEAD_MAX_SPANS = 16,
	READ_AHEAD_MAX_BYTES = 16 * 1024,
};

struct read_ahead {
	struct remote_mem *mem;	    /* not owned */
	struct remote_batch *batch; /* NULL before the first use */
	remote_addr_t addrs[READ_AHEAD_MAX_SPANS];
	size_t first, end; /* the spans that answer */
	size_t mark;
	bool missed; /* something was read that had not been fetched */
};

/* All zero is a read_ahead, too: one that answers nothing from before. */
void read_ahead_init(struct read_ahead *ahead);
void read_ahead_release(struct read_ahead *ahead);

/* Begins anew, with another target maybe. -ENOMEM. */
int read_ahead_begin(struct read_ahead *ahead, struct remote_mem *mem);
/* A wish: beyond the bounds, or for no addresses, it is forgotten, and the read goes to the target. */
void read_ahead_ask(struct read_ahead *ahead, remote_addr_t addr, size_t sz);
void read_ahead_mark(struct read_ahead *ahead);
/* The errors of remote_mem_read_batch. */
int read_ahead_fetch(struct read_ahead *ahead);
/* Only what was asked for behind the mark answers from now on; nothing, where something was missed before: it
 * was read later than that. */
void read_ahead_look_again(struct read_ahead *ahead);

/* As remote_mem_read(). */
int read_ahead_read(struct read_ahead *ahead, remote_addr_t addr, void *ret_buf, size_t sz);

#endif
