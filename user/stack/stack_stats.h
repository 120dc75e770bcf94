/* SPDX-License-Identifier: Apache-2.0 */
/* What completing stacks in user space took, and what its frame cache was good for. All counts, since the
 * start of the recording.
 */
#ifndef PANOPY_STACK_STACK_STATS_H
#define PANOPY_STACK_STACK_STATS_H

#include "shared_types.h"

struct stack_stats {
	/* Stacks, each counted in one of these. */
	u64 hits;	 /* every frame was what the cache held */
	u64 partial;	 /* some frames were */
	u64 misses;	 /* none was, or nothing was known of the thread */
	u64 by_identity; /* deep and read whole less than a second ago: the root's part is from then */
	u64 postponed;	 /* the same, but nothing tied it to what was read then: left truncated */
	u64 failed;	 /* could not be read to the end: left truncated */

	/* Frames of completed stacks; the first two add up to all of them. */
	u64 frames_read;	/* from the process's memory */
	u64 frames_by_identity; /* from the last whole read */
	u64 frames_reused;	/* of those read: their finished frame was taken over */
	u64 fingerprints_read;	/* of code objects, to prove or name the others */

	/* The cache's bounds. */
	u64 evicted_threads;
	u64 evicted_frames;

	/* Reads of memory. */
	u64 remote_calls; /* hand-overs to the reading worker */
	u64 system_calls; /* process_vm_readv */
	u64 segments;	  /* asked for */
	u64 segments_whole;
	u64 bytes; /* that came */
};

#endif
