/* SPDX-License-Identifier: Apache-2.0 */
/* Scope-bound clean-up for locals; one style per function: either these or a single label. */
#ifndef PANOPY_BASE_CLEANUP_H
#define PANOPY_BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(function) __attribute__((cleanup(function)))
#define CLEANUP_FREE	  CLEANUP(cleanup_free)
#define CLEANUP_FD	  CLEANUP(cleanup_fd)
#define CLEANUP_FILE	  CLEANUP(cleanup_file)

static inline void cleanup_free(void *ptr)
{
	free(*(void **)ptr);
}

static inline void cleanup_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

/* Hands a local's value on to the caller, so that its clean-up does nothing. */
#define steal_ptr(ptr)                                                                                       \
	({                                                                                                   \
		__typeof__(ptr) stolen_ = (ptr);                                                             \
		(ptr) = NULL;                                                                                \
		stolen_;                                                                                     \
	})

static inline int steal_fd(int *fd)
{
	int stolen = *fd;

	*fd = -1;
	return stolen;
}

#endif
