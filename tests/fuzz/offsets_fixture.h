/* SPDX-License-Identifier: Apache-2.0 */
/* A well-formed _Py_DebugOffsets of a known version, made from the generated tables: what tests corrupt. */
#ifndef PANOPY_TESTS_OFFSETS_FIXTURE_H
#define PANOPY_TESTS_OFFSETS_FIXTURE_H

#include <string.h>

#include "runtime/debug_offsets.h"
#include "runtime/layout_tables.h"

static inline void put_u64(u8 *bytes, size_t off, u64 value)
{
	memcpy(bytes + off, &value, sizeof(value));
}

static inline void fixture_values(const struct layout_row *row, u64 values[DEBUG_OFFSET_COUNT])
{
	const struct py_layout *layout = &row->layout;

	values[DEBUG_OFFSET_RUNTIME_SZ] = 300000;
	values[DEBUG_OFFSET_RUNTIME_FINALIZING] = layout->runtime_finalizing;
	values[DEBUG_OFFSET_RUNTIME_INTERPRETERS_HEAD] = layout->runtime_interpreters_head;
	values[DEBUG_OFFSET_INTERP_SZ] = row->interp_struct_sz;
	values[DEBUG_OFFSET_INTERP_NEXT] = layout->interp_next;
	values[DEBUG_OFFSET_INTERP_THREADS_HEAD] = layout->interp_threads_head;
	values[DEBUG_OFFSET_INTERP_ID] = layout->interp_id;
	values[DEBUG_OFFSET_INTERP_CODE_GENERATION] = layout->interp_code_proof;
	values[DEBUG_OFFSET_TSTATE_SZ] = row->tstate_struct_sz;
	values[DEBUG_OFFSET_TSTATE_PREV] = layout->tstate_prev;
	values[DEBUG_OFFSET_TSTATE_NEXT] = layout->tstate_next;
	values[DEBUG_OFFSET_TSTATE_INTERP] = layout->tstate_interp;
	values[DEBUG_OFFSET_TSTATE_STATUS] = layout->tstate_status;
	values[DEBUG_OFFSET_TSTATE_CURRENT_FRAME] = layout->tstate_frame;
	values[DEBUG_OFFSET_TSTATE_BASE_FRAME] = layout->tstate_base_frame;
	values[DEBUG_OFFSET_TSTATE_THREAD_ID] = layout->tstate_thread_id;
	values[DEBUG_OFFSET_TSTATE_NATIVE_THREAD_ID] = layout->tstate_native_thread_id;
	values[DEBUG_OFFSET_TSTATE_DATASTACK_CHUNK] = layout->tstate_datastack_chunk;
	values[DEBUG_OFFSET_FRAME_SZ] = row->frame_struct_sz;
	values[DEBUG_OFFSET_FRAME_PREVIOUS] = layout->frame_previous;
	values[DEBUG_OFFSET_FRAME_EXECUTABLE] = layout->frame_executable;
	values[DEBUG_OFFSET_FRAME_INSTR] = layout->frame_instr;
	values[DEBUG_OFFSET_FRAME_OWNER] = layout->frame_owner;
	values[DEBUG_OFFSET_FRAME_TLBC_INDEX] = layout->frame_tlbc_index;
	values[DEBUG_OFFSET_CODE_SZ] = row->code_struct_sz;
	values[DEBUG_OFFSET_CODE_FILENAME] = layout->code_filename;
	values[DEBUG_OFFSET_CODE_NAME] = layout->code_name;
	values[DEBUG_OFFSET_CODE_QUALNAME] = layout->code_qualname;
	values[DEBUG_OFFSET_CODE_LINETABLE] = layout->code_linetable;
	values[DEBUG_OFFSET_CODE_FIRSTLINENO] = layout->code_firstlineno;
	values[DEBUG_OFFSET_CODE_CODE_ADAPTIVE] = layout->code_code_adaptive;
	values[DEBUG_OFFSET_CODE_TLBC] = layout->code_tlbc;
	values[DEBUG_OFFSET_OBJECT_TYPE] = layout->object_type;
	values[DEBUG_OFFSET_BYTES_SIZE] = layout->bytes_size;
	values[DEBUG_OFFSET_BYTES_DATA] = layout->bytes_data;
	values[DEBUG_OFFSET_UNICODE_SZ] = row->unicode_struct_sz;
	values[DEBUG_OFFSET_UNICODE_STATE] = layout->unicode_state;
	values[DEBUG_OFFSET_UNICODE_LENGTH] = layout->unicode_length;
	values[DEBUG_OFFSET_UNICODE_ASCII_SZ] = layout->unicode_ascii_sz;
	values[DEBUG_OFFSET_UNICODE_COMPACT_SZ] = layout->unicode_compact_sz;
}

/* The row's table as its interpreter would hold it. */
static inline void fixture_table(const struct debug_offsets_format *format, const struct layout_row *row,
				 u8 bytes[DEBUG_OFFSETS_MAX_SZ])
{
	u64 values[DEBUG_OFFSET_COUNT] = {0};

	fixture_values(row, values);
	memset(bytes, 0, DEBUG_OFFSETS_MAX_SZ);
	memcpy(bytes, "xdebugpy", 8);
	put_u64(bytes, 8, (u64)format->minor << 16 | 0x01f0);
	put_u64(bytes, 16, row->layout.traits & PY_TRAIT_FREE_THREADED ? 1 : 0);
	for (int i = 0; i < DEBUG_OFFSET_COUNT; i++) {
		if (format->positions[i])
			put_u64(bytes, format->positions[i], values[i]);
	}
}

/* PY_VERSION_HEX of the first version that has no row. */
static inline u32 fixture_unknown_version(void)
{
	u32 newest = 0;

	for (size_t i = 0; i < layout_row_cnt; i++)
		newest = layout_rows[i].minor > newest ? layout_rows[i].minor : newest;
	return (newest + 1) << 16;
}

/* The n-th pair of table and row that belong together; false past the last. */
static inline bool fixture_at(size_t n, const struct debug_offsets_format **ret_format,
			      const struct layout_row **ret_row)
{
	for (size_t i = 0; i < debug_offsets_format_cnt; i++) {
		for (size_t j = 0; j < layout_row_cnt; j++) {
			if (layout_rows[j].minor != debug_offsets_formats[i].minor || n-- > 0)
				continue;
			*ret_format = &debug_offsets_formats[i];
			*ret_row = &layout_rows[j];
			return true;
		}
	}
	return false;
}

#endif
