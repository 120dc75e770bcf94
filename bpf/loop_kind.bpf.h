/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* How the sampler loops, by what the kernel offers; the build makes one object of each kind
 * and user space loads the first that the kernel takes, best first:
 *
 *   LOOPS_MAY_GOTO  Linux 6.9:  checked until its states repeat; the kernel ends it after 8 million rounds
 *   LOOPS_CALLBACK  Linux 5.17: bpf_loop() calls a body that is checked once
 *   LOOPS_BOUNDED   Linux 5.10: every round is checked, with at most 8,192 branches open at a time, so long
 *                   loops are nested
 */
#ifndef PANOPY_LOOP_KIND_BPF_H
#define PANOPY_LOOP_KIND_BPF_H

#define LOOPS_BOUNDED  1
#define LOOPS_CALLBACK 2
#define LOOPS_MAY_GOTO 3

#ifndef LOOPS
#define LOOPS LOOPS_BOUNDED
#endif

#endif
