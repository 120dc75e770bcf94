/* SPDX-License-Identifier: Apache-2.0 */
/* The sampler: the same program built for several generations of kernels (bpf/loops.bpf.h). Opened, set
 * up and loaded here; owns its maps.
 */
#ifndef PANOPY_KERNEL_SAMPLER_OBJECT_H
#define PANOPY_KERNEL_SAMPLER_OBJECT_H

#include <stddef.h>

#include "sampler_config.h"

enum sampler_map {
	SAMPLER_MAP_PROCESSES,
	SAMPLER_MAP_STATS,
	SAMPLER_MAP_THREAD_SLOTS,
	SAMPLER_MAP_SENT_STACKS,
	SAMPLER_MAP_LAST_TICKS,
	SAMPLER_MAP_SCRATCHES,
	SAMPLER_MAP_SAMPLE_RINGS,
	SAMPLER_MAP_SELECTION_CGROUPS,
	SAMPLER_MAP_CGROUP_DIRS,      /* not made where no version 2 cgroup can be selected */
	SAMPLER_MAP_RESUME_SCRATCHES, /* only in the variants that can read on later */
	SAMPLER_MAP_COUNT
};

struct sampler_sizes {
	size_t max_processes;
	int ring_pattern_fd; /* a ring buffer of the size that all will have */
};

struct sampler_object;

/* Best first; a name is what --variant of the tests and `panopy -v` say. NULL behind the last. */
const char *sampler_object_variant(size_t idx);

/* Loads the named variant, or the best one that the kernel takes (NULL). config->task_work is filled in
 * here. -EINVAL: no such variant, or not for this kernel; else what the kernel said of the last one tried. */
int sampler_object_load(struct sampler_object **ret_object, const struct sampler_config *config,
			const struct sampler_sizes *sizes, const char *variant);
void sampler_object_close(struct sampler_object *object);

const char *sampler_object_name(const struct sampler_object *object);
/* Sample rings that it writes: one a CPU, and as many again where it reads on later. */
size_t sampler_object_ring_count(const struct sampler_object *object);
int sampler_object_program_fd(const struct sampler_object *object);
int sampler_object_map_fd(const struct sampler_object *object, enum sampler_map map);

#endif
