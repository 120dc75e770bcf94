/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* What one CPU keeps while it walks one sample. It lives in map memory, so that the walk can be split
 * into global functions, which the verifier checks once each and which take no pointers on Linux 5.10.
 */
#ifndef PANOPY_WALK_STATE_BPF_H
#define PANOPY_WALK_STATE_BPF_H

#include "fingerprint.h"
#include "loop_kind.bpf.h"
#include "process_config.h"
#include "sample.h"

/* A window covers one page of the data stack: 75 ns for a read of up to 256 bytes, 120 ns for a page
 * (Linux 6.18, x86-64). Not more: a chain that leaves the chunk or jumps far down after a frame has paid for all of
 * it. The span behind it lets masked offsets stay inside the buffer. */
enum {
	WALK_WINDOW_SZ = 4096,
#if LOOPS == LOOPS_MAY_GOTO
	/* Frames that one step takes from the window at most: its size / 88, the smallest frame, and some. */
	WALK_STEP_FRAMES = 48,
#else
	/* The verifier follows each of them on every path: 48 need three times the work of 16. */
	WALK_STEP_FRAMES = 16,
#endif
	/* Where in the buffer a frame lies that was read by itself. */
	WALK_LONE_FRAME_OFF = WALK_WINDOW_SZ + LIMIT_FRAME_SPAN,
	WALK_WINDOW_BUF_SZ = 2 * WALK_WINDOW_SZ + 2 * LIMIT_FRAME_SPAN,
	/* Rounds of the inner of two nested loops (loops.bpf.h). */
	LOOP_STRIDE = 64,
	CODE_SLOTS = 2048,
	BYTECODE_SLOTS = 256,
	/* General registers of the architecture that has more (aarch64: x0-x30). */
	WALK_REGISTERS = 31,
};

/* walk.stack_end where it is not known. */
#define WALK_STACK_UNKNOWN (~0ULL)

struct walk {
	struct py_layout layout;
	u32 scratch_id;	 /* of the scratch that this lies in */
	u32 ring_base;	 /* the ring of CPU n is number ring_base + n */
	u32 zero;	 /* always (loops.bpf.h) */
	u32 frame_limit; /* frames that this walk may read, at most LIMIT_SAMPLE_FRAMES */
	u32 flushed_cnt; /* frames of this stack that went before those in the scratch */
	u32 chunk_limit; /* parts that its walk may take (resume.bpf.h) */
	u64 epoch;
	u64 salt;     /* tells apart equal addresses of other processes in the code slots */
	u64 proof;    /* the interpreter's code counter at this sample */
	u64 sequence; /* number of this sample on this CPU */
	u64 runtime_addr;
	u64 task_id; /* what the thread state's id field must hold */
	u64 user_sp;
	u64 stack_end; /* the thread's C stack lies below */
	u64 code_mask; /* of an executable: without its tag bits */
	u64 tstate;
	u64 interp;
	u64 base_frame;
	u64 chunk; /* data stack chunk that ordinary frames must lie in now */
	u64 chunk_lo, chunk_hi;
	u64 chunk_head[3];
	u64 frame;		       /* the next frame to read; 0 when the walk ended */
	u64 fault_addr;		       /* where a page was missing, with SAMPLE_REASON_PAGE_FAULT */
	u64 last_ordinary;	       /* in the current chunk; later ones must lie below */
	u64 last_entry;		       /* on the C stack; later ones must lie above */
	u64 frame_type;		       /* up to 3.10: type of the frame objects */
	u64 mark;		       /* up to 3.10: a frame met before, to find cycles */
	u64 entry_previous;	       /* `previous` of the first entry seen */
	u64 outer_frame;	       /* 3.11, 3.12: current_frame of the outer cframe */
	u64 suspended;		       /* leaf generator frame whose `previous` is cleared already */
	u64 registers[WALK_REGISTERS]; /* of the thread, where it was interrupted in user mode */
	u32 entry_seen;
	u32 need_chunk; /* the frame is ordinary and not in the current chunk */
	u32 frame_cnt;
	u32 visit_cnt;
	u32 read_cnt; /* windows and lone frames */
	u32 new_code_cnt;
	u32 unread_cnt; /* frames whose fingerprint could not be read */
	u32 has_proof;
	u8 status;
	u8 reason;
	u8 ended;	 /* the chain ended as it must */
	u8 id_is_native; /* task_id is a tid, not a pthread address */
	u32 tgid;
	u32 id_seen;		      /* a search met the thread's id */
	u32 interp_cnt;		      /* interpreters seen by a search */
	s32 search_result;	      /* of its last step */
	u32 search_limit;	      /* steps of one search */
	u64 words[FINGERPRINT_WORDS]; /* first bytes of a text or table */
	u64 wanted_code;	      /* WALK_WANTS_CODE */
	u64 unread_code;	      /* the last one that could not be read, 0: none */
	u64 identity;		      /* hash of the frames so far */
	u64 window_base;	      /* where the bytes in scratch.window come from */
	u64 window_limit;	      /* addresses from there on at which a whole frame is in it, 0: none */
	u64 filename_addr;	      /* the file name digested last in this sample, 0: none */
	u64 filename_digest;
	u32 searched;	  /* the thread's state was searched for */
	u32 code_faulted; /* a page of a code object, or of its texts, was not there */
	/* Where the walk began, and the second one of walk_compare.bpf.h. */
	u32 naive_cnt;
	u64 first_frame;
	u64 naive_frame;
	u32 naive_differs;
};

/* What is known of the code object at one address, per CPU, so that nothing is torn. */
struct code_slot {
	u64 tag;      /* code address ^ salt */
	u64 proof;    /* the counter at which `fingerprint` was known to be right */
	u32 sequence; /* sample in which it was last read */
	u32 fingerprint;
};

/* The copy of the bytecode that the frames of one code object run (thread_bytecode.bpf.h). */
struct bytecode_slot {
	u64 code;
	u64 base;
	u32 sz;
	u32 index;
	u32 sequence; /* sample in which it was read */
	u32 reserved;
};

struct walk_scratch {
	struct walk walk;
	struct code_slot codes[CODE_SLOTS];
	struct bytecode_slot bytecodes[BYTECODE_SLOTS];
	/* One record, ready to be copied to the ring: header, then frames. */
	u8 sample[sizeof(struct sample_record) + LIMIT_SAMPLE_FRAMES * sizeof(struct py_frame)];
	u8 window[WALK_WINDOW_BUF_SZ];
	u8 tstate[2 * LIMIT_TSTATE_SPAN];
	u8 code[2 * LIMIT_CODE_SPAN];
	u8 text[256];
	/* One code record: header, then three names and a location table. */
	u8 code_record[sizeof(struct code_record) + 4 * LIMIT_KERNEL_NAME_SZ + 2 * LIMIT_KERNEL_LINETABLE_SZ];
};

#endif
