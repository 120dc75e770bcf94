/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled to assembly by scripts/generate-layouts against the headers of one CPython: every EMIT leaves a
 * line "#FACT name value" there, so that nothing has to run (other architectures, other root file
 * systems).
 */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <stddef.h>

/* Where each version keeps its structs: in public headers in 3.6, in ever more internal ones later. */
#if PY_VERSION_HEX < 0x030b0000
#include <frameobject.h>
#endif
#if PY_VERSION_HEX >= 0x03090000
#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#elif PY_VERSION_HEX >= 0x03080000
#include "internal/pycore_pystate.h"
#elif PY_VERSION_HEX >= 0x03070000
#include "internal/pystate.h"
#endif
#if PY_VERSION_HEX >= 0x030b0000
#include "internal/pycore_code.h"
#include "internal/pycore_frame.h"
#endif
#if PY_VERSION_HEX >= 0x030e0000
#include "internal/pycore_interpframe.h"
#endif

#include "../include/cpython_facts.h"

#define EMIT(name, value) __asm__ volatile("\n#FACT " name " %c0\n" : : "i"((long)(value)))

#define EMIT_FIELD(name, type, member) EMIT(name, offsetof(type, member))

/* What the program takes for granted (cpython_facts.h): the generator stops where a version has it otherwise. */
#define EMIT_FACT(name, value, assumed)                                                                      \
	do {                                                                                                 \
		EMIT("is:" name, value);                                                                     \
		EMIT("assumed:" name, assumed);                                                              \
	} while (0)

/* Where in PyASCIIObject.state a bit field begins. */
#define EMIT_STATE_BIT(name, member)                                                                         \
	do {                                                                                                 \
		PyASCIIObject text;                                                                          \
		unsigned int word;                                                                           \
		__builtin_memset(&text, 0, sizeof(text));                                                    \
		text.state.member = 1;                                                                       \
		__builtin_memcpy(&word, &text.state, sizeof(word));                                          \
		EMIT(name, __builtin_ctz(word));                                                             \
	} while (0)

void emit_runtime(void)
{
	EMIT("version_hex", PY_VERSION_HEX);
	/* 3.6 has no such struct: its variables are found by their symbols. */
#if PY_VERSION_HEX >= 0x03090000
	EMIT_FIELD("runtime_finalizing", _PyRuntimeState, _finalizing);
#elif PY_VERSION_HEX >= 0x03070000
	EMIT_FIELD("runtime_finalizing", _PyRuntimeState, finalizing);
#endif
#if PY_VERSION_HEX >= 0x03070000
	EMIT_FIELD("runtime_interpreters_head", _PyRuntimeState, interpreters.head);
#endif
#if PY_VERSION_HEX >= 0x03070000 && PY_VERSION_HEX < 0x030c0000
	EMIT_FIELD("runtime_gilstate_current", _PyRuntimeState, gilstate.tstate_current);
#endif
	EMIT_FIELD("interp_next", PyInterpreterState, next);
#if PY_VERSION_HEX >= 0x030b0000
	EMIT_FIELD("interp_threads_head", PyInterpreterState, threads.head);
#else
	EMIT_FIELD("interp_threads_head", PyInterpreterState, tstate_head);
#endif
#if PY_VERSION_HEX >= 0x030e0000
	EMIT_FIELD("interp_code_proof", PyInterpreterState, _code_object_generation);
#elif PY_VERSION_HEX >= 0x030d0000
	EMIT_FIELD("interp_code_proof", PyInterpreterState, func_state.next_version);
#endif
#if PY_VERSION_HEX >= 0x030d0000
	EMIT_FIELD("interp_id", PyInterpreterState, id);
#endif
}

void emit_thread(void)
{
	EMIT_FIELD("tstate_prev", PyThreadState, prev);
	EMIT_FIELD("tstate_next", PyThreadState, next);
	EMIT_FIELD("tstate_interp", PyThreadState, interp);
#if PY_VERSION_HEX >= 0x030c0000
	EMIT_FIELD("tstate_status", PyThreadState, _status);
#endif
#if PY_VERSION_HEX < 0x030b0000
	EMIT_FIELD("tstate_frame", PyThreadState, frame);
#elif PY_VERSION_HEX < 0x030d0000
	EMIT_FIELD("tstate_frame", PyThreadState, cframe);
	EMIT_FIELD("cframe_current_frame", _PyCFrame, current_frame);
	EMIT_FIELD("cframe_previous", _PyCFrame, previous);
#else
	EMIT_FIELD("tstate_frame", PyThreadState, current_frame);
#endif
#if PY_VERSION_HEX >= 0x030f0000
	EMIT_FIELD("tstate_base_frame", PyThreadState, base_frame);
#endif
	EMIT_FIELD("tstate_thread_id", PyThreadState, thread_id);
#if PY_VERSION_HEX >= 0x030b0000
	EMIT_FIELD("tstate_native_thread_id", PyThreadState, native_thread_id);
	EMIT_FIELD("tstate_datastack_chunk", PyThreadState, datastack_chunk);
	EMIT_FIELD("tstate_datastack_top", PyThreadState, datastack_top);
	EMIT_FIELD("chunk_previous", _PyStackChunk, previous);
	EMIT_FIELD("chunk_size", _PyStackChunk, size);
	EMIT_FIELD("chunk_top", _PyStackChunk, top);
	EMIT_FIELD("chunk_data", _PyStackChunk, data);
#endif
}

#if PY_VERSION_HEX < 0x030b0000
void emit_frame(void)
{
	EMIT_FIELD("frame_executable", PyFrameObject, f_code);
	EMIT_FIELD("frame_instr", PyFrameObject, f_lasti);
	EMIT_FIELD("frame_previous", PyFrameObject, f_back);
	EMIT_FIELD("frame_owner", PyFrameObject, f_gen);
}
#else
void emit_frame(void)
{
#if PY_VERSION_HEX >= 0x030d0000
	EMIT_FIELD("frame_executable", _PyInterpreterFrame, f_executable);
	EMIT_FIELD("frame_instr", _PyInterpreterFrame, instr_ptr);
#else
	EMIT_FIELD("frame_executable", _PyInterpreterFrame, f_code);
	EMIT_FIELD("frame_instr", _PyInterpreterFrame, prev_instr);
#endif
	EMIT_FIELD("frame_previous", _PyInterpreterFrame, previous);
	EMIT_FIELD("frame_owner", _PyInterpreterFrame, owner);
#if defined(Py_GIL_DISABLED) && PY_VERSION_HEX >= 0x030e0000
	EMIT_FIELD("frame_tlbc_index", _PyInterpreterFrame, tlbc_index);
#endif
#if PY_VERSION_HEX < 0x030c0000
	EMIT_FIELD("frame_is_entry", _PyInterpreterFrame, is_entry);
#endif
#if PY_VERSION_HEX >= 0x030e0000
	EMIT("owner_entry", FRAME_OWNED_BY_INTERPRETER);
#elif PY_VERSION_HEX >= 0x030c0000
	EMIT("owner_entry", FRAME_OWNED_BY_CSTACK);
#endif
}
#endif

void emit_objects(void)
{
	EMIT_FIELD("code_filename", PyCodeObject, co_filename);
	EMIT_FIELD("code_name", PyCodeObject, co_name);
#if PY_VERSION_HEX >= 0x030b0000
	EMIT_FIELD("code_qualname", PyCodeObject, co_qualname);
#else
	EMIT_FIELD("code_qualname", PyCodeObject, co_name); /* the best there is */
#endif
#if PY_VERSION_HEX >= 0x030a0000
	EMIT_FIELD("code_linetable", PyCodeObject, co_linetable);
#else
	EMIT_FIELD("code_linetable", PyCodeObject, co_lnotab);
#endif
	EMIT_FIELD("code_firstlineno", PyCodeObject, co_firstlineno);
#if PY_VERSION_HEX >= 0x030c0000
	EMIT_FIELD("code_version", PyCodeObject, co_version);
#endif
#if PY_VERSION_HEX >= 0x030b0000
	EMIT_FIELD("code_code_adaptive", PyCodeObject, co_code_adaptive);
#endif
#if defined(Py_GIL_DISABLED) && PY_VERSION_HEX >= 0x030e0000
	EMIT_FIELD("code_tlbc", PyCodeObject, co_tlbc);
#endif
	EMIT_FIELD("unicode_length", PyASCIIObject, length);
	EMIT_FIELD("unicode_hash", PyASCIIObject, hash);
	EMIT_FIELD("unicode_state", PyASCIIObject, state);
	EMIT_STATE_BIT("state:kind", kind);
	EMIT_STATE_BIT("state:compact", compact);
	EMIT_STATE_BIT("state:ascii", ascii);
	EMIT("unicode_ascii_sz", sizeof(PyASCIIObject));
	EMIT("unicode_compact_sz", sizeof(PyCompactUnicodeObject));
	EMIT_FIELD("bytes_size", PyVarObject, ob_size);
	EMIT_FIELD("bytes_data", PyBytesObject, ob_sval);
	EMIT_FIELD("object_type", PyObject, ob_type);
}

/* Compared with what the target's own table says (3.13+). */
void emit_struct_sizes(void)
{
#if PY_VERSION_HEX >= 0x03070000
	EMIT("runtime_struct_sz", sizeof(_PyRuntimeState));
#endif
	EMIT("interp_struct_sz", sizeof(PyInterpreterState));
	EMIT("tstate_struct_sz", sizeof(PyThreadState));
#if PY_VERSION_HEX >= 0x030b0000
	EMIT("frame_struct_sz", sizeof(_PyInterpreterFrame));
#else
	EMIT("frame_struct_sz", sizeof(PyFrameObject));
#endif
	EMIT("code_struct_sz", sizeof(PyCodeObject));
	EMIT("unicode_struct_sz", sizeof(PyUnicodeObject));
}

void emit_facts_of_frames(void)
{
#if PY_VERSION_HEX >= 0x030b0000
	EMIT_FACT("FRAME_OWNED_BY_THREAD", FRAME_OWNED_BY_THREAD, PY_OWNER_THREAD);
	EMIT_FACT("FRAME_OWNED_BY_GENERATOR", FRAME_OWNED_BY_GENERATOR, PY_OWNER_GENERATOR);
	EMIT_FACT("PyFrameObject.f_frame", offsetof(PyFrameObject, f_frame),
		  offsetof(PyVarObject, ob_size) + PY_F_FRAME_BEHIND_SIZE);
	/* The head of a chunk is read as one, in this order. */
	EMIT_FACT("_PyStackChunk.previous", offsetof(_PyStackChunk, previous), 0);
	EMIT_FACT("_PyStackChunk.size", offsetof(_PyStackChunk, size), 8);
	EMIT_FACT("_PyStackChunk.top", offsetof(_PyStackChunk, top), 16);
#endif
#if PY_VERSION_HEX >= 0x030d0000
	EMIT_FACT("_PyInterpreterFrame.frame_obj", offsetof(_PyInterpreterFrame, frame_obj),
		  offsetof(_PyInterpreterFrame, instr_ptr) - PY_FRAME_OBJ_BEFORE_INSTR);
#elif PY_VERSION_HEX >= 0x030c0000
	EMIT_FACT("_PyInterpreterFrame.frame_obj", offsetof(_PyInterpreterFrame, frame_obj),
		  offsetof(_PyInterpreterFrame, prev_instr) - PY_FRAME_OBJ_BEFORE_INSTR);
	EMIT_FACT("_PyInterpreterFrame.stacktop", offsetof(_PyInterpreterFrame, stacktop),
		  offsetof(_PyInterpreterFrame, prev_instr) + PY_STACKTOP_BEHIND_INSTR);
	EMIT_FACT("_PyInterpreterFrame.localsplus", offsetof(_PyInterpreterFrame, localsplus),
		  (offsetof(_PyInterpreterFrame, owner) + PY_WORD_SZ) & ~(PY_WORD_SZ - 1ul));
	EMIT_FACT("PyGenObject.gi_iframe", offsetof(PyGenObject, gi_iframe), PY_GENERATOR_HEAD_SZ);
#endif
#if PY_VERSION_HEX >= 0x030e0000
	/* Code objects are aligned: that a bit more is cleared does no harm. */
	EMIT_FACT("Py_TAG_BITS", Py_TAG_BITS | PY_EXECUTABLE_TAG_BITS, PY_EXECUTABLE_TAG_BITS);
#endif
}

void emit_facts(void)
{
#if PY_VERSION_HEX >= 0x030c0000
	PyThreadState state;
	unsigned int status;

	__builtin_memset(&state, 0, sizeof(state));
	state._status.bound_gilstate = 1;
	__builtin_memcpy(&status, &state._status, sizeof(status));
	EMIT_FACT("PyThreadState._status.bound_gilstate", status, PY_STATUS_BOUND_GILSTATE);
#endif
#if defined(Py_GIL_DISABLED) && PY_VERSION_HEX >= 0x030e0000
	EMIT_FACT("_PyCodeArray.entries", offsetof(_PyCodeArray, entries), PY_CODE_ARRAY_HEAD_SZ);
#endif
#if PY_VERSION_HEX < 0x030b0000
	EMIT_FACT("PyTypeObject.tp_name", offsetof(PyTypeObject, tp_name),
		  offsetof(PyObject, ob_type) + PY_TYPE_NAME_BEHIND_TYPE);
#endif
}

#if PY_VERSION_HEX >= 0x030d0000
#define EMIT_POSITION(name, member) EMIT("position:" name, offsetof(_Py_DebugOffsets, member))

/* Where each value stands in _Py_DebugOffsets itself. */
void emit_debug_offsets(void)
{
	EMIT("position:TABLE_SZ", sizeof(_Py_DebugOffsets));
	EMIT_POSITION("RUNTIME_SZ", runtime_state.size);
	EMIT_POSITION("RUNTIME_FINALIZING", runtime_state.finalizing);
	EMIT_POSITION("RUNTIME_INTERPRETERS_HEAD", runtime_state.interpreters_head);
	EMIT_POSITION("INTERP_SZ", interpreter_state.size);
	EMIT_POSITION("INTERP_ID", interpreter_state.id);
	EMIT_POSITION("INTERP_NEXT", interpreter_state.next);
	EMIT_POSITION("INTERP_THREADS_HEAD", interpreter_state.threads_head);
#if PY_VERSION_HEX >= 0x030e0000
	EMIT_POSITION("INTERP_CODE_GENERATION", interpreter_state.code_object_generation);
#endif
	EMIT_POSITION("TSTATE_SZ", thread_state.size);
	EMIT_POSITION("TSTATE_PREV", thread_state.prev);
	EMIT_POSITION("TSTATE_NEXT", thread_state.next);
	EMIT_POSITION("TSTATE_INTERP", thread_state.interp);
	EMIT_POSITION("TSTATE_STATUS", thread_state.status);
	EMIT_POSITION("TSTATE_CURRENT_FRAME", thread_state.current_frame);
#if PY_VERSION_HEX >= 0x030f0000
	EMIT_POSITION("TSTATE_BASE_FRAME", thread_state.base_frame);
#endif
	EMIT_POSITION("TSTATE_THREAD_ID", thread_state.thread_id);
	EMIT_POSITION("TSTATE_NATIVE_THREAD_ID", thread_state.native_thread_id);
	EMIT_POSITION("TSTATE_DATASTACK_CHUNK", thread_state.datastack_chunk);
	EMIT_POSITION("FRAME_SZ", interpreter_frame.size);
	EMIT_POSITION("FRAME_PREVIOUS", interpreter_frame.previous);
	EMIT_POSITION("FRAME_EXECUTABLE", interpreter_frame.executable);
	EMIT_POSITION("FRAME_INSTR", interpreter_frame.instr_ptr);
	EMIT_POSITION("FRAME_OWNER", interpreter_frame.owner);
#if PY_VERSION_HEX >= 0x030e0000
	EMIT_POSITION("FRAME_TLBC_INDEX", interpreter_frame.tlbc_index);
#endif
	EMIT_POSITION("CODE_SZ", code_object.size);
	EMIT_POSITION("CODE_FILENAME", code_object.filename);
	EMIT_POSITION("CODE_NAME", code_object.name);
	EMIT_POSITION("CODE_QUALNAME", code_object.qualname);
	EMIT_POSITION("CODE_LINETABLE", code_object.linetable);
	EMIT_POSITION("CODE_FIRSTLINENO", code_object.firstlineno);
	EMIT_POSITION("CODE_CODE_ADAPTIVE", code_object.co_code_adaptive);
#if PY_VERSION_HEX >= 0x030e0000
	EMIT_POSITION("CODE_TLBC", code_object.co_tlbc);
#endif
	EMIT_POSITION("OBJECT_TYPE", pyobject.ob_type);
	EMIT_POSITION("BYTES_SIZE", bytes_object.ob_size);
	EMIT_POSITION("BYTES_DATA", bytes_object.ob_sval);
	EMIT_POSITION("UNICODE_SZ", unicode_object.size);
	EMIT_POSITION("UNICODE_STATE", unicode_object.state);
	EMIT_POSITION("UNICODE_LENGTH", unicode_object.length);
	EMIT_POSITION("UNICODE_ASCII_SZ", unicode_object.asciiobject_size);
#if PY_VERSION_HEX >= 0x030f0000
	EMIT_POSITION("UNICODE_COMPACT_SZ", unicode_object.compactunicodeobject_size);
#endif
}
#endif
