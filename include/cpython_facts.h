/* SPDX-License-Identifier: Apache-2.0 */
/* What is taken for granted of CPython: no table of offsets gives it, and it has been the same in every version that
 * has it. scripts/generate-layouts-probe.c holds each against the headers; where one has another value it must become
 * a field of py_layout or a trait.
 */
#ifndef PANOPY_CPYTHON_FACTS_H
#define PANOPY_CPYTHON_FACTS_H

enum cpython_fact {
	/* PyThreadState._status, 3.12+ */
	PY_STATUS_BOUND_GILSTATE = 1u << 3,

	/* _PyInterpreterFrame.owner, 3.11+ */
	PY_OWNER_THREAD = 0,
	PY_OWNER_GENERATOR = 1,
	/* In front of the instruction pointer lies frame_obj, 3.12+; behind it `int stacktop`, 3.12. */
	PY_FRAME_OBJ_BEFORE_INSTR = 8,
	PY_STACKTOP_BEHIND_INSTR = 8,
	/* localsplus is the first word behind owner, 3.12. */
	PY_WORD_SZ = 8,
	/* PyFrameObject.f_frame lies behind f_back, which is where an ob_size would be; 3.11+ */
	PY_F_FRAME_BEHIND_SIZE = 8,
	/* _PyStackRef: the bits that are not the pointer's, or more of those that a code object's has not; 3.14+ */
	PY_EXECUTABLE_TAG_BITS = 3,
	/* The frame of a generator lies in its object; 3.12 */
	PY_GENERATOR_HEAD_SZ = 72,
	/* _PyCodeArray: {Py_ssize_t size; char *entries[]}, free-threaded 3.14+ */
	PY_CODE_ARRAY_HEAD_SZ = 8,

	/* PyTypeObject.tp_name, behind ob_type; up to 3.12 */
	PY_TYPE_NAME_BEHIND_TYPE = 16,
};

#endif
