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
void remote_mem_close(struct remote_mem *mem);

/* Reads all `sz` bytes or fails: -EFAULT (not mapped), -ESRCH (gone), -EPERM, -ETIMEDOUT, -EIO. */
int remote_mem_read(struct remote_mem *mem, remote_addr_t addr, void *ret_buf, size_t sz);
/* Counts every read of a live process from now on; NULL: no longer. `stats` must outlive `mem`. */
void remote_mem_count(struct remote_mem *mem, struct remote_mem_stats *stats);

int remote_mem_read_u64(struct remote_mem *mem, remote_addr_t addr, u64 *ret_value);

#endif
