/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Where the bytecode begins that a frame of a free-threaded CPython 3.14+ runs.
 *
 * There every thread specialises a copy of its own: co_tlbc is an array {size, entries[]} of the copies of one
 * code object, and a frame's tlbc_index says which one its instr_ptr points into; entry 0 is the code
 * object's own (Objects/codeobject.c, Include/internal/pycore_interpframe.h). It is read here, in the sample,
 * because this is the only moment at which it is known to be right:
 *   - The code object is on a live frame, and the interrupted thread cannot drop that reference meanwhile.
 *   - Its copy stays: only copies of indices that no thread has are freed (_Py_ClearUnusedTLBC).
 *   - The array may grow while it is read, for other threads run on. The old one is freed once every thread
 *     has passed a quiescent state (_PyMem_FreeDelayed), which an attached thread does not in an interrupt;
 *     a detached one may, so what is read of an array proves nothing yet.
 *   - instr_ptr inside the copy proves it: allocations do not overlap, so it lies in one copy only.
 *
 * RESUME moves a frame to the thread's copy by two stores, tlbc_index before instr_ptr (_LOAD_BYTECODE in
 * Python/bytecodes.c), so between them instr_ptr still lies in the code object's own, which is looked at
 * first. Only the leaf can be there. A leaf generator that another thread ran before may point into that
 * one's copy: nothing is known of it then.
 */
#ifndef PANOPY_THREAD_BYTECODE_BPF_H
#define PANOPY_THREAD_BYTECODE_BPF_H

#include "cpython_facts.h"
#include "loops.bpf.h"
#include "scratch.bpf.h"
#include "user_mem.bpf.h"

enum {
	BYTECODE_CODE_MASK = LIMIT_CODE_SPAN - 1,
	/* What py_frame.instr_off can hold. */
	BYTECODE_MAX_SZ = 0x7fffffff,
	BYTECODE_UNIT_SZ = 2,
};

static __always_inline struct bytecode_slot *bytecode_slot_of(struct walk_scratch *s, u64 code)
{
	return &s->bytecodes[(u32)((code * 0x9e3779b97f4a7c15ULL) >> 56) & (BYTECODE_SLOTS - 1)];
}

/* Whether the slot was filled in this sample and the instruction lies in its copy. */
static __always_inline int bytecode_slot_holds(const struct walk_scratch *s, const struct bytecode_slot *slot,
					       u64 code, u64 instr, u32 index)
{
	return slot->code == code && slot->sequence == (u32)s->walk.sequence && slot->index == index &&
	       instr - slot->base < slot->sz;
}

static __always_inline u64 bytecode_code_u64(const struct walk_scratch *s, u16 off)
{
	return *(const u64 *)(s->code + (off & BYTECODE_CODE_MASK));
}

/* Entry `index` of the array of copies; 0: there is none, or it could not be read. */
static __always_inline u64 bytecode_copy(u64 copies, u32 index)
{
	u64 cnt = 0, copy = 0;

	if (!copies || user_read(&cnt, sizeof(cnt), copies) || index >= cnt)
		return 0;
	if (user_read(&copy, sizeof(copy), copies + PY_CODE_ARRAY_HEAD_SZ + (u64)index * sizeof(copy)))
		return 0;
	return copy;
}

/* Finds the copy that the instruction lies in, and fills the code object's slot. 0, or enum sample_reason. */
__noinline int bytecode_find(u32 id, u64 code, u64 instr, u32 index)
{
	struct walk_scratch *s = scratch_get(id);
	struct bytecode_slot *slot;
	u64 base, sz;

	if (!s)
		return SAMPLE_REASON_BAD_POINTER;
	if (user_read(s->code, s->walk.layout.code_sz & BYTECODE_CODE_MASK, code)) {
		s->walk.fault_addr = code;
		return SAMPLE_REASON_PAGE_FAULT;
	}
	/* ob_size counts code units, and lies where that of bytes does. */
	sz = bytecode_code_u64(s, s->walk.layout.bytes_size) * BYTECODE_UNIT_SZ;
	if (sz > BYTECODE_MAX_SZ)
		return SAMPLE_REASON_BAD_POINTER;
	base = code + s->walk.layout.code_code_adaptive;
	if (instr - base >= sz)
		base = bytecode_copy(bytecode_code_u64(s, s->walk.layout.code_tlbc), index);
	if (!base || instr - base >= sz)
		return SAMPLE_REASON_MID_TRANSITION;
	slot = bytecode_slot_of(s, code);
	slot->code = code;
	slot->base = base;
	slot->sz = sz;
	slot->index = index;
	slot->sequence = (u32)s->walk.sequence;
	return 0;
}

#endif
