/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the CPython interpreter in a process. What a file says (symbols, offset table, version) is
 * read once and cached per file identity (device, inode, size, modification and change time); a
 * process then costs one look at its mappings.
 */
#ifndef PANOPY_RUNTIME_RUNTIME_DETECT_H
#define PANOPY_RUNTIME_RUNTIME_DETECT_H

#include <sys/types.h>

#include "runtime/py_runtime.h"

struct runtime_detector;

int runtime_detector_new(struct runtime_detector **ret_detector);
void runtime_detector_free(struct runtime_detector *detector);
/* How long the files of one process may be looked through, one file at least; 2 s unless set. */
void runtime_detector_set_budget(struct runtime_detector *detector, u64 budget_ns);

/* 0: an interpreter was found; ret_runtime->refusal says whether it can be profiled.
 * -ENOENT: the process maps no interpreter (yet). -ESRCH: it is gone. -EACCES: its mappings cannot
 * be read. Files are opened through the process, and only regular files. */
int runtime_detect(struct runtime_detector *detector, pid_t pid, struct py_runtime *ret_runtime);

/* The same for one executable mapping that was just made (start and file offset as the kernel
 * reported them): cheaper, as only that file is looked at. -ENOENT: it is no interpreter. */
int runtime_detect_mapping(struct runtime_detector *detector, pid_t pid, u64 start, u64 end, u64 file_offset,
			   struct py_runtime *ret_runtime);

/* Whether the process still maps the interpreter where it was found: it runs that image, or the same one anew. */
bool runtime_is_mapped(pid_t pid, const struct py_runtime *runtime);

#endif
