/* SPDX-License-Identifier: Apache-2.0 */
/* _Py_DebugOffsets, the table at the start of _PyRuntime by which CPython 3.13+ describes its own structs.
 * It comes from a file or a process that may be hostile: everything is checked here, once.
 */
#ifndef PANOPY_RUNTIME_DEBUG_OFFSETS_H
#define PANOPY_RUNTIME_DEBUG_OFFSETS_H

#include <stdbool.h>
#include <stddef.h>

#include "py_layout.h"

enum {
	/* Cookie, version, free_threaded: the same in every version. */
	DEBUG_OFFSETS_HEADER_SZ = 24,
	/* Enough for the table of every known version (1,000 bytes in 3.15). */
	DEBUG_OFFSETS_MAX_SZ = 4096,
};

struct debug_offsets {
	u32 version; /* PY_VERSION_HEX */
	bool free_threaded;
	/* sizeof() of the target's structs. */
	u32 interp_struct_sz;
	u32 tstate_struct_sz;
	u32 frame_struct_sz;
	u32 code_struct_sz;
	u32 unicode_struct_sz;
	/* What the table tells; every other field is 0, traits too. */
	struct py_layout layout;
};

/* Only the part that all versions share (version, free_threaded). -ENOENT: no such table here. */
int decode_debug_offsets_header(const void *bytes, size_t sz, struct debug_offsets *ret_offsets);

/* The whole. -ENOENT: no such table; -ENOTSUP: a version whose table is not known; -EINVAL: a value cannot be
 * right. */
int decode_debug_offsets(const void *bytes, size_t sz, struct debug_offsets *ret_offsets);

/* Does `layout` (a generated row) say the same as the target of thread states, frames and objects? */
bool debug_offsets_agree(const struct debug_offsets *offsets, const struct py_layout *layout);

#endif
