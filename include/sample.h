/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the sample rings: one per sample, whole where its stack is new and short where it was sent
 * before, and one per code object not seen before.
 */
#ifndef PANOPY_SAMPLE_H
#define PANOPY_SAMPLE_H

#include "shared_limits.h"
#include "shared_types.h"

enum record_kind {
	RECORD_SAMPLE = 1,
	RECORD_CODE = 2,
	RECORD_REPEAT = 3,
	/* A struct sample_record: LIMIT_SAMPLE_FRAMES frames of a deeper stack, whose rest follows. */
	RECORD_CHUNK = 4,
};

struct record_header {
	u64 time_ns; /* CLOCK_MONOTONIC */
	u32 size;    /* of the whole record, this header included */
	u16 kind;    /* enum record_kind */
	u16 cpu;
};

enum sample_status {
	/* Every frame was read while the thread could not run, and every check of the walk passed. */
	SAMPLE_EXACT = 0,
	/* The top is exact, the rest was read later with proof that the thread had not run. */
	SAMPLE_COMPLETED = 1,
	/* The rest was read later without that proof. */
	SAMPLE_LATE = 2,
	/* Frames are missing at the root end; sample_reason says why. */
	SAMPLE_TRUNCATED = 3,
	/* No Python frames; sample_reason says why. */
	SAMPLE_NONE = 4,
	SAMPLE_STATUS_COUNT
};

enum sample_reason {
	SAMPLE_REASON_NONE = 0,
	/* truncated */
	SAMPLE_REASON_BUDGET = 1,	   /* deeper than the kernel's frame budget */
	SAMPLE_REASON_PAGE_FAULT = 2,	   /* a frame's page was not resident */
	SAMPLE_REASON_BAD_POINTER = 3,	   /* a frame lies where no frame of this thread can lie */
	SAMPLE_REASON_CYCLE = 4,	   /* frames not descending: the chain would not end */
	SAMPLE_REASON_MID_TRANSITION = 5,  /* interrupted while the interpreter relinked its frames */
	SAMPLE_REASON_FINALIZING = 6,	   /* the interpreter is shutting down */
	SAMPLE_REASON_AMBIGUOUS_STATE = 7, /* several thread states fit (3.11 with sub-interpreters) */
	/* none */
	SAMPLE_REASON_NO_FRAMES = 8,	    /* a Python thread that runs no Python frame */
	SAMPLE_REASON_NO_THREAD_STATE = 9,  /* a thread that Python does not know */
	SAMPLE_REASON_NOT_INITIALIZED = 10, /* the interpreter has not started yet */
	SAMPLE_REASON_IN_EXEC = 11,	    /* the image is being replaced or taken down */
	SAMPLE_REASON_STATE_FAULT = 12,	    /* the thread state could not be read */
	SAMPLE_REASON_THREAD_SCAN = 13,	    /* more thread states than one sample may look at */
	SAMPLE_REASON_COUNT
};

enum sample_flag {
	/* The tick could not read the whole stack; it is read when the thread returns to user mode, and comes
	 * in a record of its own with the same thread and ticket. `frames` are the leaf's few. */
	SAMPLE_AWAITS_RESUME = 1u << 0,
	/* No sample of its own: the stack of every sample of that thread that awaits this ticket. */
	SAMPLE_OF_RESUME = 1u << 1,
	/* With the former: it could not be read after all. */
	SAMPLE_RESUME_FAILED = 1u << 2,
};

/* A frame as the kernel saw it, leaf first. */
struct py_frame {
	u64 code;	 /* address of the code object, tag bits removed */
	s32 instr_off;	 /* bytes from the first instruction; negative before it (up to 3.12) */
	u32 fingerprint; /* co_version (3.12) or a hash of the contents; 0 when it could not be read */
};

struct sample_record {
	struct record_header hdr;
	u64 epoch;
	u32 tgid;
	u32 tid;
	u64 tstate_addr;  /* 0 when not found */
	u64 identity;	  /* of the stack; 0: it will never be referred to */
	u64 resume_frame; /* truncated: address of the first frame not read; else 0 */
	u32 frame_cnt;	  /* <= LIMIT_SAMPLE_FRAMES */
	u16 weight;	  /* periods that the thread ran and that the sample stands for: see tick.bpf.h */
	u8 status;	  /* enum sample_status */
	u8 reason;	  /* enum sample_reason */
	u32 ticket;	  /* SAMPLE_AWAITS_RESUME, SAMPLE_OF_RESUME */
	u16 chunk;	  /* RECORD_CHUNK: its number, from 0; else how many chunks came before */
	u8 flags;	  /* enum sample_flag */
	u8 reserved;
	char comm[LIMIT_COMM_SZ]; /* of the thread */
	struct py_frame frames[];
};

SHARED_ASSERT_SIZE(struct py_frame, 16);
SHARED_ASSERT_SIZE(struct sample_record, 88);

/* An exact sample, or the stack of completed ones, that was sent whole before. */
struct repeat_record {
	struct record_header hdr;
	u64 epoch;
	u32 tgid;
	u32 tid;
	u64 identity;
	u16 weight;
	u8 flags; /* SAMPLE_OF_RESUME or 0 */
	u8 reserved;
	u32 ticket;
	char comm[LIMIT_COMM_SZ];
};

SHARED_ASSERT_SIZE(struct repeat_record, 64);

enum code_record_flag {
	/* The part did not fit or could not be read: its bytes are missing or cut. */
	CODE_RECORD_NAME_CUT = 1u << 0,
	CODE_RECORD_QUALNAME_CUT = 1u << 1,
	CODE_RECORD_FILENAME_CUT = 1u << 2,
	CODE_RECORD_LINETABLE_CUT = 1u << 3,
};

enum code_part {
	CODE_PART_NAME = 0,
	CODE_PART_QUALNAME = 1,
	CODE_PART_FILENAME = 2,
	CODE_PART_LINETABLE = 3,
	CODE_PART_COUNT
};

/* The raw bytes of a code object's names, copied while the object was on a live frame. */
struct code_record {
	struct record_header hdr;
	u64 epoch;
	u64 code;
	u32 tgid;
	u32 fingerprint;
	s32 firstlineno;
	u32 flags;		 /* enum code_record_flag */
	u32 sz[CODE_PART_COUNT]; /* bytes of each part that follow, in this order */
	/* Bytes of one character: 1 (ASCII or Latin-1), 2 or 4. The linetable's is 1. */
	u8 char_sz[CODE_PART_COUNT];
	u32 reserved;
	u8 bytes[];
};

SHARED_ASSERT_SIZE(struct code_record, 72);

#endif
