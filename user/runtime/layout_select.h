/* SPDX-License-Identifier: Apache-2.0 */
/* From a version and a build flavour to a finished struct py_layout, or a named reason why there is none. */
#ifndef PANOPY_RUNTIME_LAYOUT_SELECT_H
#define PANOPY_RUNTIME_LAYOUT_SELECT_H

#include <stdbool.h>

#include "runtime/debug_offsets.h"
#include "runtime/py_runtime.h"

/* 3.13+: the target's own table, completed by the generated row whose struct sizes and offsets agree with
 * it. `bytes` begin at _PyRuntime. *ret_offsets is filled as far as the table could be decoded. */
enum py_refusal layout_select_by_offsets(const void *bytes, size_t sz, bool debug,
					 struct debug_offsets *ret_offsets, struct py_layout *ret_layout);

/* 3.6 to 3.12: the generated row alone. 3.6 has no _PyRuntime: its offsets into that are 0. */
enum py_refusal layout_select_by_version(u32 version, bool debug, struct py_layout *ret_layout);

/* Does every offset lie inside the span that the sampler reads? True for all that the above return. */
bool layout_is_valid(const struct py_layout *layout);

#endif
