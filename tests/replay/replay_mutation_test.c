/* SPDX-License-Identifier: Apache-2.0 */
/* Random damage: seeded bit flips in every image. The walk must end within its limits, its output stay inside
 * its buffers, and what is called exact must be explained by the bits that were flipped.
 *
 *   REPLAY_MUTATIONS=N   walks per image (20,000)
 *   REPLAY_SEED=N        another sequence
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "image_case.h"

enum {
	MUTATIONS = 20000,
	/* Long stacks take longer: as many frames in all. */
	FRAMES_PER_IMAGE = 2000000,
	FLIPS_MAX = 3,
	/* A step reads at most once or twice; the search for the state 82 times 3; each of 4,096 frames its
	 * fingerprint in up to 9 reads, and 32 code objects 12 reads each. */
	READS_MAX = 2 * 2 * LIMIT_WALK_VISITS + 1000 + 9 * LIMIT_SAMPLE_FRAMES + 12 * LIMIT_NEW_CODES,
};

static u64 g_random;

static u64 next_random(void)
{
	g_random ^= g_random << 13;
	g_random ^= g_random >> 7;
	g_random ^= g_random << 17;
	return g_random;
}

static u64 setting(const char *name, u64 otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

/* What a flipped bit can change. */
enum target {
	TARGET_EXECUTABLE = 1,
	TARGET_INSTR = 2,
	TARGET_STRUCTURE = 4,
	TARGET_OWNER = 8,
	TARGET_OTHER = 16,
};

static enum target flip_at(struct image_case *c, u64 addr, unsigned bit, enum target target)
{
	u8 byte;

	if (patched_read(&c->patched, addr, &byte, 1) != 0)
		return TARGET_OTHER;
	patch_u8(c, addr, byte ^ (u8)(1u << bit));
	return target;
}

static enum target flip_in_frame(struct image_case *c)
{
	const struct py_layout *layout = &c->layout;
	const struct chain_link *link = &c->chain[next_random() % c->chain_cnt];
	unsigned bit = next_random() % 8;
	u64 byte = next_random() % 8;

	switch (next_random() % 5) {
	case 0:
		return flip_at(c, link->addr + layout->frame_executable + byte, bit, TARGET_EXECUTABLE);
	case 1:
		return flip_at(c, link->addr + layout->frame_instr + byte, bit, TARGET_INSTR);
	case 2:
		if (image_case_has_objects(c))
			return flip_at(c, link->addr + layout->frame_owner + byte, bit, TARGET_STRUCTURE);
		return flip_at(c, link->addr + layout->frame_owner, bit, TARGET_STRUCTURE | TARGET_OWNER);
	case 3:
		if (layout->traits & PY_TRAIT_IS_ENTRY)
			return flip_at(c, link->addr + layout->frame_is_entry, bit, TARGET_STRUCTURE);
		/* fall through */
	default:
		return flip_at(c, link->addr + layout->frame_previous + byte, bit, TARGET_STRUCTURE);
	}
}

static enum target flip(struct image_case *c)
{
	unsigned bit = next_random() % 8;

	switch (next_random() % 8) {
	case 0:
		return flip_at(c, c->tstate + next_random() % c->layout.tstate_sz, bit, TARGET_STRUCTURE);
	case 1:
		return flip_at(c, c->leaf_slot + next_random() % 8, bit, TARGET_STRUCTURE);
	case 2:
		return flip_at(
			c, c->frames[next_random() % c->frame_cnt].code + next_random() % c->layout.code_sz,
			bit, TARGET_OTHER);
	case 3:
		if (image_case_has_objects(c))
			return flip_in_frame(c);
		return flip_at(c,
			       image_case_u64(c, c->tstate + c->layout.tstate_datastack_chunk) +
				       next_random() % c->layout.chunk_data,
			       bit, TARGET_STRUCTURE);
	default:
		return flip_in_frame(c);
	}
}

static bool is_subsequence(const struct image_case *c, const struct walker_output *walk)
{
	u32 at = 0;

	for (u32 i = 0; i < walk->frame_cnt; i++) {
		while (at < c->frame_cnt && (walk->frames[i].code != c->frames[at].code ||
					     walk->frames[i].instr_off != c->frames[at].instr_off))
			at++;
		if (at++ == c->frame_cnt)
			return false;
	}
	return true;
}

/* The chain itself was not touched: the same frames, each field the old one or flipped. */
static void assert_same_chain(struct image_case *c, const struct walker_output *walk, unsigned targets)
{
	u32 changed = 0;

	assert_int_equal(walk->frame_cnt, c->frame_cnt);
	for (u32 i = 0; i < walk->frame_cnt; i++) {
		bool same_code = walk->frames[i].code == c->frames[i].code;
		bool same_instr = walk->frames[i].instr_off == c->frames[i].instr_off;

		if (!(targets & TARGET_EXECUTABLE))
			assert_true(same_code);
		if (!(targets & (TARGET_EXECUTABLE | TARGET_INSTR)))
			assert_true(same_instr);
		changed += !same_code || !same_instr;
	}
	assert_true(changed <= FLIPS_MAX);
}

/* A leaf at datastack_top is one that was popped this moment; what lies there did run once. */
static bool leaf_is_popped(struct image_case *c)
{
	return !image_case_has_objects(c) &&
	       image_case_u64(c, c->leaf_slot) ==
		       image_case_u64(c, c->tstate + c->layout.tstate_datastack_top);
}

struct tally {
	u64 exact;
	u64 flagged;
	u64 unexplained;
};

static void mutate_once(struct image_case *c, struct tally *tally)
{
	unsigned flips = 1 + next_random() % FLIPS_MAX;
	struct walker_output walk;
	unsigned targets = 0;

	for (unsigned i = 0; i < flips; i++)
		targets |= flip(c);
	image_case_walk(c, &walk);
	assert_true(walk.visit_cnt <= LIMIT_WALK_VISITS + 1);
	assert_true(walk.frame_cnt <= LIMIT_SAMPLE_FRAMES);
	assert_true(walk.read_cnt <= READS_MAX);
	assert_true(walk.status == SAMPLE_EXACT || walk.reason != SAMPLE_REASON_NONE);
	assert_true(walk.status != SAMPLE_EXACT || !walk.reason);
	if (walk.status != SAMPLE_EXACT) {
		tally->flagged++;
	} else if (!(targets & TARGET_STRUCTURE)) {
		assert_same_chain(c, &walk, targets);
		tally->exact++;
	} else {
		/* A changed link may skip frames and end right: nothing in memory tells that from a call
		 * that was never made. Frames that were not there are another matter, unless an entry
		 * frame says that it is a generator's. */
		tally->exact++;
		tally->unexplained += !(targets & (TARGET_EXECUTABLE | TARGET_INSTR | TARGET_OWNER)) &&
				      !leaf_is_popped(c) && !is_subsequence(c, &walk);
	}
	patch_none(c);
}

static void bit_flips_are_survived(void **state)
{
	struct image_case *cases;
	size_t case_cnt = image_cases_load(&cases);
	u64 mutations = setting("REPLAY_MUTATIONS", MUTATIONS);
	struct tally tally = {0};

	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];
		u64 rounds = mutations;

		if (rounds * c->frame_cnt > FRAMES_PER_IMAGE)
			rounds = FRAMES_PER_IMAGE / c->frame_cnt;
		/* Each image has a sequence of its own, so that one can be run alone. */
		g_random = setting("REPLAY_SEED", 1) * 0x9e3779b97f4a7c15ULL + i + 1;
		for (u64 round = 0; round < rounds; round++)
			mutate_once(c, &tally);
	}
	print_message("%llu exact, %llu flagged, %llu exact with frames that were not there\n",
		      (unsigned long long)tally.exact, (unsigned long long)tally.flagged,
		      (unsigned long long)tally.unexplained);
	assert_true(tally.flagged > tally.exact / 4);
	assert_int_equal(tally.unexplained, 0);
	image_cases_free(cases, case_cnt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bit_flips_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
