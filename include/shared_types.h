/* SPDX-License-Identifier: Apache-2.0 */
/* Fixed-width types for everything that crosses the kernel/user boundary.
 *
 * BPF objects take u8..s64 from vmlinux.h; user space and the native replay tests define the same
 * names here. This is the only place that asks which side is being compiled.
 */
#ifndef PANOPY_SHARED_TYPES_H
#define PANOPY_SHARED_TYPES_H

#ifdef __bpf__
#include "vmlinux.h"
#define SHARED_ASSERT(expr, msg) _Static_assert(expr, msg)
#else
#include <assert.h>
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
#define SHARED_ASSERT(expr, msg) static_assert(expr, msg)
#endif

/* A record's layout is an agreement between two compilers: a change of size must be meant. */
#define SHARED_ASSERT_SIZE(type, size)                                                                       \
	SHARED_ASSERT(sizeof(type) == (size), #type ": size changed; update both sides and the replay "      \
						    "images")

#endif
