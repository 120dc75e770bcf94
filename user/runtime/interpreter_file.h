/* SPDX-License-Identifier: Apache-2.0 */
/* What one file says: is it a Python interpreter, of which version, and how is it read. A plain value that
 * holds for every process that maps the file.
 */
#ifndef PANOPY_RUNTIME_INTERPRETER_FILE_H
#define PANOPY_RUNTIME_INTERPRETER_FILE_H

#include "runtime/elf_image.h"
#include "runtime/py_runtime.h"

enum interpreter_kind {
	INTERPRETER_NONE = 0, /* no interpreter */
	/* Holds an interpreter; `refusal` says whether it can be profiled. */
	INTERPRETER_FOUND,
	/* Named like an interpreter and unusable: `refusal` says why, unless another file is found. */
	INTERPRETER_SUSPECT,
	/* An executable that the linker gave a copy of libpython's _PyRuntime (copy relocation): its
	 * runtime_addr is the live one, everything else stands in the libpython. */
	INTERPRETER_COPY,
};

struct interpreter_file {
	enum interpreter_kind kind;
	enum py_refusal refusal;
	u32 version;
	bool free_threaded;
	bool debug;
	bool is_executable; /* asks for a dynamic linker, or is a fixed executable */
	bool is_musl;	    /* asks for musl's dynamic linker */
	/* An executable whose only way into Python is Py_BytesMain() or Py_Main(), 3.8+: as far as it goes, the process
	 * has one interpreter after the other only as sub-interpreters. */
	bool is_launcher;
	u64 runtime_addr; /* in the file's own address space; 0 when refused without one */
	struct elf_loads loads;
	struct py_layout layout; /* when not refused */
};

/* `path` is only asked for its name. Errors are the file's: -EIO, -EACCES, -ENOMEM; what is wrong inside
 * the file is an answer. */
int interpreter_file_inspect(struct target_file *file, const char *path, struct interpreter_file *ret_info);

/* Is the last part of `path` a name that interpreters have ("python3", "libpython3.11.so.1.0", "pypy3")? */
bool interpreter_name_is_likely(const char *path);

#endif
