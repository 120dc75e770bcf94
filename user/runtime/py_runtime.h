/* SPDX-License-Identifier: Apache-2.0 */
/* Result of stage 2: which CPython a process runs and where its state is, or why it cannot be
 * profiled. A plain value; strings are inline so that it can be copied.
 */
#ifndef PANOPY_RUNTIME_PY_RUNTIME_H
#define PANOPY_RUNTIME_PY_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/remote_mem.h"
#include "py_layout.h"

enum {
	PY_RUNTIME_PATH_SZ = 512, /* longer paths are cut for display; nothing is opened by this path */
};

/* Why a Python process is refused. The words of py_refusal_text() are shown by `panopy ps`, the
 * identifiers of py_refusal_name() stand in its JSON and in the summary. */
enum py_refusal {
	PY_REFUSAL_NONE = 0,
	PY_REFUSAL_VERSION_TOO_OLD,   /* before 3.6 */
	PY_REFUSAL_VERSION_UNKNOWN,   /* newer than any known, or the version word makes no sense */
	PY_REFUSAL_PRERELEASE,	      /* alpha or beta of a version whose layout its number alone tells */
	PY_REFUSAL_MUSL,	      /* linked to it, on another machine than x86-64 */
	PY_REFUSAL_NOT_CPYTHON,	      /* PyPy, GraalPy, ... */
	PY_REFUSAL_ARCHITECTURE,      /* not this machine's, or not 64 bits */
	PY_REFUSAL_NO_RUNTIME_SYMBOL, /* libpython without _PyRuntime and .PyRuntime */
	PY_REFUSAL_OFFSETS_INVALID,   /* its _Py_DebugOffsets failed validation */
	PY_REFUSAL_LAYOUT_UNKNOWN,    /* struct sizes fit no known build */
	PY_REFUSAL_FILE_UNREADABLE,   /* the interpreter file could not be read: gone, an error of its disk */
	PY_REFUSAL_FILE_INVALID,      /* not an ELF file that makes sense */
	PY_REFUSAL_FILES_SLOW,	      /* looking through what the process maps takes too long */
	PY_REFUSAL_FILE_HANGS,	      /* opening or reading the interpreter file takes too long */
	PY_REFUSAL_NO_INTERPRETER_LIST, /* 3.6: PyInterpreterState_Head() is not understood */
	PY_REFUSAL_NO_THREAD_IDS,	/* 3.6 to 3.10 on a machine where their threads cannot be told */
	PY_REFUSAL_STATE_INVALID,	/* what stands in the process does not fit the layout */
	PY_REFUSAL_NOT_PERMITTED,	/* the kernel does not let us open the interpreter file */
	PY_REFUSAL_COUNT
};

const char *py_refusal_name(enum py_refusal refusal);
const char *py_refusal_text(enum py_refusal refusal);

struct py_runtime {
	enum py_refusal refusal;
	/* PY_VERSION_HEX; 0 when unknown. Before 3.11 the low 16 bits may be 0: not known. */
	u32 version;
	bool free_threaded;
	bool debug;
	bool shared; /* in libpython, not in the executable */
	bool musl; /* as far as a dynamic linker's name tells, which is no evidence: shown, and refused at most */
	bool prerelease;
	/* Of _PyRuntime in the process (process_config.h); valid when not refused. */
	remote_addr_t runtime_addr;
	remote_addr_t image_start; /* the interpreter image's mapped range */
	remote_addr_t image_end;
	struct py_layout layout;       /* valid when not refused */
	char path[PY_RUNTIME_PATH_SZ]; /* of the interpreter image, as the process sees it */
};

#endif
