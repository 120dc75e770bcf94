/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "../fuzz/offsets_fixture.h"
#include "runtime/layout_select.h"
#include "shared_limits.h"

static bool is_debug(const struct layout_row *row)
{
	return row->layout.traits & PY_TRAIT_DEBUG;
}

static void test_every_row_selects_itself(void **state)
{
	const struct debug_offsets_format *format;
	const struct layout_row *row;
	u8 bytes[DEBUG_OFFSETS_MAX_SZ];

	for (size_t n = 0; fixture_at(n, &format, &row); n++) {
		struct debug_offsets offsets;
		struct py_layout layout;

		fixture_table(format, row, bytes);
		assert_int_equal(
			layout_select_by_offsets(bytes, sizeof(bytes), is_debug(row), &offsets, &layout),
			PY_REFUSAL_NONE);
		assert_true(layout_is_valid(&layout));
		assert_int_equal(layout.version, format->minor << 16 | 0x01f0);
		assert_int_equal(layout.traits, row->layout.traits);
		assert_int_equal(layout.tstate_datastack_top, row->layout.tstate_datastack_top);
		assert_int_equal(layout.code_version, row->layout.code_version);
		assert_int_equal(layout.interp_code_proof, row->layout.interp_code_proof);
		assert_true(layout.tstate_sz >= layout.tstate_datastack_top + 8);
		assert_true(layout.frame_sz > layout.frame_owner &&
			    layout.frame_sz >= layout.frame_instr + 8);
		assert_true(layout.code_sz >= layout.code_linetable + 8);
	}
}

static void test_tables_without_offsets(void **state)
{
	struct py_layout layout;

	assert_int_equal(layout_select_by_version(0x030b02f0, false, &layout), PY_REFUSAL_NONE);
	assert_int_equal(layout.version, 0x030b02f0);
	assert_true(layout_is_valid(&layout));
	assert_int_equal(layout.traits, PY_TRAIT_CFRAME | PY_TRAIT_IS_ENTRY);
	assert_true(layout.runtime_gilstate_current != 0);
	assert_int_equal(layout_select_by_version(0x030c01f0, true, &layout), PY_REFUSAL_NONE);
	assert_int_equal(layout.traits, PY_TRAIT_CFRAME | PY_TRAIT_OWNER_ENTRY | PY_TRAIT_BOUND_GILSTATE |
						PY_TRAIT_CODE_VERSION | PY_TRAIT_DEBUG);
	assert_int_equal(layout.owner_entry, 3);
	/* Alphas and betas may have another layout; what candidates have is the release's. */
	assert_int_equal(layout_select_by_version(0x030c00a1, false, &layout), PY_REFUSAL_PRERELEASE);
	assert_int_equal(layout_select_by_version(0x030b00b5, true, &layout), PY_REFUSAL_PRERELEASE);
	assert_int_equal(layout_select_by_version(0x030c00c1, false, &layout), PY_REFUSAL_NONE);
	assert_int_equal(layout_select_by_version(0x03050af0, false, &layout), PY_REFUSAL_VERSION_TOO_OLD);
	assert_int_equal(layout_select_by_version(fixture_unknown_version(), false, &layout),
			 PY_REFUSAL_VERSION_UNKNOWN);
	assert_int_equal(layout_select_by_version(0, false, &layout), PY_REFUSAL_VERSION_UNKNOWN);
	assert_int_equal(layout_select_by_version(0x030d00f0, false, &layout), PY_REFUSAL_OFFSETS_INVALID);
}

/* 3.6 to 3.10; the last byte that is read of a frame is f_lasti's or f_gen's. */
static void test_frame_objects(void **state)
{
	static const u32 traits[] = {PY_TRAIT_LNOTAB, PY_TRAIT_LNOTAB, PY_TRAIT_LNOTAB, PY_TRAIT_LNOTAB,
				     PY_TRAIT_LASTI_UNITS | PY_TRAIT_LINE_RANGES};

	for (u32 minor = 6; minor <= 10; minor++) {
		struct py_layout layout;
		enum py_refusal refusal =
			layout_select_by_version(3u << 24 | minor << 16 | 0x1f0, false, &layout);

#ifdef __x86_64__
		assert_int_equal(refusal, PY_REFUSAL_NONE);
		assert_true(layout_is_valid(&layout));
		assert_int_equal(layout.traits, PY_TRAIT_FRAME_OBJECT | traits[minor - 6]);
		assert_int_equal(layout.frame_sz, layout.frame_instr + 4);
		assert_true(layout.frame_owner + 8 <= layout.frame_sz);
		assert_int_equal(layout.code_qualname, layout.code_name);
		assert_int_equal(layout.tstate_native_thread_id, 0);
		assert_int_equal(layout.runtime_interpreters_head != 0, minor > 6);
		assert_int_equal(layout_select_by_version(3u << 24 | minor << 16 | 0xa1, false, &layout),
				 PY_REFUSAL_PRERELEASE);
		assert_int_equal(layout_select_by_version(3u << 24 | minor << 16, false, &layout),
				 PY_REFUSAL_NONE); /* no more than the minor version is known */
		/* Objects of debug builds had longer heads: 3.6's frames and 3.7's strings end behind what is
		 * read of them. */
		assert_int_equal(layout_select_by_version(3u << 24 | minor << 16 | 0x1f0, true, &layout),
				 minor <= 7 ? PY_REFUSAL_LAYOUT_UNKNOWN : PY_REFUSAL_NONE);
#else
		assert_int_equal(refusal, PY_REFUSAL_NO_THREAD_IDS);
#endif
	}
}

static enum py_refusal select_with(const struct debug_offsets_format *format, const struct layout_row *row,
				   int value, u64 changed, struct py_layout *ret_layout)
{
	u8 bytes[DEBUG_OFFSETS_MAX_SZ];
	struct debug_offsets offsets;

	fixture_table(format, row, bytes);
	put_u64(bytes, format->positions[value], changed);
	return layout_select_by_offsets(bytes, sizeof(bytes), is_debug(row), &offsets, ret_layout);
}

static void test_a_build_of_other_sizes_is_refused(void **state)
{
	const struct debug_offsets_format *format;
	const struct layout_row *row;
	struct py_layout layout;

	for (size_t n = 0; fixture_at(n, &format, &row); n++) {
		assert_int_equal(select_with(format, row, DEBUG_OFFSET_TSTATE_SZ, row->tstate_struct_sz + 128,
					     &layout),
				 PY_REFUSAL_LAYOUT_UNKNOWN);
		assert_int_equal(
			select_with(format, row, DEBUG_OFFSET_FRAME_SZ, row->frame_struct_sz + 8, &layout),
			PY_REFUSAL_LAYOUT_UNKNOWN);
		assert_int_equal(
			select_with(format, row, DEBUG_OFFSET_CODE_SZ, row->code_struct_sz + 8, &layout),
			PY_REFUSAL_LAYOUT_UNKNOWN);
		/* Sound by itself, but not what this build has. */
		assert_int_equal(select_with(format, row, DEBUG_OFFSET_FRAME_OWNER,
					     row->layout.frame_owner + 1, &layout),
				 PY_REFUSAL_LAYOUT_UNKNOWN);
		assert_int_equal(select_with(format, row, DEBUG_OFFSET_FRAME_SZ, 8, &layout),
				 PY_REFUSAL_OFFSETS_INVALID);
	}
}

static void test_final_releases_may_append_to_the_thread_state(void **state)
{
	const struct debug_offsets_format *format;
	const struct layout_row *row;
	u8 bytes[DEBUG_OFFSETS_MAX_SZ];
	struct debug_offsets offsets;
	struct py_layout layout;

	for (size_t n = 0; fixture_at(n, &format, &row); n++) {
		fixture_table(format, row, bytes);
		put_u64(bytes, format->positions[DEBUG_OFFSET_TSTATE_SZ], row->tstate_struct_sz + 16);
		assert_int_equal(
			layout_select_by_offsets(bytes, sizeof(bytes), is_debug(row), &offsets, &layout),
			PY_REFUSAL_NONE);
		assert_int_equal(layout.tstate_datastack_top, row->layout.tstate_datastack_top);
		assert_false(layout.traits & PY_TRAIT_PROOF_NEXT_VERSION);
		put_u64(bytes, 8, (u64)format->minor << 16 | 0x00c1); /* a release candidate */
		assert_int_equal(
			layout_select_by_offsets(bytes, sizeof(bytes), is_debug(row), &offsets, &layout),
			PY_REFUSAL_LAYOUT_UNKNOWN);
	}
}

static void test_another_interpreter_state_costs_only_its_proof(void **state)
{
	const struct debug_offsets_format *format;
	const struct layout_row *row;
	struct py_layout layout;

	for (size_t n = 0; fixture_at(n, &format, &row); n++) {
		assert_int_equal(select_with(format, row, DEBUG_OFFSET_INTERP_SZ,
					     row->interp_struct_sz + 4096, &layout),
				 PY_REFUSAL_NONE);
		assert_false(layout.traits & PY_TRAIT_PROOF_NEXT_VERSION);
		if (format->minor == 0x030d)
			assert_int_equal(layout.interp_code_proof, 0);
		else /* the target's own table tells where it is */
			assert_true(layout.traits & PY_TRAIT_PROOF_GENERATION);
		assert_int_equal(layout.interp_id, row->layout.interp_id);
		assert_int_not_equal(layout.interp_id, 0);
	}
}

static void test_versions_and_flavours_are_named(void **state)
{
	const struct debug_offsets_format *format;
	const struct layout_row *row;
	u8 bytes[DEBUG_OFFSETS_MAX_SZ];
	struct debug_offsets offsets;
	struct py_layout layout;

	assert_true(fixture_at(0, &format, &row));
	fixture_table(format, row, bytes);
	put_u64(bytes, 8, fixture_unknown_version() | 0xa1);
	assert_int_equal(layout_select_by_offsets(bytes, sizeof(bytes), false, &offsets, &layout),
			 PY_REFUSAL_VERSION_UNKNOWN);
	assert_int_equal(offsets.version, fixture_unknown_version() | 0xa1);
	put_u64(bytes, 8, 0x030500f0);
	assert_int_equal(layout_select_by_offsets(bytes, sizeof(bytes), false, &offsets, &layout),
			 PY_REFUSAL_VERSION_TOO_OLD);
	put_u64(bytes, 8, 0x030900f0);
	put_u64(bytes, 16, 0);
	assert_true(layout_select_by_offsets(bytes, sizeof(bytes), false, &offsets, &layout) !=
		    PY_REFUSAL_NONE);
	bytes[0] = 'X';
	assert_int_equal(layout_select_by_offsets(bytes, sizeof(bytes), false, &offsets, &layout),
			 PY_REFUSAL_OFFSETS_INVALID);
}

/* Frames and code objects of the other flavour have other sizes, and objects other heads. */
static void test_free_threaded_rows_are_for_free_threaded_builds(void **state)
{
	const struct debug_offsets_format *format;
	const struct layout_row *row;
	u8 bytes[DEBUG_OFFSETS_MAX_SZ];
	struct debug_offsets offsets;
	struct py_layout layout;
	size_t seen = 0;

	for (size_t n = 0; fixture_at(n, &format, &row); n++) {
		bool free_threaded = row->layout.traits & PY_TRAIT_FREE_THREADED;

		fixture_table(format, row, bytes);
		if (free_threaded) {
			assert_int_equal(layout_select_by_offsets(bytes, sizeof(bytes), is_debug(row),
								  &offsets, &layout),
					 PY_REFUSAL_NONE);
			assert_true(offsets.free_threaded);
			assert_true(layout.object_type == 24 && layout.bytes_size == 32);
			assert_int_equal(layout.frame_tlbc_index, row->layout.frame_tlbc_index);
			assert_int_equal(layout.code_tlbc, row->layout.code_tlbc);
			assert_true(layout.frame_sz >= layout.frame_tlbc_index + 4);
			assert_true(layout.code_sz >= layout.code_tlbc + 8);
			seen++;
		}
		put_u64(bytes, 16, !free_threaded);
		assert_int_not_equal(
			layout_select_by_offsets(bytes, sizeof(bytes), is_debug(row), &offsets, &layout),
			PY_REFUSAL_NONE);
	}
	assert_true(seen >= 6);
}

static void test_every_refusal_has_its_own_words(void **state)
{
	for (int i = 0; i < PY_REFUSAL_COUNT; i++) {
		assert_non_null(py_refusal_name(i));
		assert_non_null(py_refusal_text(i));
		for (int j = 0; j < i; j++) {
			assert_string_not_equal(py_refusal_name(i), py_refusal_name(j));
			assert_string_not_equal(py_refusal_text(i), py_refusal_text(j));
		}
	}
	assert_string_equal(py_refusal_name(PY_REFUSAL_COUNT), "unknown");
	assert_string_equal(py_refusal_text((enum py_refusal) - 1), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_row_selects_itself),
		cmocka_unit_test(test_tables_without_offsets),
		cmocka_unit_test(test_frame_objects),
		cmocka_unit_test(test_a_build_of_other_sizes_is_refused),
		cmocka_unit_test(test_final_releases_may_append_to_the_thread_state),
		cmocka_unit_test(test_another_interpreter_state_costs_only_its_proof),
		cmocka_unit_test(test_versions_and_flavours_are_named),
		cmocka_unit_test(test_free_threaded_rows_are_for_free_threaded_builds),
		cmocka_unit_test(test_every_refusal_has_its_own_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
