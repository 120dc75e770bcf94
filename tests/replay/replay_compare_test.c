/* SPDX-License-Identifier: Apache-2.0 */
/* The comparison of the walk with one frame by frame: finds no difference in any image, and every one that is
 * planted: a frame that the second walk finds changed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "image_fixture.h"

/* Memory in which the frame at `addr`, read alone for the `nth` time (from 1 on), is another one. */
struct liar {
	struct image_case *image;
	u64 addr;
	size_t nth;
	size_t seen;
	size_t field; /* of the frame: where a bit is flipped */
};

static int lie(void *ctx, u64 addr, void *ret_buf, size_t sz)
{
	struct liar *liar = ctx;
	int err = patched_read(&liar->image->patched, addr, ret_buf, sz);

	if (!err && addr == liar->addr && sz == liar->image->layout.frame_sz && ++liar->seen == liar->nth)
		((u8 *)ret_buf)[liar->field] ^= 8;
	return err;
}

static void walk_compared(struct liar *liar, u32 compare, struct walker_output *ret_output)
{
	struct walker_input input = image_case_input(liar->image);

	/* The same reads each time. */
	walker_reset();
	input.epoch = 1;
	input.read = lie;
	input.ctx = liar;
	input.compare = compare;
	liar->seen = 0;
	walker_walk(&input, ret_output);
}

static void images_do_not_differ(void **state)
{
	for (size_t i = 0; i < case_cnt; i++) {
		struct liar liar = {.image = &cases[i]};
		struct walker_output walk;

		walk_compared(&liar, 1, &walk);
		assert_int_equal(walk.compared, walk.status != SAMPLE_NONE);
		assert_int_equal(walk.compared_different, 0);
	}
}

/* A frame by frame walk must see it, the walk itself must not have. */
static void assert_found(struct image_case *c, size_t link, size_t field)
{
	struct liar liar = {.image = c, .addr = c->chain[link].addr, .field = field};
	struct walker_output walk;

	walk_compared(&liar, 0, &walk);
	liar.nth = liar.seen + 1;
	walk_compared(&liar, 1, &walk);
	assert_int_equal(walk.frame_cnt, c->frame_cnt);
	if (walk.compared_different != 1)
		fail_msg("%s: link %zu, field %zu: not found", c->name, link, field);
}

static void planted_ones_are_found(void **state)
{
	size_t planted = 0;

	for (size_t i = 0; i < case_cnt; i++) {
		struct image_case *c = &cases[i];

		for (size_t link = 0; link < c->chain_cnt; link++) {
			if (!c->chain[link].is_shown)
				continue;
			assert_found(c, link, c->layout.frame_executable);
			assert_found(c, link, c->layout.frame_instr);
			planted += 2;
		}
	}
	assert_true(planted > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(images_do_not_differ),
		cmocka_unit_test(planted_ones_are_found),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
