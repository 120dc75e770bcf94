/* SPDX-License-Identifier: Apache-2.0 */
/* Each value of the table has one rule: which struct it lies in and how wide it is. A value passes when it
 * is aligned to its width, ends inside its struct, lies below the span that the sampler reads of such
 * structs, and overlaps no other. The struct sizes
 * themselves are multiples of a pointer's and have an upper limit.
 *
 * Table layout: Include/internal/pycore_runtime.h (3.13), pycore_debug_offsets.h (3.14, 3.15); positions are
 * generated (layout_tables.c).
 */
#include "runtime/debug_offsets.h"

#include <errno.h>
#include <string.h>

#include "base/byte_reader.h"
#include "runtime/layout_tables.h"
#include "shared_limits.h"

/* The structs, in the order of struct_rules. */
enum py_struct {
	IN_RUNTIME,
	IN_INTERP,
	IN_TSTATE,
	IN_FRAME,
	IN_CODE,
	IN_UNICODE,
	IN_BYTES,
	IN_OBJECT,
	PY_STRUCT_COUNT,
	IS_SIZE = PY_STRUCT_COUNT, /* the value is a struct's size, no offset */
};

enum {
	NO_SIZE = -1,
	/* PyInterpreterState was 383 KiB in 3.12, _PyRuntimeState 283 KiB in 3.13: room for growth. */
	STATE_MAX_SZ = 16 << 20,
	STRUCT_MAX_SZ = 4096,
	/* ob_size, ob_sval, ob_type: the first words of an object (free-threaded heads have 32 bytes). */
	OBJECT_HEAD_SPAN = 64,
};

static const struct struct_rule {
	int size_value; /* enum debug_offset that holds its size */
	u32 max_sz;	/* what that size may be */
	u32 span;	/* offsets lie below */
} struct_rules[PY_STRUCT_COUNT] = {
	[IN_RUNTIME] = {DEBUG_OFFSET_RUNTIME_SZ, STATE_MAX_SZ, STATE_MAX_SZ},
	[IN_INTERP] = {DEBUG_OFFSET_INTERP_SZ, STATE_MAX_SZ, STATE_MAX_SZ},
	[IN_TSTATE] = {DEBUG_OFFSET_TSTATE_SZ, STRUCT_MAX_SZ, LIMIT_TSTATE_SPAN - 8},
	[IN_FRAME] = {DEBUG_OFFSET_FRAME_SZ, STRUCT_MAX_SZ, LIMIT_FRAME_SPAN - 8},
	[IN_CODE] = {DEBUG_OFFSET_CODE_SZ, STRUCT_MAX_SZ, LIMIT_CODE_SPAN - 8},
	[IN_UNICODE] = {DEBUG_OFFSET_UNICODE_SZ, STRUCT_MAX_SZ, LIMIT_UNICODE_SPAN - 8},
	[IN_BYTES] = {NO_SIZE, 0, OBJECT_HEAD_SPAN},
	[IN_OBJECT] = {NO_SIZE, 0, OBJECT_HEAD_SPAN},
};

#define OFFSET_OF(struct_, width_, field)                                                                    \
	{                                                                                                    \
		.in = (struct_), .width = (width_), .field_off = offsetof(struct py_layout, field),          \
		.field_width = sizeof(((struct py_layout *)0)->field)                                        \
	}
#define FREE_THREADED_OFFSET_OF(struct_, width_, field)                                                      \
	{                                                                                                    \
		.in = (struct_), .width = (width_), .field_off = offsetof(struct py_layout, field),          \
		.field_width = sizeof(((struct py_layout *)0)->field), .free_threaded = true                 \
	}
#define SIZE_OF(field)                                                                                       \
	{                                                                                                    \
		.in = IS_SIZE, .field_off = offsetof(struct debug_offsets, field), .field_width = 4          \
	}

static const struct value_rule {
	u8 in;	  /* enum py_struct */
	u8 width; /* of what lies there; 0: the value is where something ends or begins, any width */
	u16 field_off;
	u8 field_width;	    /* of the field that takes the value; 0: not kept */
	bool free_threaded; /* other builds have 0 there */
} value_rules[DEBUG_OFFSET_COUNT] = {
	[DEBUG_OFFSET_RUNTIME_SZ] = {.in = IS_SIZE},
	[DEBUG_OFFSET_RUNTIME_FINALIZING] = OFFSET_OF(IN_RUNTIME, 8, runtime_finalizing),
	[DEBUG_OFFSET_RUNTIME_INTERPRETERS_HEAD] = OFFSET_OF(IN_RUNTIME, 8, runtime_interpreters_head),
	[DEBUG_OFFSET_INTERP_SZ] = SIZE_OF(interp_struct_sz),
	[DEBUG_OFFSET_INTERP_ID] = OFFSET_OF(IN_INTERP, 8, interp_id),
	[DEBUG_OFFSET_INTERP_NEXT] = OFFSET_OF(IN_INTERP, 8, interp_next),
	[DEBUG_OFFSET_INTERP_THREADS_HEAD] = OFFSET_OF(IN_INTERP, 8, interp_threads_head),
	[DEBUG_OFFSET_INTERP_CODE_GENERATION] = OFFSET_OF(IN_INTERP, 8, interp_code_proof),
	[DEBUG_OFFSET_TSTATE_SZ] = SIZE_OF(tstate_struct_sz),
	[DEBUG_OFFSET_TSTATE_PREV] = OFFSET_OF(IN_TSTATE, 8, tstate_prev),
	[DEBUG_OFFSET_TSTATE_NEXT] = OFFSET_OF(IN_TSTATE, 8, tstate_next),
	[DEBUG_OFFSET_TSTATE_INTERP] = OFFSET_OF(IN_TSTATE, 8, tstate_interp),
	[DEBUG_OFFSET_TSTATE_STATUS] = OFFSET_OF(IN_TSTATE, 4, tstate_status),
	[DEBUG_OFFSET_TSTATE_CURRENT_FRAME] = OFFSET_OF(IN_TSTATE, 8, tstate_frame),
	[DEBUG_OFFSET_TSTATE_BASE_FRAME] = OFFSET_OF(IN_TSTATE, 8, tstate_base_frame),
	[DEBUG_OFFSET_TSTATE_THREAD_ID] = OFFSET_OF(IN_TSTATE, 8, tstate_thread_id),
	[DEBUG_OFFSET_TSTATE_NATIVE_THREAD_ID] = OFFSET_OF(IN_TSTATE, 8, tstate_native_thread_id),
	[DEBUG_OFFSET_TSTATE_DATASTACK_CHUNK] = OFFSET_OF(IN_TSTATE, 8, tstate_datastack_chunk),
	[DEBUG_OFFSET_FRAME_SZ] = SIZE_OF(frame_struct_sz),
	[DEBUG_OFFSET_FRAME_PREVIOUS] = OFFSET_OF(IN_FRAME, 8, frame_previous),
	[DEBUG_OFFSET_FRAME_EXECUTABLE] = OFFSET_OF(IN_FRAME, 8, frame_executable),
	[DEBUG_OFFSET_FRAME_INSTR] = OFFSET_OF(IN_FRAME, 8, frame_instr),
	[DEBUG_OFFSET_FRAME_OWNER] = OFFSET_OF(IN_FRAME, 1, frame_owner),
	[DEBUG_OFFSET_FRAME_TLBC_INDEX] = FREE_THREADED_OFFSET_OF(IN_FRAME, 4, frame_tlbc_index),
	[DEBUG_OFFSET_CODE_SZ] = SIZE_OF(code_struct_sz),
	[DEBUG_OFFSET_CODE_FILENAME] = OFFSET_OF(IN_CODE, 8, code_filename),
	[DEBUG_OFFSET_CODE_NAME] = OFFSET_OF(IN_CODE, 8, code_name),
	[DEBUG_OFFSET_CODE_QUALNAME] = OFFSET_OF(IN_CODE, 8, code_qualname),
	[DEBUG_OFFSET_CODE_LINETABLE] = OFFSET_OF(IN_CODE, 8, code_linetable),
	[DEBUG_OFFSET_CODE_FIRSTLINENO] = OFFSET_OF(IN_CODE, 4, code_firstlineno),
	/* co_code_adaptive is the struct's tail, one byte of an array. */
	[DEBUG_OFFSET_CODE_CODE_ADAPTIVE] = OFFSET_OF(IN_CODE, 1, code_code_adaptive),
	[DEBUG_OFFSET_CODE_TLBC] = FREE_THREADED_OFFSET_OF(IN_CODE, 8, code_tlbc),
	[DEBUG_OFFSET_OBJECT_TYPE] = OFFSET_OF(IN_OBJECT, 8, object_type),
	[DEBUG_OFFSET_BYTES_SIZE] = OFFSET_OF(IN_BYTES, 8, bytes_size),
	[DEBUG_OFFSET_BYTES_DATA] = OFFSET_OF(IN_BYTES, 1, bytes_data),
	[DEBUG_OFFSET_UNICODE_SZ] = SIZE_OF(unicode_struct_sz),
	[DEBUG_OFFSET_UNICODE_STATE] = OFFSET_OF(IN_UNICODE, 4, unicode_state),
	[DEBUG_OFFSET_UNICODE_LENGTH] = OFFSET_OF(IN_UNICODE, 8, unicode_length),
	[DEBUG_OFFSET_UNICODE_ASCII_SZ] = OFFSET_OF(IN_UNICODE, 0, unicode_ascii_sz),
	[DEBUG_OFFSET_UNICODE_COMPACT_SZ] = OFFSET_OF(IN_UNICODE, 0, unicode_compact_sz),
};

static const char cookie[8] = {'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y'};

static const struct debug_offsets_format *find_format(u32 version)
{
	for (size_t i = 0; i < debug_offsets_format_cnt; i++) {
		if (debug_offsets_formats[i].minor == version >> 16)
			return &debug_offsets_formats[i];
	}
	return NULL;
}

static bool format_has(const struct debug_offsets_format *format, bool free_threaded, int value)
{
	return format->positions[value] != 0 && (free_threaded || !value_rules[value].free_threaded);
}

static bool validate_sizes(const u64 values[DEBUG_OFFSET_COUNT])
{
	for (int i = 0; i < PY_STRUCT_COUNT; i++) {
		const struct struct_rule *rule = &struct_rules[i];

		if (rule->size_value == NO_SIZE)
			continue;
		if (values[rule->size_value] == 0 || values[rule->size_value] > rule->max_sz ||
		    values[rule->size_value] % sizeof(u64) != 0)
			return false;
	}
	return true;
}

static bool validate_offset(const u64 values[DEBUG_OFFSET_COUNT], int value)
{
	const struct value_rule *rule = &value_rules[value];
	const struct struct_rule *in = &struct_rules[rule->in];
	u64 off = values[value];

	if (rule->width == 0)
		return off != 0 && off % 8 == 0 && off <= in->span && off <= values[in->size_value];
	if (off >= in->span || off % rule->width != 0)
		return false;
	/* off < span, so the sum cannot wrap. */
	return in->size_value == NO_SIZE || off + rule->width <= values[in->size_value];
}

static bool overlap(const u64 values[DEBUG_OFFSET_COUNT], int one, int other)
{
	const struct value_rule *a = &value_rules[one], *b = &value_rules[other];

	if (a->in != b->in || a->width == 0 || b->width == 0)
		return false;
	return values[one] < values[other] + b->width && values[other] < values[one] + a->width;
}

static bool validate_values(const struct debug_offsets_format *format, bool free_threaded,
			    const u64 values[DEBUG_OFFSET_COUNT])
{
	if (!validate_sizes(values))
		return false;
	for (int i = 0; i < DEBUG_OFFSET_COUNT; i++) {
		if (value_rules[i].in == IS_SIZE || !format_has(format, free_threaded, i))
			continue;
		if (!validate_offset(values, i))
			return false;
		for (int j = 0; j < i; j++) {
			if (value_rules[j].in != IS_SIZE && format_has(format, free_threaded, j) &&
			    overlap(values, i, j))
				return false;
		}
	}
	return true;
}

static void store_value(struct debug_offsets *offsets, const struct value_rule *rule, u64 value)
{
	u8 *base = rule->in == IS_SIZE ? (u8 *)offsets : (u8 *)&offsets->layout;

	/* Validated: the value fits the field. Little-endian, as every supported machine. */
	memcpy(base + rule->field_off, &value, rule->field_width);
}

static u64 load_layout_field(const struct py_layout *layout, const struct value_rule *rule)
{
	u64 value = 0;

	memcpy(&value, (const u8 *)layout + rule->field_off, rule->field_width);
	return value;
}

int decode_debug_offsets_header(const void *bytes, size_t sz, struct debug_offsets *ret_offsets)
{
	struct byte_reader reader;
	const u8 *magic;
	u64 version, free_threaded;

	byte_reader_init(&reader, bytes, sz);
	magic = byte_reader_take(&reader, sizeof(cookie));
	version = byte_reader_u64(&reader);
	free_threaded = byte_reader_u64(&reader);
	if (reader.failed || memcmp(magic, cookie, sizeof(cookie)) != 0)
		return -ENOENT;
	if (version > UINT32_MAX || free_threaded > 1)
		return -EINVAL;
	*ret_offsets = (struct debug_offsets){.version = (u32)version, .free_threaded = free_threaded == 1};
	return 0;
}

int decode_debug_offsets(const void *bytes, size_t sz, struct debug_offsets *ret_offsets)
{
	const struct debug_offsets_format *format;
	u64 values[DEBUG_OFFSET_COUNT] = {0};
	struct debug_offsets offsets;
	struct byte_reader reader;
	int err = decode_debug_offsets_header(bytes, sz, &offsets);

	if (err)
		return err;
	format = find_format(offsets.version);
	if (!format)
		return -ENOTSUP;
	byte_reader_init(&reader, bytes, sz);
	for (int i = 0; i < DEBUG_OFFSET_COUNT; i++) {
		if (!format_has(format, offsets.free_threaded, i))
			continue;
		byte_reader_seek(&reader, format->positions[i]);
		values[i] = byte_reader_u64(&reader);
	}
	if (reader.failed || !validate_values(format, offsets.free_threaded, values))
		return -EINVAL;
	for (int i = 0; i < DEBUG_OFFSET_COUNT; i++)
		store_value(&offsets, &value_rules[i], values[i]);
	*ret_offsets = offsets;
	return 0;
}

bool debug_offsets_agree(const struct debug_offsets *offsets, const struct py_layout *layout)
{
	const struct debug_offsets_format *format = find_format(offsets->version);

	if (!format)
		return false;
	for (int i = 0; i < DEBUG_OFFSET_COUNT; i++) {
		const struct value_rule *rule = &value_rules[i];

		if (rule->in == IS_SIZE || rule->in == IN_RUNTIME || rule->in == IN_INTERP ||
		    !format_has(format, offsets->free_threaded, i))
			continue;
		if (load_layout_field(&offsets->layout, rule) != load_layout_field(layout, rule))
			return false;
	}
	return true;
}
