/* SPDX-License-Identifier: Apache-2.0 */
/* Where the bytecode lies that frames of free-threaded CPythons 3.14+ run: each thread has a copy of its own
 * (bpf/thread_bytecode.bpf.h). For stacks that are read late; what is found then proves nothing but that the
 * instruction lies in that copy now.
 */
#ifndef PANOPY_STACK_BYTECODE_COPY_H
#define PANOPY_STACK_BYTECODE_COPY_H

#include <stddef.h>

#include "base/remote_mem.h"
#include "py_layout.h"

/* An offset in no bytecode: such a frame has no line. */
#define BYTECODE_NOWHERE 0x7fffffff

struct bytecode_copy {
	u64 code;  /* the code object */
	u32 index; /* the copy that is asked for; 0: none beside the code object's own */
	u32 sz;	   /* found: bytes of one copy; 0: the code object could not be read */
	u64 base;  /* found: where the copy begins; 0: there is none */
};

struct bytecode_reader;

int bytecode_reader_new(struct bytecode_reader **ret_reader);
void bytecode_reader_free(struct bytecode_reader *reader);

/* Fills sz and base of each; what cannot be read, and all past the first 16,384, stay 0. The errors of
 * remote_mem_read_batch(). */
int bytecode_reader_find(struct bytecode_reader *reader, struct remote_mem *mem,
			 const struct py_layout *layout, struct bytecode_copy *copies, size_t cnt);

/* Bytes from the first instruction, or BYTECODE_NOWHERE. */
s32 bytecode_copy_offset(const struct bytecode_copy *copy, const struct py_layout *layout, u64 instr);

#endif
