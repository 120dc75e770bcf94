/* SPDX-License-Identifier: Apache-2.0 */
/* How to read one build of CPython: offsets and traits, as one plain value.
 *
 * Filled and validated once by user/runtime (from the target's _Py_DebugOffsets, CPython 3.13+, and
 * from generated tables), then used without further checks by the kernel walker and by user space.
 * The kernel masks every offset to its span (shared_limits.h), so a wrong one cannot read outside
 * the scratch buffers; it would only yield samples that fail the walk's own checks.
 *
 * All offsets are in bytes. A field that a version does not have is 0 and its trait is not set.
 */
#ifndef PANOPY_PY_LAYOUT_H
#define PANOPY_PY_LAYOUT_H

#include "shared_types.h"

enum py_trait {
	/* 3.11, 3.12: the current frame hangs on tstate->cframe, a struct on the C stack. */
	PY_TRAIT_CFRAME = 1u << 0,
	/* 3.11: frames carry is_entry; there are no entry frames of their own. */
	PY_TRAIT_IS_ENTRY = 1u << 1,
	/* 3.12+: frames whose owner is at least `owner_entry` are entry frames, never shown. */
	PY_TRAIT_OWNER_ENTRY = 1u << 2,
	/* 3.14+: executables are tagged pointers (_PyStackRef), low two bits. */
	PY_TRAIT_TAGGED_EXECUTABLE = 1u << 3,
	/* 3.15+: every chain ends at tstate->base_frame. */
	PY_TRAIT_BASE_FRAME = 1u << 4,
	/* 3.12+: tstate->_status.bound_gilstate names the thread's current state. */
	PY_TRAIT_BOUND_GILSTATE = 1u << 5,
	/* 3.12: co_version tells code objects apart, for it is never used twice. From 3.13 on each interpreter counts its
	 * own, and the next one at its place begins anew: their contents do, as up to 3.11. */
	PY_TRAIT_CODE_VERSION = 1u << 7,
	/* 3.14+: interp_code_proof is _code_object_generation, 64 bits: equal means none was freed. */
	PY_TRAIT_PROOF_GENERATION = 1u << 8,
	/* 3.13: interp_code_proof is func_state.next_version, 32 bits: equal and not 0 means none was
	 * made. */
	PY_TRAIT_PROOF_NEXT_VERSION = 1u << 9,
	/* Free-threaded build (--disable-gil). */
	PY_TRAIT_FREE_THREADED = 1u << 10,
	/* Py_DEBUG build. */
	PY_TRAIT_DEBUG = 1u << 11,
	/* 3.14+, free-threaded: PyASCIIObject.state has a byte for `interned` (unicode_state.h). */
	PY_TRAIT_INTERNED_BYTE = 1u << 12,
	/* 3.13+: the only code object in the interpreter's image is the shim under an inlined __init__. */
	PY_TRAIT_STATIC_SHIM = 1u << 13,
	/* up to 3.10: frames are objects (PyFrameObject): `previous` is f_back, `executable` f_code, `instr`
	 * f_lasti, a signed offset of 32 bits, and `owner` f_gen, the generator or NULL. */
	PY_TRAIT_FRAME_OBJECT = 1u << 16,
	/* 3.10: f_lasti counts code units of two bytes. */
	PY_TRAIT_LASTI_UNITS = 1u << 17,
	/* up to 3.9: lines by co_lnotab. */
	PY_TRAIT_LNOTAB = 1u << 18,
	/* 3.10: lines by the ranges of PEP 626. */
	PY_TRAIT_LINE_RANGES = 1u << 19,
};

struct py_layout {
	u32 version; /* PY_VERSION_HEX of the target */
	u32 traits;  /* enum py_trait */

	/* _PyRuntimeState; in 3.6, which has none, relative to process_config.runtime_addr all the same */
	u32 runtime_finalizing;	       /* PyThreadState *; not NULL once finalisation began */
	u32 runtime_interpreters_head; /* PyInterpreterState * */
	u32 runtime_gilstate_current;  /* up to 3.11: gilstate.tstate_current */

	/* PyInterpreterState */
	u32 interp_next;
	u32 interp_threads_head;
	u32 interp_code_proof; /* see PY_TRAIT_PROOF_* */
	u32 interp_id;	       /* 3.13+: never used twice; what a proof is of */

	/* PyThreadState; all below LIMIT_TSTATE_SPAN */
	u16 tstate_prev;
	u16 tstate_next;
	u16 tstate_interp;
	u16 tstate_status; /* 32 bits of flags, bound_gilstate is bit 3 (3.12+) */
	u16 tstate_frame;  /* cframe (PY_TRAIT_CFRAME) or current_frame */
	u16 tstate_base_frame;
	u16 tstate_thread_id;	     /* pthread_self() */
	u16 tstate_native_thread_id; /* gettid() in the process's pid namespace; 3.11+ */
	u16 tstate_datastack_chunk;
	u16 tstate_datastack_top;
	u16 tstate_sz; /* bytes to read to cover all of the above */

	/* _PyCFrame */
	u16 cframe_current_frame;
	u16 cframe_previous;

	/* _PyStackChunk */
	u16 chunk_previous;
	u16 chunk_size;
	u16 chunk_top;
	u16 chunk_data;

	/* _PyInterpreterFrame or PyFrameObject; all below LIMIT_FRAME_SPAN */
	u8 frame_executable;
	u8 frame_previous;
	u8 frame_instr;
	u8 frame_owner;
	u8 frame_is_entry;
	u8 frame_tlbc_index; /* which copy of the bytecode `instr` lies in; with code_tlbc */
	u8 frame_sz;	     /* bytes to read to cover all of the above */
	u8 owner_entry;	     /* smallest owner that marks an entry frame */

	/* PyCodeObject; all below LIMIT_CODE_SPAN */
	u16 code_filename;
	u16 code_name;
	u16 code_qualname; /* up to 3.10: that of co_name */
	u16 code_linetable;
	u16 code_firstlineno;
	u16 code_version;
	u16 code_code_adaptive; /* offset of the first instruction */
	u16 code_sz;		/* bytes to read to cover all of the above */
	u16 code_tlbc;		/* the copies; free-threaded 3.14+, else 0 */

	/* PyASCIIObject, PyCompactUnicodeObject */
	u16 unicode_length;
	u16 unicode_hash;
	u16 unicode_state;
	u16 unicode_ascii_sz;	/* where the characters of an ASCII string begin */
	u16 unicode_compact_sz; /* and those of any other compact string */

	/* PyBytesObject */
	u16 bytes_size;
	u16 bytes_data;

	/* PyObject */
	u16 object_type;
};

SHARED_ASSERT_SIZE(struct py_layout, 112);

#endif
