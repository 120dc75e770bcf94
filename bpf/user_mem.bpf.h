/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* The only reads of a target's memory on the kernel side. tests/replay puts its own version of this
 * file first on the include path, so that the walker compiles natively over stored memory images.
 */
#ifndef PANOPY_USER_MEM_BPF_H
#define PANOPY_USER_MEM_BPF_H

#include <bpf/bpf_helpers.h>

/* 0, or a negative error when any byte is not resident or not mapped. Never faults a page in. */
static __always_inline long user_read(void *dst, u32 sz, u64 addr)
{
	return bpf_probe_read_user(dst, sz, (const void *)addr);
}

#endif
