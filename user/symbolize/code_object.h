/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a code object from a target: raw characters of its names, its location table, and the
 * fingerprint that tells it from another one at the same address.
 */
#ifndef PANOPY_SYMBOLIZE_CODE_OBJECT_H
#define PANOPY_SYMBOLIZE_CODE_OBJECT_H

#include "base/byte_buf.h"
#include "base/remote_mem.h"
#include "py_layout.h"
#include "sample.h"
#include "symbolize/read_ahead.h"

/* Reused from one read to the next: no allocation in the long run. */
struct code_object {
	s32 firstlineno;
	u32 fingerprint;
	u32 flags; /* enum code_record_flag: parts longer than LIMIT_NAME_SZ, LIMIT_LINETABLE_SZ */
	u8 char_sz[CODE_PART_COUNT];
	struct byte_buf parts[CODE_PART_COUNT];
	struct read_ahead ahead; /* scratch */
};

void code_object_init(struct code_object *object);
void code_object_release(struct code_object *object);

/* The fingerprint as the kernel side computes it: co_version with PY_TRAIT_CODE_VERSION, else that of
 * fingerprint.h. The errors of remote_mem_read. */
int code_object_fingerprint(struct remote_mem *mem, const struct py_layout *layout, remote_addr_t code,
			    u32 *ret_fingerprint);

/* Reads everything, the fingerprint before and after, in two hand-overs unless a name or the table is long. -ESTALE: another code object than
 * `fingerprint` was there before or after. -EINVAL: what is there makes no sense. Else the errors of
 * remote_mem_read. After a failure the object's content is not defined. */
int code_object_read(struct remote_mem *mem, const struct py_layout *layout, remote_addr_t code,
		     u32 fingerprint, struct code_object *object);

#endif
