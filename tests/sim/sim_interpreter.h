/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated CPython: threads that call, return, step from line to line, make, resume and suspend
 * generators, switch between greenlets, make and free code objects, all at addresses that are used again.
 * It keeps its state in simulated memory as sim_rules.h says, in the structs of one real version, and knows
 * its own stacks (the truth) beside.
 */
#ifndef PANOPY_SIM_INTERPRETER_H
#define PANOPY_SIM_INTERPRETER_H

#include "py_layout.h"
#include "sim_memory.h"

enum {
	SIM_THREADS = 4,
	SIM_GREENLETS = 3, /* of one thread */
	SIM_DEPTH_MAX = 400,
	SIM_CODES = 48,
	SIM_GENERATORS = 64,
	SIM_CHUNKS = 96,
	SIM_CHUNK_SZ = 16384,
	SIM_LINES = 12, /* of one code object */
	SIM_UNIT = 4,	/* bytes from one line's instruction to the next */
	SIM_CODE_NONE = 0,
	SIM_COPIES = 256, /* room for copies of bytecode */
};

/* A code object that is or was; its serial number is in its name. */
struct sim_code {
	u64 addr;
	u32 serial;		 /* SIM_CODE_NONE: never made */
	u32 users;		 /* frames and generators; not freed while there are any */
	u64 copies[SIM_THREADS]; /* free-threaded 3.14+: each thread's bytecode; 0: none */
	u32 copies_sz;		 /* entries of the array that the code object points at */
	bool is_alive;
};

enum sim_frame_kind { SIM_FRAME_ORDINARY, SIM_FRAME_GENERATOR, SIM_FRAME_ENTRY };

struct sim_frame {
	enum sim_frame_kind kind;
	u64 addr;
	size_t sz;     /* ordinary: on the data stack */
	u32 code;      /* index */
	u32 generator; /* index */
	u32 line;      /* of the instruction that runs, 0 to SIM_LINES - 1 */
	u32 index;     /* free-threaded 3.14+: the copy of the bytecode that it runs; 0: the code's own */
	bool is_entry; /* 3.11; and where an evaluation of 3.11 or 3.12 begins */
	u64 sp_before; /* of the C stack, before this evaluation */
	u64 cframe;    /* 3.11, 3.12: that of this evaluation */
};

struct sim_generator {
	u64 addr;
	u32 code;
	u32 line;
	u32 index; /* of the bytecode that it ran last */
	bool is_alive;
	bool is_running;
};

/* A stack: a thread's own, or a greenlet's. Root first. */
struct sim_stack {
	struct sim_frame frames[SIM_DEPTH_MAX];
	u32 cnt;
	u64 chunk;
	u64 top; /* datastack_top */
	u64 sp;
	u64 cframe;
};

struct sim_thread {
	bool is_alive;
	u32 tid;
	u64 tstate;
	u64 thread_id;
	struct sim_stack stacks[SIM_GREENLETS];
	u32 current;
};

struct sim_interpreter {
	struct sim_memory *memory;
	const struct py_layout *layout;
	struct sim_random *random;
	u64 runtime;
	u64 interp;
	struct sim_thread threads[SIM_THREADS];
	struct sim_code codes[SIM_CODES];
	struct sim_generator generators[SIM_GENERATORS];
	bool chunk_is_used[SIM_CHUNKS];
	u32 next_serial;
	u32 next_version;
	u64 proof;
	u32 next_tid;
	bool copy_is_used[SIM_COPIES];
};

/* One frame of the truth. */
struct sim_truth {
	u64 addr;
	u64 code;
	u32 serial;
	u32 line;
};

/* Makes a process of that version; all of the memory is its own. `serial`: of its first code object. */
void sim_start(struct sim_interpreter *sim, struct sim_memory *memory, const struct py_layout *layout,
	       struct sim_random *random, u32 serial);
/* Lets a random thread do one thing. */
void sim_step(struct sim_interpreter *sim);

/* Leaf first, without entry frames; returns how many. */
size_t sim_truth_of(const struct sim_interpreter *sim, const struct sim_thread *thread,
		    struct sim_truth ret_frames[SIM_DEPTH_MAX]);
/* Whether the frame lies in the heap. */
bool sim_is_generator(u64 frame_addr);
/* The code object that is or was last at the address; SIM_CODE_NONE. */
u32 sim_serial_at(const struct sim_interpreter *sim, u64 code);
/* The name and the line that a frame of that code object must get. */
void sim_name(u32 serial, char *ret_name, size_t sz);
s32 sim_line(u32 serial, u32 line);
/* Where the instruction of a frame with that index lies in its bytecode; -1: in none that it can run. */
s64 sim_bytecode_off(const struct sim_interpreter *sim, u64 code, u64 instr, u32 index);
/* Bytes from the first instruction, as the frame of that version stores it. */
s32 sim_instr_off(const struct py_layout *layout, u32 line);

#endif
