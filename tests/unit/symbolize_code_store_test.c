/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "symbolize/code_store.h"

static u32 put(struct code_store *store, u64 epoch, u64 code, u32 fingerprint, size_t evicted)
{
	struct code_info info = {.key = {epoch, code, fingerprint}, .qualname_id = (u32)code};
	size_t seen = 99;
	u32 idx;

	assert_int_equal(code_store_put(store, &info, &idx, &seen), 0);
	assert_int_equal(seen, evicted);
	return idx;
}

static u32 find(struct code_store *store, u64 epoch, u64 code, u32 fingerprint)
{
	struct code_key key = {epoch, code, fingerprint};

	return code_store_find(store, &key);
}

static void test_every_part_of_the_key_counts(void **state)
{
	struct code_store *store;
	u32 idx;

	assert_int_equal(code_store_new(&store, 10), 0);
	idx = put(store, 1, 0x1000, 7, 0);
	assert_int_equal(find(store, 1, 0x1000, 7), idx);
	assert_int_equal(find(store, 2, 0x1000, 7), CODE_STORE_NONE);
	assert_int_equal(find(store, 1, 0x1008, 7), CODE_STORE_NONE);
	assert_int_equal(find(store, 1, 0x1000, 8), CODE_STORE_NONE);
	assert_int_equal(put(store, 1, 0x1000, 7, 0), idx);
	assert_int_equal(code_store_count(store), 1);
	code_store_free(store);
}

static void test_unused_ones_go_first(void **state)
{
	struct code_store *store;

	assert_int_equal(code_store_new(&store, 4), 0);
	for (u64 i = 1; i <= 4; i++)
		put(store, 1, i, 1, 0);
	/* All are marked: the hand clears the marks and takes the first. */
	put(store, 1, 5, 1, 1);
	assert_int_equal(find(store, 1, 1, 1), CODE_STORE_NONE);
	code_store_touch(store, find(store, 1, 2, 1));
	put(store, 1, 6, 1, 1);
	assert_int_not_equal(find(store, 1, 2, 1), CODE_STORE_NONE);
	assert_int_equal(find(store, 1, 3, 1), CODE_STORE_NONE);
	assert_int_equal(code_store_count(store), 4);
	code_store_free(store);
}

static void test_forget_one_epoch(void **state)
{
	struct code_store *store;

	assert_int_equal(code_store_new(&store, 1000), 0);
	for (u64 i = 1; i <= 300; i++)
		put(store, i % 3, i, 1, 0);
	assert_int_equal(code_store_forget(store, 1), 100);
	assert_int_equal(code_store_forget(store, 1), 0);
	assert_int_equal(code_store_forget(store, 99), 0);
	assert_int_equal(code_store_count(store), 200);
	for (u64 i = 1; i <= 300; i++)
		assert_int_equal(find(store, i % 3, i, 1) == CODE_STORE_NONE, i % 3 == 1);
	/* Freed entries are used again. */
	for (u64 i = 1; i <= 100; i++)
		assert_true(put(store, 5, i, 1, 0) < 300);
	assert_int_equal(code_store_clear(store), 300);
	assert_int_equal(code_store_count(store), 0);
	assert_int_equal(find(store, 5, 1, 1), CODE_STORE_NONE);
	put(store, 5, 1, 1, 0);
	code_store_free(store);
}

/* Random puts, look-ups and forgets in a small store, so that lists, clock and free list mix. */
static void test_many_steps(void **state)
{
	struct code_store *store;
	u64 random = 99;
	size_t evicted;
	u32 idx;

	assert_int_equal(code_store_new(&store, 50), 0);
	for (int step = 0; step < 100000; step++) {
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		struct code_info info = {.key = {random >> 61, (random >> 40) % 40 + 1, 1}};

		info.qualname_id = (u32)(info.key.epoch * 1000 + info.key.code);
		if ((random >> 20) % 50 == 0) {
			code_store_forget(store, info.key.epoch);
			assert_int_equal(code_store_find(store, &info.key), CODE_STORE_NONE);
			continue;
		}
		idx = code_store_find(store, &info.key);
		if (idx != CODE_STORE_NONE) {
			assert_int_equal(code_store_at(store, idx)->qualname_id, info.qualname_id);
			code_store_touch(store, idx);
			continue;
		}
		assert_int_equal(code_store_put(store, &info, &idx, &evicted), 0);
		assert_int_equal(code_store_find(store, &info.key), idx);
		assert_true(code_store_count(store) <= 50);
	}
	code_store_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_part_of_the_key_counts),
		cmocka_unit_test(test_unused_ones_go_first),
		cmocka_unit_test(test_forget_one_epoch),
		cmocka_unit_test(test_many_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
