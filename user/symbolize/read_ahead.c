/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/read_ahead.h"

#include <string.h>

void read_ahead_init(struct read_ahead *ahead)
{
	*ahead = (struct read_ahead){0};
}

void read_ahead_release(struct read_ahead *ahead)
{
	remote_batch_free(ahead->batch);
	read_ahead_init(ahead);
}

int read_ahead_begin(struct read_ahead *ahead, struct remote_mem *mem)
{
	int err = 0;

	if (!ahead->batch)
		err = remote_batch_new(&ahead->batch, READ_AHEAD_MAX_SPANS, READ_AHEAD_MAX_BYTES);
	if (err)
		return err;
	remote_batch_clear(ahead->batch);
	ahead->mem = mem;
	ahead->first = 0;
	ahead->end = 0;
	ahead->mark = 0;
	ahead->missed = false;
	return 0;
}

void read_ahead_ask(struct read_ahead *ahead, remote_addr_t addr, size_t sz)
{
	int span = remote_batch_add(ahead->batch, addr, sz);

	if (span >= 0)
		ahead->addrs[span] = addr;
}

void read_ahead_mark(struct read_ahead *ahead)
{
	ahead->mark = remote_batch_count(ahead->batch);
}

int read_ahead_fetch(struct read_ahead *ahead)
{
	int err = remote_mem_read_batch(ahead->mem, ahead->batch);

	if (err)
		return err;
	ahead->missed = false;
	ahead->first = 0;
	ahead->end = ahead->mark ? ahead->mark : remote_batch_count(ahead->batch);
	return 0;
}

void read_ahead_look_again(struct read_ahead *ahead)
{
	ahead->first = ahead->mark;
	ahead->end = ahead->missed ? ahead->first : remote_batch_count(ahead->batch);
}

int read_ahead_read(struct read_ahead *ahead, remote_addr_t addr, void *ret_buf, size_t sz)
{
	for (size_t i = ahead->first; i < ahead->end; i++) {
		size_t have;
		const u8 *bytes = remote_batch_bytes(ahead->batch, i, &have);

		if (addr < ahead->addrs[i] || addr - ahead->addrs[i] > have ||
		    have - (addr - ahead->addrs[i]) < sz)
			continue;
		memcpy(ret_buf, bytes + (addr - ahead->addrs[i]), sz);
		return 0;
	}
	ahead->missed = true;
	return remote_mem_read(ahead->mem, addr, ret_buf, sz);
}
