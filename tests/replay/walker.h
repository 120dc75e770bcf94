/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF walker (the very headers of bpf/) as a function of this process, over any memory that a
 * reader gives it. One at a time: its scratches are file-scope, one for each CPU as in the kernel.
 */
#ifndef PANOPY_REPLAY_WALKER_H
#define PANOPY_REPLAY_WALKER_H

#include <stddef.h>

#include "py_layout.h"
#include "sample.h"

enum {
	WALKER_REGISTERS = 31,
	WALKER_CODES = LIMIT_NEW_CODES,
	WALKER_CPUS = 4,
};

/* 0 or -errno; all bytes or none. */
typedef int (*walker_read_fn)(void *ctx, u64 addr, void *ret_buf, size_t sz);

struct walker_input {
	const struct py_layout *layout;
	u64 runtime_addr;
	u64 task_id;
	int id_is_native;
	u64 user_sp;
	/* Tells processes apart in the walker's tables; runs with one epoch share what they cached. */
	u64 epoch;
	u32 cpu;	   /* below WALKER_CPUS: each has a scratch of its own */
	u32 kernel_frames; /* 0: LIMIT_SAMPLE_FRAMES */
	u32 compare;	   /* sampler_config.compare */
	u64 tstate_hint;   /* 0: search */
	int keep_slot;	   /* what the search before found stands */
	u64 time_ns;
	const u64 *registers; /* WALKER_REGISTERS; NULL: interrupted in the kernel */
	walker_read_fn read;
	void *ctx;
};

/* Valid until the next walk. */
struct walker_output {
	enum sample_status status;
	enum sample_reason reason;
	u64 tstate;
	u64 resume_frame;
	u64 identity;
	u32 frame_cnt;
	u32 visit_cnt;
	const struct py_frame *frames;
	size_t read_cnt;
	size_t fingerprint_reads;
	u64 compared, compared_different;
	size_t code_cnt;
	const struct code_record *codes[WALKER_CODES];
};

/* Forgets what earlier walks left behind. */
void walker_reset(void);
void walker_walk(const struct walker_input *input, struct walker_output *ret_output);

#endif
