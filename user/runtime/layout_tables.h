/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of CPython's structs by version and build flavour: no logic. The rows are
 * generated, a file for each machine: see scripts/generate-layouts.
 */
#ifndef PANOPY_RUNTIME_LAYOUT_TABLES_H
#define PANOPY_RUNTIME_LAYOUT_TABLES_H

#include <stddef.h>

#include "py_layout.h"

struct layout_row {
	u32 minor; /* 0x030d: 3.13 */
	/* sizeof() of the structs: how a target that tells its own is compared. */
	u32 interp_struct_sz;
	u32 tstate_struct_sz;
	u32 frame_struct_sz;
	u32 code_struct_sz;
	u32 unicode_struct_sz;
	/* Without version and the sizes to read (tstate_sz, frame_sz, code_sz). */
	struct py_layout layout;
};

extern const struct layout_row layout_rows[];
extern const size_t layout_row_cnt;

/* What is taken from a target's _Py_DebugOffsets (CPython 3.13+). */
enum debug_offset {
	DEBUG_OFFSET_RUNTIME_SZ,
	DEBUG_OFFSET_RUNTIME_FINALIZING,
	DEBUG_OFFSET_RUNTIME_INTERPRETERS_HEAD,
	DEBUG_OFFSET_INTERP_SZ,
	DEBUG_OFFSET_INTERP_ID,
	DEBUG_OFFSET_INTERP_NEXT,
	DEBUG_OFFSET_INTERP_THREADS_HEAD,
	DEBUG_OFFSET_INTERP_CODE_GENERATION, /* 3.14+ */
	DEBUG_OFFSET_TSTATE_SZ,
	DEBUG_OFFSET_TSTATE_PREV,
	DEBUG_OFFSET_TSTATE_NEXT,
	DEBUG_OFFSET_TSTATE_INTERP,
	DEBUG_OFFSET_TSTATE_STATUS,
	DEBUG_OFFSET_TSTATE_CURRENT_FRAME,
	DEBUG_OFFSET_TSTATE_BASE_FRAME, /* 3.15+ */
	DEBUG_OFFSET_TSTATE_THREAD_ID,
	DEBUG_OFFSET_TSTATE_NATIVE_THREAD_ID,
	DEBUG_OFFSET_TSTATE_DATASTACK_CHUNK,
	DEBUG_OFFSET_FRAME_SZ,
	DEBUG_OFFSET_FRAME_PREVIOUS,
	DEBUG_OFFSET_FRAME_EXECUTABLE,
	DEBUG_OFFSET_FRAME_INSTR,
	DEBUG_OFFSET_FRAME_OWNER,
	DEBUG_OFFSET_FRAME_TLBC_INDEX, /* 3.14+, free-threaded */
	DEBUG_OFFSET_CODE_SZ,
	DEBUG_OFFSET_CODE_FILENAME,
	DEBUG_OFFSET_CODE_NAME,
	DEBUG_OFFSET_CODE_QUALNAME,
	DEBUG_OFFSET_CODE_LINETABLE,
	DEBUG_OFFSET_CODE_FIRSTLINENO,
	DEBUG_OFFSET_CODE_CODE_ADAPTIVE,
	DEBUG_OFFSET_CODE_TLBC, /* 3.14+, free-threaded */
	DEBUG_OFFSET_OBJECT_TYPE,
	DEBUG_OFFSET_BYTES_SIZE,
	DEBUG_OFFSET_BYTES_DATA,
	DEBUG_OFFSET_UNICODE_SZ,
	DEBUG_OFFSET_UNICODE_STATE,
	DEBUG_OFFSET_UNICODE_LENGTH,
	DEBUG_OFFSET_UNICODE_ASCII_SZ,
	DEBUG_OFFSET_UNICODE_COMPACT_SZ, /* 3.15+ */
	DEBUG_OFFSET_COUNT
};

/* Where one minor version keeps each value inside the table; 0: it has no such value. */
struct debug_offsets_format {
	u32 minor;
	u32 table_sz;
	u16 positions[DEBUG_OFFSET_COUNT];
};

extern const struct debug_offsets_format debug_offsets_formats[];
extern const size_t debug_offsets_format_cnt;

#endif
