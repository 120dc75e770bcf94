/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/id_map.h"

static void test_empty(void **state)
{
	struct id_map map;

	id_map_init(&map, 10);
	assert_int_equal(id_map_find(&map, 0), ID_MAP_NONE);
	assert_false(id_map_remove(&map, 0));
	id_map_clear(&map);
	id_map_release(&map);
}

static void test_any_key(void **state)
{
	struct id_map map;

	id_map_init(&map, 10);
	assert_int_equal(id_map_put(&map, 0, 7), 0);
	assert_int_equal(id_map_put(&map, UINT64_MAX, 0), 0);
	assert_int_equal(id_map_find(&map, 0), 7);
	assert_int_equal(id_map_find(&map, UINT64_MAX), 0);
	assert_int_equal(id_map_find(&map, 1), ID_MAP_NONE);
	assert_int_equal(id_map_put(&map, 0, 8), 0);
	assert_int_equal(id_map_find(&map, 0), 8);
	assert_int_equal(map.cnt, 2);
	assert_int_equal(id_map_put(&map, 1, ID_MAP_NONE), -EINVAL);
	id_map_release(&map);
}

static void test_bounded(void **state)
{
	struct id_map map;

	id_map_init(&map, 100);
	for (u64 i = 0; i < 100; i++)
		assert_int_equal(id_map_put(&map, i, (u32)i), 0);
	assert_int_equal(id_map_put(&map, 100, 100), -ENOSPC);
	assert_int_equal(id_map_find(&map, 100), ID_MAP_NONE);
	assert_int_equal(id_map_put(&map, 99, 1), 0);
	assert_true(id_map_remove(&map, 5));
	assert_int_equal(id_map_put(&map, 100, 100), 0);
	id_map_release(&map);
}

/* Random puts and removals over few keys, so that runs wrap and holes are filled, against an array. */
static void test_against_model(void **state)
{
	enum { KEYS = 700, STEPS = 200000 };
	static u32 model[KEYS];
	struct id_map map;
	u64 random = 12345;
	size_t cnt = 0;

	id_map_init(&map, KEYS);
	for (int i = 0; i < KEYS; i++)
		model[i] = ID_MAP_NONE;
	for (int step = 0; step < STEPS; step++) {
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		u32 i = (u32)(random >> 33) % KEYS;
		u64 key = (u64)i << 32 | (i % 3);

		assert_int_equal(id_map_find(&map, key), model[i]);
		if (random >> 63) {
			assert_int_equal(id_map_put(&map, key, (u32)step), 0);
			cnt += model[i] == ID_MAP_NONE;
			model[i] = (u32)step;
		} else {
			assert_int_equal(id_map_remove(&map, key), model[i] != ID_MAP_NONE);
			cnt -= model[i] != ID_MAP_NONE;
			model[i] = ID_MAP_NONE;
		}
		assert_int_equal(map.cnt, cnt);
	}
	for (u32 i = 0; i < KEYS; i++)
		assert_int_equal(id_map_find(&map, (u64)i << 32 | (i % 3)), model[i]);
	id_map_clear(&map);
	assert_int_equal(map.cnt, 0);
	assert_int_equal(id_map_find(&map, 0), ID_MAP_NONE);
	id_map_release(&map);
}

/* Past what lies on ordinary pages. */
static void test_large(void **state)
{
	enum { CNT = 200000 };
	struct id_map map;

	id_map_init(&map, CNT);
	for (u32 i = 0; i < CNT; i++)
		assert_int_equal(id_map_put(&map, (u64)i << 20, i), 0);
	assert_int_equal(id_map_put(&map, 1, 1), -ENOSPC);
	for (u32 i = 0; i < CNT; i++) {
		id_map_prefetch(&map, (u64)i << 20);
		assert_int_equal(id_map_find(&map, (u64)i << 20), i);
	}
	assert_int_equal(id_map_find(&map, 1), ID_MAP_NONE);
	id_map_release(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),	cmocka_unit_test(test_any_key),
		cmocka_unit_test(test_bounded), cmocka_unit_test(test_against_model),
		cmocka_unit_test(test_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
