/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Loops that the verifier can follow, in each of the ways of loop_kind.bpf.h. */
#ifndef PANOPY_LOOPS_BPF_H
#define PANOPY_LOOPS_BPF_H

#include <bpf/bpf_helpers.h>

#include "scratch.bpf.h"

/* Hides a value from compiler and verifier: what follows must hold for any value. */
#define opaque(value) asm volatile("" : "+r"(value))

/* A loop: for (u32 i = loop_zero(s); loop_goes_on(i, max); i++). A counter whose values the verifier knew
 * would make each round a new state: what it loads from a map it does not know, and the bound is checked on
 * the counter itself, so that what it learns there holds for the next round. */
#if LOOPS == LOOPS_MAY_GOTO
#define loop_zero(s) ((s)->walk.zero)
/* BPF_JMP | BPF_JCOND with source BPF_MAY_GOTO (Linux 6.9, include/uapi/linux/bpf.h): clang 14 does not
 * know the instruction, so it is spelled out. The offset counts instructions from the next one. */
#define loop_may_go_on()                                                                                     \
	({                                                                                                   \
		__label__ out, end;                                                                          \
		int going = 1;                                                                               \
		asm volatile goto("0: .byte 0xe5, 0\n"                                                       \
				  ".long ((%l[out] - 0b - 8) / 8) & 0xffff\n"                                \
				  ".short 0"                                                                 \
				  :                                                                          \
				  :                                                                          \
				  :                                                                          \
				  : out);                                                                    \
		goto end;                                                                                    \
	out:                                                                                                 \
		going = 0;                                                                                   \
	end:;                                                                                                \
		going;                                                                                       \
	})
#define loop_goes_on(i, max)                                                                                 \
	({                                                                                                   \
		opaque(i);                                                                                   \
		(i) < (max) && loop_may_go_on();                                                             \
	})
#else
#define loop_zero(s)	     0
#define loop_goes_on(i, max) ((i) < (max))
#endif

/* Defines NAME(s), which calls STEP(s, i) for i from 0 to MAX - 1 until it returns other than 0.
 * MAX is a multiple of LOOP_STRIDE. */
#if LOOPS == LOOPS_MAY_GOTO
#define DEFINE_LOOP(NAME, STEP, MAX)                                                                         \
	static __always_inline void NAME(struct walk_scratch *s)                                             \
	{                                                                                                    \
		for (u32 i = loop_zero(s); loop_goes_on(i, MAX); i++) {                                      \
			if (STEP(s, i))                                                                      \
				break;                                                                       \
		}                                                                                            \
	}
#elif LOOPS == LOOPS_CALLBACK
#define DEFINE_LOOP(NAME, STEP, MAX)                                                                         \
	static long NAME##_round(u32 i, void *id)                                                            \
	{                                                                                                    \
		struct walk_scratch *s = scratch_get(*(const u32 *)id);                                      \
                                                                                                             \
		return !s || STEP(s, i);                                                                     \
	}                                                                                                    \
	static __always_inline void NAME(struct walk_scratch *s)                                             \
	{                                                                                                    \
		u32 id = s->walk.scratch_id;                                                                 \
                                                                                                             \
		bpf_loop(MAX, NAME##_round, &id, 0);                                                         \
	}
#else
#define DEFINE_LOOP(NAME, STEP, MAX)                                                                         \
	__noinline int NAME##_stride(u32 id, u32 first)                                                      \
	{                                                                                                    \
		struct walk_scratch *s = scratch_get(id);                                                    \
                                                                                                             \
		opaque(first); /* where STEP does not look at it, clang 21 passes nothing */                 \
		if (!s)                                                                                      \
			return 1;                                                                            \
		for (u32 i = 0; i < LOOP_STRIDE; i++) {                                                      \
			if (STEP(s, first + i))                                                              \
				return 1;                                                                    \
		}                                                                                            \
		return 0;                                                                                    \
	}                                                                                                    \
	static __always_inline void NAME(struct walk_scratch *s)                                             \
	{                                                                                                    \
		for (u32 i = 0; i < (MAX); i += LOOP_STRIDE) {                                               \
			if (NAME##_stride(s->walk.scratch_id, i))                                            \
				break;                                                                       \
		}                                                                                            \
	}
#endif

#endif
