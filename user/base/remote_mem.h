/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a target: a live process, or a stored image of one (tests). The only user-space code that
 * reads a target's memory. Addresses are numbers, never pointers.
 *
 * A live process can make a read hang for good (a page whose fault another process must serve), so
 * live reads run on a worker that is given up after a deadline: the read then fails with -ETIMEDOUT
 * and every later read of that process fails with -EIO at once.
 */
#ifndef PANOPY_BASE_REMOTE_MEM_H
#define PANOPY_BASE_REMOTE_MEM_H

#include <stddef.h>
#include <sys/types.h>

#include "shared_types.h"

typedef u64 remote_addr_t;

struct remote_mem;

struct remote_mem_stats {
	u64 calls;	   /* process_vm_readv */
	u64 segments;	   /* asked for in all of them */
	u64 segments_read; /* whole */
	u64 bytes;	   /* read */
};

/* -ESRCH: no such process. -EPERM: not allowed. */
int remote_mem_open_process(struct remote_mem **ret_mem, pid_t pid);
/* An image file as written by tests/replay/capture (format: see that folder's README). */
int remote_mem_open_image(struct remote_mem **ret_mem, const char *path);
/* Memory that a function answers for (tests): it copies the first bytes of [addr, addr + sz) that there are
 * and returns how many. */
typedef size_t (*remote_view_fn)(void *ctx, remote_addr_t addr, void *ret_buf, size_t sz);
int remote_mem_open_view(struct remote_mem **ret_mem, remote_view_fn view, void *ctx);
void remote_mem_close(struct remote_mem *mem);

/* Reads all `sz` bytes or fails: -EFAULT (not mapped), -ESRCH (gone), -EPERM, -ETIMEDOUT, -EIO. */
int remote_mem_read(struct remote_mem *mem, remote_addr_t addr, void *ret_buf, size_t sz);
/* Counts every read of a live process from now on; NULL: no longer. `stats` must outlive `mem`. */
void remote_mem_count(struct remote_mem *mem, struct remote_mem_stats *stats);

int remote_mem_read_u64(struct remote_mem *mem, remote_addr_t addr, u64 *ret_value);

/* Several reads done as one: asked for one by one, read together, in that order, by as few system calls as
 * holes in the target's memory allow. */
struct remote_batch;

struct remote_batch_stats {
	u64 calls;	  /* hand-overs to the worker; reads of an image, too */
	u64 system_calls; /* process_vm_readv */
	u64 segments;	  /* asked for */
	u64 segments_whole;
	u64 bytes; /* that came */
};

/* Bounds of one batch; at most 1 << 20 segments and 1 GiB. -EINVAL, -ENOMEM. */
int remote_batch_new(struct remote_batch **ret_batch, size_t max_segments, size_t max_bytes);
void remote_batch_free(struct remote_batch *batch);
void remote_batch_clear(struct remote_batch *batch);
/* Asks for `sz` bytes. The segment's number, from 0 on; -ENOSPC: the batch is full; -EFAULT: no such
 * addresses; -EINVAL: no bytes. */
int remote_batch_add(struct remote_batch *batch, remote_addr_t addr, size_t sz);
size_t remote_batch_count(const struct remote_batch *batch);

/* 0 also where segments could not be read (remote_batch_bytes() tells). -ESRCH, -EPERM, -ETIMEDOUT, -EIO,
 * -ENOMEM: nothing of the batch counts. */
int remote_mem_read_batch(struct remote_mem *mem, struct remote_batch *batch);

/* What came of a segment: its first *ret_sz bytes, all or up to a page that is not mapped. Segments added one
 * behind the other lie so in memory, too. Valid until the batch is cleared, read or freed. */
const u8 *remote_batch_bytes(const struct remote_batch *batch, size_t segment, size_t *ret_sz);

const struct remote_batch_stats *remote_batch_stats(const struct remote_batch *batch);

#endif
