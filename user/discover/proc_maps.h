/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the text of /proc/PID/maps from bytes. A path is written by the process's owner: it may hold any
 * byte, escapes included.
 */
#ifndef PANOPY_DISCOVER_PROC_MAPS_H
#define PANOPY_DISCOVER_PROC_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "shared_types.h"

enum {
	/* PATH_MAX of the kernel. */
	PROC_MAPS_PATH_SZ = 4096,
	/* What is read of one process: 65,530 mappings (vm.max_map_count) of ordinary lines. */
	PROC_MAPS_TEXT_SZ = 16 << 20,
};

struct proc_mapping {
	u64 start;
	u64 end;
	u64 offset; /* in the file */
	u64 dev;    /* as makedev() */
	u64 ino;    /* 0: no file */
	bool readable;
	bool writable;
	bool executable;
	bool deleted; /* the kernel added " (deleted)", or the name really ends so */
	/* Octal escapes undone, " (deleted)" cut off; "[stack]" and the like are kept; cut at the size. */
	char path[PROC_MAPS_PATH_SZ];
};

/* One line without its newline. -EINVAL: not a line of this format. */
int decode_proc_maps_line(const char *line, size_t sz, struct proc_mapping *ret_mapping);

/* Every line of `text`; lines that cannot be decoded are skipped. Stops at the first non-zero return and
 * returns it. The mapping is only valid during the call. */
int proc_maps_for_each(const char *text, size_t sz,
		       int (*on_mapping)(void *ctx, const struct proc_mapping *mapping), void *ctx);

/* The text of /proc/PID/maps, NUL-terminated, owned by the caller; cut at PROC_MAPS_TEXT_SZ. -ESRCH: gone.
 * -EACCES: not allowed. -ETIMEDOUT, -EBUSY, -EIO: it hangs, see deadline_call(). */
int read_proc_maps(pid_t pid, char **ret_text, size_t *ret_sz);

#endif
