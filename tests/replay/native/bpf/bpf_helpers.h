/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for libbpf's <bpf/bpf_helpers.h> where the walker is compiled for this machine: the same
 * names, answered by walker.c. First on the include path of that one file.
 */
#ifndef PANOPY_REPLAY_BPF_HELPERS_H
#define PANOPY_REPLAY_BPF_HELPERS_H

#include <linux/bpf.h>

#include "shared_types.h"

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define __noinline	__attribute__((noinline))
#define SEC(name)
#define __uint(name, value) int(*name)[value]
#define __type(name, type)  typeof(type) *name
#define __array(name, type) typeof(type) *name[]

/* As the kernel's helper: all or an error, and on an error the destination is zeroed. */
long bpf_probe_read_user(void *dst, u32 sz, const void *addr);
void *bpf_map_lookup_elem(const void *map, const void *key);
u32 bpf_get_smp_processor_id(void);
u64 bpf_ringbuf_query(void *ring, u64 flags);
long bpf_ringbuf_output(void *ring, void *data, u64 sz, u64 flags);

#endif
