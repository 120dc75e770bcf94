/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF objects: opened, configured, loaded and attached; closed again. Owns every map. */
#ifndef PANOPY_KERNEL_BPF_LOADER_H
#define PANOPY_KERNEL_BPF_LOADER_H

#include <stdbool.h>
#include <stddef.h>

#include "selection_config.h"
#include "shared_types.h"

struct bpf_loader;

struct bpf_loader_config {
	u64 period_ns;
	u32 kernel_frames;  /* 0: as many as a record holds */
	bool only_followed; /* children of processes that are not followed are left alone */
	size_t max_processes;
	struct selection_config selection;
	bool compare;	     /* sampler_config.compare */
	const char *variant; /* of the sampler (kernel/sampler_object.h); NULL: the best that loads */
};

/* -EPERM, -EACCES: a privilege is missing. Anything else: the kernel refused the programs. Where the
 * memlock limit does not allow the maps that were meant, smaller ones are made (bpf_loader_ring_sz). */
int bpf_loader_open(struct bpf_loader **ret_loader, const struct bpf_loader_config *config);
void bpf_loader_close(struct bpf_loader *loader);

/* Attaches the hooks that follow fork, exec and exit. */
int bpf_loader_attach_watch(struct bpf_loader *loader);

/* Which sampler was loaded. */
const char *bpf_loader_variant(const struct bpf_loader *loader);

int bpf_loader_sampler_fd(const struct bpf_loader *loader);
int bpf_loader_processes_fd(const struct bpf_loader *loader);
int bpf_loader_stats_fd(const struct bpf_loader *loader);
int bpf_loader_thread_slots_fd(const struct bpf_loader *loader);
int bpf_loader_sent_stacks_fd(const struct bpf_loader *loader);
int bpf_loader_selection_cgroups_fd(const struct bpf_loader *loader);
int bpf_loader_cgroup_dirs_fd(const struct bpf_loader *loader);
int bpf_loader_last_ticks_fd(const struct bpf_loader *loader);

/* All rings: those of samples, then the process events. */
const int *bpf_loader_rings(const struct bpf_loader *loader, size_t *ret_cnt);
/* Bytes of one sample ring, and what was asked for. */
size_t bpf_loader_ring_sz(const struct bpf_loader *loader, size_t *ret_wanted);

#endif
