/* SPDX-License-Identifier: Apache-2.0 */
#include "awaited_stack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct stack_ticket TICKET = {.epoch = 7, .tid = 100, .ticket = 1};

static struct profile_sample sample_at(u64 time_ns, const u32 *frame_ids, size_t cnt)
{
	return (struct profile_sample){
		.process_id = 3,
		.tid = 100,
		.thread_comm = "worker\0\0\0\0\0\0\0\0\0",
		.time_ns = time_ns,
		.weight_ns = 10,
		.status = SAMPLE_TRUNCATED,
		.reason = SAMPLE_REASON_BUDGET,
		.frame_ids = frame_ids,
		.frame_cnt = cnt,
	};
}

static struct awaited_stacks *awaited_new(void **state)
{
	struct awaited_stacks *awaited;

	(void)state;
	assert_int_equal(awaited_stacks_new(&awaited), 0);
	return awaited;
}

static void put(struct awaited_stacks *awaited, const struct stack_ticket *ticket, u64 time_ns)
{
	u32 ids[2] = {11, 12};
	struct profile_sample sample = sample_at(time_ns, ids, 2);
	const struct profile_sample *oldest;

	awaited_stacks_put(awaited, ticket, &sample, &oldest);
	assert_null(oldest);
}

/* The copy holds after the caller's frames and name are gone. */
static void test_take(void **state)
{
	struct awaited_stacks *awaited = awaited_new(state);
	const struct profile_sample *taken;

	put(awaited, &TICKET, 50);
	taken = awaited_stacks_take(awaited, &TICKET);
	assert_non_null(taken);
	assert_int_equal(taken->time_ns, 50);
	assert_int_equal(taken->frame_cnt, 2);
	assert_int_equal(taken->frame_ids[0], 11);
	assert_int_equal(taken->frame_ids[1], 12);
	assert_string_equal(taken->thread_comm, "worker");
	assert_null(awaited_stacks_take(awaited, &TICKET));
	assert_int_equal(awaited_stacks_count(awaited), 0);
	awaited_stacks_free(awaited);
}

/* Thread, image and ticket must all agree; several samples may await one ticket. */
static void test_ticket(void **state)
{
	struct awaited_stacks *awaited = awaited_new(state);
	const struct stack_ticket others[] = {{8, 100, 1}, {7, 101, 1}, {7, 100, 2}};

	put(awaited, &TICKET, 1);
	put(awaited, &TICKET, 2);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_null(awaited_stacks_take(awaited, &others[i]));
	assert_non_null(awaited_stacks_take(awaited, &TICKET));
	assert_non_null(awaited_stacks_take(awaited, &TICKET));
	assert_null(awaited_stacks_take(awaited, &TICKET));
	awaited_stacks_free(awaited);
}

static void test_expire(void **state)
{
	struct awaited_stacks *awaited = awaited_new(state);
	const struct stack_ticket other = {7, 100, 2};

	put(awaited, &TICKET, 10);
	put(awaited, &other, 20);
	assert_null(awaited_stacks_expire(awaited, 10));
	assert_int_equal(awaited_stacks_expire(awaited, 11)->time_ns, 10);
	assert_null(awaited_stacks_expire(awaited, 20));
	assert_int_equal(awaited_stacks_expire(awaited, ~0ULL)->time_ns, 20);
	assert_null(awaited_stacks_expire(awaited, ~0ULL));
	awaited_stacks_free(awaited);
}

/* No sample is ever dropped: the oldest is handed out to make room. */
static void test_full(void **state)
{
	enum { MANY = 100000 };
	struct awaited_stacks *awaited = awaited_new(state);
	u32 id = 1;
	size_t out = 0;

	for (u32 i = 0; i < MANY; i++) {
		struct stack_ticket ticket = {7, i, 1};
		struct profile_sample sample = sample_at(i, &id, 1);
		const struct profile_sample *oldest;

		awaited_stacks_put(awaited, &ticket, &sample, &oldest);
		if (oldest)
			assert_int_equal(oldest->time_ns, out++);
	}
	assert_int_equal(out + awaited_stacks_count(awaited), MANY);
	while (awaited_stacks_expire(awaited, ~0ULL))
		out++;
	assert_int_equal(out, MANY);
	awaited_stacks_free(awaited);
}

static void test_result(void **state)
{
	struct awaited_stacks *awaited = awaited_new(state);
	struct awaited_result result = {.ticket = TICKET, .node = 9, .status = SAMPLE_COMPLETED};
	const struct stack_ticket none = {0, 0, 0};

	assert_null(awaited_stacks_find(awaited, &TICKET));
	assert_null(awaited_stacks_find(awaited, &none));
	awaited_stacks_note(awaited, &result);
	assert_int_equal(awaited_stacks_find(awaited, &TICKET)->node, 9);
	assert_null(awaited_stacks_find(awaited, &(struct stack_ticket){7, 100, 2}));
	assert_null(awaited_stacks_find(awaited, &(struct stack_ticket){8, 100, 1}));
	awaited_stacks_free(awaited);
}

/* Chunks count only in their order, and all of them. */
static void test_parts(void **state)
{
	struct awaited_stacks *awaited = awaited_new(state);
	struct stack_part *part;

	assert_null(awaited_stacks_part(awaited, &TICKET, 1));
	part = awaited_stacks_part(awaited, &TICKET, 0);
	assert_non_null(part);
	assert_int_equal(part->frame_cnt, 0);
	part->chunk_cnt++;
	assert_ptr_equal(awaited_stacks_part(awaited, &TICKET, 1), part);
	assert_null(awaited_stacks_part(awaited, &TICKET, 2));
	assert_null(awaited_stacks_part(awaited, &(struct stack_ticket){7, 100, 2}, 1));
	awaited_stacks_free(awaited);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_take), cmocka_unit_test(test_ticket), cmocka_unit_test(test_expire),
		cmocka_unit_test(test_full), cmocka_unit_test(test_result), cmocka_unit_test(test_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
