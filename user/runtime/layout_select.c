/* SPDX-License-Identifier: Apache-2.0 */
/* _Py_DebugOffsets leaves out a few fields (datastack_top, co_version, the stack chunk, 3.13's function
 * version counter). They come from a generated row of the same minor version, and only when the target's
 * frame, code object and strings have exactly that row's sizes and every offset that both give is the same.
 *
 * Thread and interpreter state grow at their ends within a minor version: 3.13.18 and 3.14.10 append
 * datastack_cached_chunk to PyThreadState (3.13.0 and 3.13.5 do not have it), and PyInterpreterState had
 * 194,968, 194,976 and 194,984 bytes in these three 3.13s. A final release may therefore differ a little in
 * the size of the thread state. Where the interpreter state's size differs, the 3.13 proof that lies deep in
 * it is given up, and nothing else; so is that of 3.14 and newer where the table has it elsewhere than the row.
 */
#include "runtime/layout_select.h"

#include <errno.h>
#include <stddef.h>

#include "runtime/layout_tables.h"
#include "shared_limits.h"

enum {
	VERSION_3_6 = 0x0306,
	VERSION_3_11 = 0x030b,
	VERSION_3_13 = 0x030d,
	VERSION_3_15 = 0x030f,

	/* What releases of one minor version may append to PyThreadState; 8 bytes so far. */
	TSTATE_GROWTH_SZ = 64,
	RELEASE_LEVEL_ALPHA = 0xa,
	RELEASE_LEVEL_BETA = 0xb,
	RELEASE_LEVEL_FINAL = 0xf,
};

#ifdef __x86_64__
#define IS_X86_64 true
#else
#define IS_X86_64 false
#endif

static void cover(u32 *sz, u32 off, u32 width)
{
	if (off + width > *sz)
		*sz = off + width;
}

static u32 tstate_sz(const struct py_layout *layout)
{
	u32 sz = 0;

	cover(&sz, layout->tstate_prev, 8);
	cover(&sz, layout->tstate_next, 8);
	cover(&sz, layout->tstate_interp, 8);
	cover(&sz, layout->tstate_status, 4);
	cover(&sz, layout->tstate_frame, 8);
	cover(&sz, layout->tstate_base_frame, 8);
	cover(&sz, layout->tstate_thread_id, 8);
	cover(&sz, layout->tstate_native_thread_id, 8);
	cover(&sz, layout->tstate_datastack_chunk, 8);
	cover(&sz, layout->tstate_datastack_top, 8);
	return sz;
}

static u32 frame_sz(const struct py_layout *layout)
{
	u32 sz = 0;

	bool is_object = layout->traits & PY_TRAIT_FRAME_OBJECT;

	cover(&sz, layout->frame_executable, 8);
	cover(&sz, layout->frame_previous, 8);
	cover(&sz, layout->frame_instr, is_object ? 4 : 8);
	cover(&sz, layout->frame_owner, is_object ? 8 : 1);
	cover(&sz, layout->frame_is_entry, 1);
	cover(&sz, layout->frame_tlbc_index, 4);
	return sz;
}

static u32 code_sz(const struct py_layout *layout)
{
	u32 sz = 0;

	cover(&sz, layout->code_filename, 8);
	cover(&sz, layout->code_name, 8);
	cover(&sz, layout->code_qualname, 8);
	cover(&sz, layout->code_linetable, 8);
	cover(&sz, layout->code_firstlineno, 4);
	cover(&sz, layout->code_version, 4);
	cover(&sz, layout->code_tlbc, 8);
	return sz;
}

bool layout_is_valid(const struct py_layout *layout)
{
	return layout->tstate_sz == tstate_sz(layout) && layout->tstate_sz <= LIMIT_TSTATE_SPAN - 8 &&
	       layout->frame_sz == frame_sz(layout) && layout->frame_sz < LIMIT_FRAME_SPAN &&
	       layout->code_sz == code_sz(layout) && layout->code_sz <= LIMIT_CODE_SPAN - 8 &&
	       layout->code_code_adaptive < LIMIT_CODE_SPAN - 8 &&
	       layout->unicode_ascii_sz <= LIMIT_UNICODE_SPAN &&
	       layout->unicode_compact_sz <= LIMIT_UNICODE_SPAN &&
	       layout->unicode_length <= LIMIT_UNICODE_SPAN - 8 &&
	       layout->unicode_hash <= LIMIT_UNICODE_SPAN - 8 &&
	       layout->unicode_state <= LIMIT_UNICODE_SPAN - 8;
}

static enum py_refusal finish(struct py_layout *layout, u32 version, struct py_layout *ret_layout)
{
	layout->version = version;
	layout->tstate_sz = (u16)tstate_sz(layout);
	layout->frame_sz = (u8)frame_sz(layout);
	layout->code_sz = (u16)code_sz(layout);
	if (!layout_is_valid(layout))
		return PY_REFUSAL_OFFSETS_INVALID;
	*ret_layout = *layout;
	return PY_REFUSAL_NONE;
}

static bool row_is_debug(const struct layout_row *row)
{
	return row->layout.traits & PY_TRAIT_DEBUG;
}

static bool row_is_free_threaded(const struct layout_row *row)
{
	return row->layout.traits & PY_TRAIT_FREE_THREADED;
}

static bool tstate_fits(const struct layout_row *row, const struct debug_offsets *offsets)
{
	s64 growth = (s64)offsets->tstate_struct_sz - row->tstate_struct_sz;

	if (growth == 0)
		return true;
	return (offsets->version >> 4 & 0xf) == RELEASE_LEVEL_FINAL && growth >= -TSTATE_GROWTH_SZ &&
	       growth <= TSTATE_GROWTH_SZ;
}

/* The proof of 3.13 lies behind members that its table does not tell of. */
static bool is_same_interp(const struct layout_row *row, const struct debug_offsets *offsets)
{
	return row->interp_struct_sz == offsets->interp_struct_sz &&
	       row->tstate_struct_sz == offsets->tstate_struct_sz;
}

/* A word that never changes, taken for the counter or the interpreter's id, would prove that no code object was ever
 * freed, and give stacks the names of dead ones. Any other offset into the runtime or the interpreter state only leads nowhere. */
static bool is_proof_certain(const struct layout_row *row, const struct debug_offsets *offsets)
{
	if (row->layout.traits & PY_TRAIT_PROOF_GENERATION)
		return offsets->layout.interp_code_proof == row->layout.interp_code_proof &&
		       offsets->layout.interp_id == row->layout.interp_id;
	return offsets->layout.interp_id == row->layout.interp_id && is_same_interp(row, offsets);
}

/* The row that fits best: one of the very same sizes if there is one. */
static const struct layout_row *find_row(const struct debug_offsets *offsets, bool debug)
{
	const struct layout_row *found = NULL;

	for (size_t i = 0; i < layout_row_cnt; i++) {
		const struct layout_row *row = &layout_rows[i];

		if (row->minor != offsets->version >> 16 || row_is_debug(row) != debug ||
		    row_is_free_threaded(row) != offsets->free_threaded || !tstate_fits(row, offsets) ||
		    row->frame_struct_sz != offsets->frame_struct_sz ||
		    row->code_struct_sz != offsets->code_struct_sz ||
		    row->unicode_struct_sz != offsets->unicode_struct_sz ||
		    !debug_offsets_agree(offsets, &row->layout))
			continue;
		if (is_same_interp(row, offsets))
			return row;
		if (!found)
			found = row;
	}
	return found;
}

static enum py_refusal refusal_of_version(u32 version)
{
	u32 minor = version >> 16;

	if (minor < VERSION_3_6 && minor >= 0x0200)
		return PY_REFUSAL_VERSION_TOO_OLD;
	if (minor > VERSION_3_15 || minor < VERSION_3_6)
		return PY_REFUSAL_VERSION_UNKNOWN;
	/* Their thread states do not tell the kernel's thread id, and what they tell instead is the thread
	 * pointer on x86-64 only (bpf/kernel_compat.bpf.h). */
	return minor < VERSION_3_11 && !IS_X86_64 ? PY_REFUSAL_NO_THREAD_IDS : PY_REFUSAL_NONE;
}

enum py_refusal layout_select_by_offsets(const void *bytes, size_t sz, bool debug,
					 struct debug_offsets *ret_offsets, struct py_layout *ret_layout)
{
	struct py_layout layout;
	const struct layout_row *row;
	enum py_refusal refusal;
	int err = decode_debug_offsets_header(bytes, sz, ret_offsets);

	if (err)
		return PY_REFUSAL_OFFSETS_INVALID;
	refusal = refusal_of_version(ret_offsets->version);
	if (refusal != PY_REFUSAL_NONE)
		return refusal;
	err = decode_debug_offsets(bytes, sz, ret_offsets);
	if (err)
		return PY_REFUSAL_OFFSETS_INVALID;
	row = find_row(ret_offsets, debug);
	if (!row)
		return PY_REFUSAL_LAYOUT_UNKNOWN;
	layout = row->layout;
	layout.runtime_finalizing = ret_offsets->layout.runtime_finalizing;
	layout.runtime_interpreters_head = ret_offsets->layout.runtime_interpreters_head;
	layout.interp_id = ret_offsets->layout.interp_id;
	layout.interp_next = ret_offsets->layout.interp_next;
	layout.interp_threads_head = ret_offsets->layout.interp_threads_head;
	if (!is_proof_certain(row, ret_offsets)) {
		layout.interp_code_proof = 0;
		layout.traits &= ~(u32)(PY_TRAIT_PROOF_GENERATION | PY_TRAIT_PROOF_NEXT_VERSION);
	}
	return finish(&layout, ret_offsets->version, ret_layout);
}

/* Its structs may be the last minor version's still, and nothing in it tells. Those of a release candidate are the
 * release's. */
static bool is_in_development(u32 version)
{
	u32 level = version >> 4 & 0xf;

	return level == RELEASE_LEVEL_ALPHA || level == RELEASE_LEVEL_BETA;
}

enum py_refusal layout_select_by_version(u32 version, bool debug, struct py_layout *ret_layout)
{
	enum py_refusal refusal = refusal_of_version(version);

	if (refusal != PY_REFUSAL_NONE)
		return refusal;
	/* These carry their own table; one that has none is not what it says. */
	if (version >> 16 >= VERSION_3_13)
		return PY_REFUSAL_OFFSETS_INVALID;
	if (is_in_development(version))
		return PY_REFUSAL_PRERELEASE;
	for (size_t i = 0; i < layout_row_cnt; i++) {
		struct py_layout layout = layout_rows[i].layout;

		if (layout_rows[i].minor != version >> 16 || row_is_debug(&layout_rows[i]) != debug)
			continue;
		/* A row that the sampler cannot read: 3.6's and 3.7's debug builds, whose heads of objects are
		 * longer. */
		refusal = finish(&layout, version, ret_layout);
		return refusal == PY_REFUSAL_OFFSETS_INVALID ? PY_REFUSAL_LAYOUT_UNKNOWN : refusal;
	}
	return PY_REFUSAL_LAYOUT_UNKNOWN;
}
