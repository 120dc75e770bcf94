/* SPDX-License-Identifier: Apache-2.0 */
/* Offset tables with each value in turn corrupted, taken through the selection as a target's would be. What is
 * refused is done with; what is accepted all the same is walked by, over every image of that version: the stack is
 * then the true one, or not called exact. Where an image has nothing the walk reads what a target may have put there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../fuzz/offsets_fixture.h"
#include "image_fixture.h"
#include "runtime/layout_select.h"
#include "shared_limits.h"

enum {
	FRAMES_MAX = 100, /* longer stacks tell nothing more here */
	NEAR = 128,	  /* so far around the right value every one is tried */
	READS_MAX = 4 * LIMIT_WALK_VISITS,
};

/* Sizes and offsets that only lead to the thread states; all others must be the generated row's. */
static const int tried_by_walks[] = {DEBUG_OFFSET_RUNTIME_SZ,
				     DEBUG_OFFSET_RUNTIME_FINALIZING,
				     DEBUG_OFFSET_RUNTIME_INTERPRETERS_HEAD,
				     DEBUG_OFFSET_INTERP_SZ,
				     DEBUG_OFFSET_INTERP_NEXT,
				     DEBUG_OFFSET_INTERP_THREADS_HEAD,
				     DEBUG_OFFSET_TSTATE_SZ,
				     DEBUG_OFFSET_INTERP_CODE_GENERATION,
				     DEBUG_OFFSET_INTERP_ID};

static const u64 far_values[] = {UINT64_MAX,
				 UINT64_MAX - 7,
				 UINT64_MAX / 2 + 1,
				 1ULL << 32,
				 (1ULL << 32) + 8,
				 0xffff0000,
				 64 << 20,
				 (16 << 20) - 8,
				 (16 << 20) - 4,
				 1 << 20,
				 65536,
				 4096,
				 LIMIT_TSTATE_SPAN,
				 LIMIT_CODE_SPAN,
				 LIMIT_FRAME_SPAN,
				 LIMIT_UNICODE_SPAN,
				 1,
				 0};

/* One table: the image's own. */
struct table {
	const struct debug_offsets_format *format;
	const struct layout_row *row;
	u8 bytes[DEBUG_OFFSETS_MAX_SZ];
};

struct hostile_mem {
	struct image_case *c;
	u64 fill; /* stands wherever the image has nothing */
	u64 read_cnt;
};

static int hostile_read(void *ctx, u64 addr, void *ret_buf, size_t sz)
{
	struct hostile_mem *mem = ctx;
	u8 *out = ret_buf;

	mem->read_cnt++;
	if (!patched_read(&mem->c->patched, addr, ret_buf, sz))
		return 0;
	for (size_t i = 0, part; i < sz; i += part) {
		part = sz - i < sizeof(mem->fill) ? sz - i : sizeof(mem->fill);
		if (patched_read(&mem->c->patched, addr + i, &out[i], part))
			memcpy(&out[i], &mem->fill, part);
	}
	return 0;
}

static enum py_refusal select_by(const struct table *table, struct py_layout *ret_layout)
{
	struct debug_offsets offsets;

	return layout_select_by_offsets(table->bytes, sizeof(table->bytes),
					table->row->layout.traits & PY_TRAIT_DEBUG, &offsets, ret_layout);
}

/* The same but for traits that are younger than the image. */
static bool is_same_layout(const struct py_layout *a, const struct py_layout *b)
{
	const u32 flavours = PY_TRAIT_DEBUG | PY_TRAIT_FREE_THREADED;
	struct py_layout other = *b;

	other.traits = a->traits;
	return (a->traits & flavours) == (b->traits & flavours) && memcmp(a, &other, sizeof(other)) == 0;
}

/* The table that gives the layout which the image was taken with. */
static bool find_table(const struct image_case *c, struct table *ret_table)
{
	struct py_layout layout;

	for (size_t n = 0; fixture_at(n, &ret_table->format, &ret_table->row); n++) {
		fixture_table(ret_table->format, ret_table->row, ret_table->bytes);
		put_u64(ret_table->bytes, 8, c->layout.version);
		if (c->minor == ret_table->row->minor && select_by(ret_table, &layout) == PY_REFUSAL_NONE &&
		    is_same_layout(&layout, &c->layout))
			return true;
	}
	return false;
}

static bool is_truth(const struct image_case *c, const struct walker_output *walk)
{
	if (walk->frame_cnt != c->frame_cnt)
		return false;
	for (u32 i = 0; i < walk->frame_cnt; i++) {
		if (walk->frames[i].code != c->frames[i].code ||
		    walk->frames[i].instr_off != c->frames[i].instr_off)
			return false;
	}
	return true;
}

struct tally {
	u64 refused;
	u64 exact;
	u64 flagged;
};

static void walk_by(struct image_case *c, const struct py_layout *layout, u64 fill, const char *what,
		    struct tally *tally)
{
	struct hostile_mem mem = {.c = c, .fill = fill};
	struct walker_input input = image_case_input(c);
	struct walker_output walk;

	input.layout = layout;
	input.read = hostile_read;
	input.ctx = &mem;
	walker_walk(&input, &walk);
	assert_true(walk.visit_cnt <= LIMIT_WALK_VISITS + 1);
	assert_true(walk.frame_cnt <= LIMIT_SAMPLE_FRAMES);
	assert_true(mem.read_cnt <= READS_MAX);
	if (walk.status == SAMPLE_EXACT && !is_truth(c, &walk))
		fail_msg("%s: %s, 0x%llx elsewhere: an exact stack of %u frames that was not there", c->name,
			 what, (unsigned long long)fill, walk.frame_cnt);
	assert_true(walk.status == SAMPLE_EXACT || walk.reason != SAMPLE_REASON_NONE);
	tally->exact += walk.status == SAMPLE_EXACT;
	tally->flagged += walk.status != SAMPLE_EXACT;
}

static bool is_proof_kept_only_where_it_is(const struct py_layout *layout, const struct py_layout *right)
{
	const u32 proofs = PY_TRAIT_PROOF_GENERATION | PY_TRAIT_PROOF_NEXT_VERSION;

	return !(layout->traits & proofs) || (layout->interp_code_proof == right->interp_code_proof &&
					      layout->interp_id == right->interp_id);
}

static void try_value(struct image_case *c, const struct table *right, int value, u64 corrupt,
		      struct tally *tally)
{
	u64 interp = image_case_u64(c, c->tstate + c->layout.tstate_interp);
	const u64 fills[] = {0, UINT64_MAX, interp, c->tstate, c->chain[0].addr};
	struct table table = *right;
	struct py_layout layout;
	char what[64];

	put_u64(table.bytes, right->format->positions[value], corrupt);
	if (select_by(&table, &layout) != PY_REFUSAL_NONE) {
		tally->refused++;
		return;
	}
	snprintf(what, sizeof(what), "value %d is 0x%llx", value, (unsigned long long)corrupt);
	if (!layout_is_valid(&layout) || !is_proof_kept_only_where_it_is(&layout, &c->layout))
		fail_msg("%s: %s: accepted", c->name, what);
	for (size_t i = 0; i < sizeof(fills) / sizeof(fills[0]); i++)
		walk_by(c, &layout, fills[i], what, tally);
}

static void try_values(struct image_case *c, const struct table *table, int value, struct tally *tally)
{
	u64 right;

	memcpy(&right, table->bytes + table->format->positions[value], sizeof(right));
	for (size_t i = 0; i < sizeof(far_values) / sizeof(far_values[0]); i++)
		try_value(c, table, value, far_values[i], tally);
	for (u64 near = right > NEAR ? right - NEAR : 0; near < right + NEAR; near++)
		try_value(c, table, value, near, tally);
	/* What another value should be is where something sensible lies. */
	for (int other = 0; other < DEBUG_OFFSET_COUNT; other++) {
		u64 swapped;

		memcpy(&swapped, table->bytes + table->format->positions[other], sizeof(swapped));
		if (table->format->positions[other])
			try_value(c, table, value, swapped, tally);
	}
}

static bool is_usable(struct image_case *c, struct table *ret_table)
{
	if (c->minor < 0x030d || c->frame_cnt > FRAMES_MAX)
		return false;
	if (!find_table(c, ret_table))
		fail_msg("%s: no table gives its layout", c->name);
	return true;
}

static void wrong_ways_to_the_threads_are_harmless(void **state)
{
	struct tally tally = {0};
	struct table table;

	for (size_t i = 0; i < case_cnt; i++) {
		if (!is_usable(&cases[i], &table))
			continue;
		for (size_t j = 0; j < sizeof(tried_by_walks) / sizeof(tried_by_walks[0]); j++) {
			if (table.format->positions[tried_by_walks[j]])
				try_values(&cases[i], &table, tried_by_walks[j], &tally);
		}
	}
	print_message("%llu refused, %llu exact and true, %llu flagged\n", (unsigned long long)tally.refused,
		      (unsigned long long)tally.exact, (unsigned long long)tally.flagged);
	assert_true(tally.refused > 1000 && tally.exact > 1000 && tally.flagged > 1000);
}

static bool is_tried_by_walks(int value)
{
	for (size_t i = 0; i < sizeof(tried_by_walks) / sizeof(tried_by_walks[0]); i++) {
		if (tried_by_walks[i] == value)
			return true;
	}
	return false;
}

/* Of thread states, frames, code objects and strings nothing but the row's own values is taken. */
static void all_other_values_are_the_rows(void **state)
{
	const struct debug_offsets_format *format;
	const struct layout_row *row;

	for (size_t n = 0; fixture_at(n, &format, &row); n++) {
		bool is_free_threaded = row->layout.traits & PY_TRAIT_FREE_THREADED;
		struct table table = {.format = format, .row = row};
		struct py_layout layout;

		for (int value = 0; value < DEBUG_OFFSET_COUNT; value++) {
			bool is_known =
				value != DEBUG_OFFSET_FRAME_TLBC_INDEX && value != DEBUG_OFFSET_CODE_TLBC;
			u64 right;

			if (!format->positions[value] || is_tried_by_walks(value) ||
			    !(is_known || is_free_threaded))
				continue;
			fixture_table(format, row, table.bytes);
			memcpy(&right, table.bytes + format->positions[value], sizeof(right));
			for (u64 corrupt = 0; corrupt < 1024; corrupt++) {
				put_u64(table.bytes, format->positions[value], corrupt);
				if (corrupt != right && select_by(&table, &layout) == PY_REFUSAL_NONE)
					fail_msg("value %d of 0x%x accepted as %llu", value, format->minor,
						 (unsigned long long)corrupt);
			}
			for (size_t i = 0; i < sizeof(far_values) / sizeof(far_values[0]); i++) {
				put_u64(table.bytes, format->positions[value], far_values[i]);
				if (far_values[i] != right)
					assert_int_not_equal(select_by(&table, &layout), PY_REFUSAL_NONE);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_other_values_are_the_rows),
		cmocka_unit_test(wrong_ways_to_the_threads_are_harmless),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
