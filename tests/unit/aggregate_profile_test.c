/* SPDX-License-Identifier: Apache-2.0 */
/* profile, with the stack tree and the hottest functions underneath. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregate/profile.h"
#include "aggregate/stack_tree.h"

static struct profile *new_profile(size_t max_nodes, size_t max_threads)
{
	struct profile_config config = {.max_nodes = max_nodes, .max_threads = max_threads};
	struct profile *profile;

	assert_int_equal(profile_new(&profile, &config), 0);
	return profile;
}

static u32 frame_id(struct profile *profile, const char *name, const char *file, s32 line)
{
	struct string_table *strings = frame_table_strings(profile_frames(profile));
	struct frame frame = {.line = line};
	u32 id;

	assert_int_equal(string_table_intern(strings, name, strlen(name), &frame.qualname_id), 0);
	assert_int_equal(string_table_intern(strings, file, strlen(file), &frame.file_id), 0);
	assert_int_equal(frame_table_intern(profile_frames(profile), &frame, &id), 0);
	return id;
}

static struct profile_sample sample_of(u32 process_id, u32 tid, const u32 *frame_ids, size_t cnt)
{
	return (struct profile_sample){
		.process_id = process_id,
		.tid = tid,
		.thread_comm = "python3",
		.weight_ns = 1000,
		.frame_ids = frame_ids,
		.frame_cnt = cnt,
	};
}

static void add(struct profile *profile, u32 process_id, u32 tid, const u32 *frame_ids, size_t cnt)
{
	struct profile_sample sample = sample_of(process_id, tid, frame_ids, cnt);

	assert_int_equal(profile_add(profile, &sample, NULL), 0);
}

/* All stacks as text, "process/tid/status/reason[/folded]: root leaf=samples;". */
static int print_stack(void *ctx, const struct profile_stack *stack)
{
	FILE *out = ctx;

	fprintf(out, "%u/%u/%u/%u%s:", stack->process_id, stack->tid, stack->status, stack->reason,
		stack->folded ? "/folded" : "");
	for (size_t i = 0; i < stack->frame_cnt; i++)
		fprintf(out, " %u", stack->frame_ids[i]);
	fprintf(out, "=%llu;", (unsigned long long)stack->samples);
	return 0;
}

static void assert_stacks(const struct profile *profile, const char *want)
{
	char *text = NULL;
	size_t sz;
	FILE *out = open_memstream(&text, &sz);

	assert_non_null(out);
	assert_int_equal(profile_for_each_stack(profile, print_stack, out), 0);
	fclose(out);
	assert_string_equal(text, want);
	free(text);
}

static void test_adds_up(void **state)
{
	struct profile *profile = new_profile(0, 0);
	const u32 deep[] = {4, 3, 2}, other[] = {5, 3, 2}, shallow[] = {2};

	add(profile, 0, 10, deep, 3);
	add(profile, 0, 10, deep, 3);
	add(profile, 0, 10, other, 3);
	add(profile, 0, 10, shallow, 1);
	add(profile, 0, 10, deep, 3);
	add(profile, 0, 11, deep, 3);
	add(profile, 3, 10, deep, 3);
	assert_stacks(profile, "0/10/0/0: 2 3 4=3;0/10/0/0: 2 3 5=1;0/10/0/0: 2=1;0/11/0/0: 2 3 4=1;"
			       "3/10/0/0: 2 3 4=1;");
	assert_int_equal(profile_totals(profile)->samples, 7);
	assert_int_equal(profile_totals(profile)->weight_ns, 7000);
	assert_int_equal(profile_process_totals(profile, 0)->samples, 6);
	assert_int_equal(profile_process_totals(profile, 3)->samples, 1);
	assert_int_equal(profile_process_count(profile), 2);
	assert_null(profile_process_totals(profile, 1));
	assert_null(profile_process_totals(profile, 99999));
	assert_int_equal(profile_thread_count(profile), 3);
	profile_free(profile);
	profile_free(NULL);
}

static void test_status_and_reason_stay_apart(void **state)
{
	struct profile *profile = new_profile(0, 0);
	const u32 frames[] = {2, 0};
	struct profile_sample sample = sample_of(0, 1, frames, 2);

	add(profile, 0, 1, frames, 2);
	sample.status = SAMPLE_TRUNCATED;
	sample.reason = SAMPLE_REASON_PAGE_FAULT;
	sample.unnamed_cnt = 2;
	sample.lineless_cnt = 1;
	assert_int_equal(profile_add(profile, &sample, NULL), 0);
	sample.reason = SAMPLE_REASON_CYCLE;
	sample.unnamed_cnt = 0;
	sample.lineless_cnt = 0;
	assert_int_equal(profile_add(profile, &sample, NULL), 0);
	sample.status = SAMPLE_NONE;
	sample.reason = SAMPLE_REASON_NO_FRAMES;
	sample.frame_cnt = 0;
	sample.frame_ids = NULL;
	assert_int_equal(profile_add(profile, &sample, NULL), 0);
	assert_stacks(profile, "0/1/0/0: 0 2=1;0/1/3/2: 0 2=1;0/1/3/4: 0 2=1;0/1/4/8:=1;");
	assert_int_equal(profile_totals(profile)->by_status[SAMPLE_TRUNCATED], 2);
	assert_int_equal(profile_totals(profile)->by_reason[SAMPLE_REASON_CYCLE], 1);
	assert_int_equal(profile_totals(profile)->unnamed_samples, 1);
	assert_int_equal(profile_totals(profile)->unnamed_frames, 2);
	assert_int_equal(profile_totals(profile)->lineless_samples, 1);
	assert_int_equal(profile_totals(profile)->lineless_frames, 1);
	sample.status = SAMPLE_STATUS_COUNT;
	assert_int_equal(profile_add(profile, &sample, NULL), -EINVAL);
	sample.status = SAMPLE_NONE;
	sample.reason = SAMPLE_REASON_COUNT;
	assert_int_equal(profile_add(profile, &sample, NULL), -EINVAL);
	sample.reason = 0;
	sample.process_id = UINT32_MAX;
	assert_int_equal(profile_add(profile, &sample, NULL), -EINVAL);
	assert_int_equal(profile_totals(profile)->samples, 4);
	profile_free(profile);
}

static void test_full_tree_folds(void **state)
{
	struct profile *profile = new_profile(3, 0);
	const u32 known[] = {4, 3, 2}, deeper[] = {6, 5, 4, 3, 2}, fresh[] = {9, 8};

	add(profile, 0, 1, known, 3);
	add(profile, 0, 1, deeper, 5);
	add(profile, 0, 1, deeper, 5);
	add(profile, 0, 1, fresh, 2);
	/* Three leaves are the limit too: the fourth goes to an ancestor, at last the root. */
	add(profile, 0, 2, known, 3);
	assert_stacks(profile, "0/1/0/0: 2 3 4=1;0/1/0/0/folded: 2 3 4=2;0/1/0/0/folded:=1;"
			       "0/2/0/0/folded:=1;");
	assert_int_equal(profile_totals(profile)->folded_samples, 4);
	assert_int_equal(profile_totals(profile)->flawed_samples, 4);
	assert_int_equal(profile_totals(profile)->samples, 5);
	profile_free(profile);
}

static void test_too_many_threads(void **state)
{
	struct profile *profile = new_profile(0, 2);
	const u32 frames[] = {2};

	for (u32 tid = 1; tid <= 4; tid++)
		add(profile, 0, tid, frames, 1);
	add(profile, 1, 9, frames, 1);
	add(profile, 0, 2, frames, 1);
	assert_stacks(profile, "0/1/0/0: 2=1;0/2/0/0: 2=2;0/0/0/0: 2=2;1/0/0/0: 2=1;");
	assert_int_equal(profile_totals(profile)->folded_thread_samples, 3);
	/* Their stacks are whole. */
	assert_int_equal(profile_totals(profile)->flawed_samples, 0);
	assert_int_equal(profile_process_totals(profile, 0)->folded_thread_samples, 2);
	profile_free(profile);
}

/* A frame that found no room is counted once a sample, wherever in the stack. */
static void test_too_many_frames(void **state)
{
	struct profile *profile = new_profile(0, 0);
	const u32 whole[] = {3, 2}, leaf[] = {FRAME_ID_FOLDED, 2},
		  root[] = {2, FRAME_ID_FOLDED, FRAME_ID_FOLDED};
	struct profile_sample again = sample_of(0, 1, NULL, 0), sample = sample_of(0, 1, root, 3);
	u32 node;

	(void)state;
	add(profile, 0, 1, whole, 2);
	add(profile, 0, 1, leaf, 2);
	assert_int_equal(profile_add(profile, &sample, &node), 0);
	assert_int_equal(profile_repeat(profile, &again, node), 0);
	assert_int_equal(profile_totals(profile)->folded_frame_samples, 3);
	assert_int_equal(profile_totals(profile)->flawed_samples, 3);
	assert_int_equal(profile_totals(profile)->folded_samples, 0);
	profile_free(profile);
}

static int on_name(void *ctx, const struct profile_stack *stack)
{
	assert_string_equal(stack->thread_name, ctx);
	return 7;
}

static void test_last_thread_name_wins(void **state)
{
	struct profile *profile = new_profile(0, 0);
	const u32 frames[] = {2};
	struct profile_sample sample = sample_of(0, 1, frames, 1);

	add(profile, 0, 1, frames, 1);
	sample.thread_comm = "a name far too long";
	assert_int_equal(profile_add(profile, &sample, NULL), 0);
	sample.thread_comm = NULL;
	assert_int_equal(profile_add(profile, &sample, NULL), 0);
	assert_int_equal(profile_for_each_stack(profile, on_name, "a name far too "), 7);
	sample.thread_comm = "x";
	assert_int_equal(profile_add(profile, &sample, NULL), 0);
	assert_int_equal(profile_for_each_stack(profile, on_name, "x"), 7);
	profile_free(profile);
}

static int collect(void *ctx, const struct profile_stack *stack)
{
	u64 *sums = ctx;
	u64 sum = 0;

	for (size_t i = 0; i < stack->frame_cnt; i++)
		sum = sum * 31 + stack->frame_ids[i];
	sums[0] += stack->samples;
	sums[1] += sum * stack->samples;
	return 0;
}

/* Random stacks, deeper than what is remembered of a thread, of more threads than are remembered. */
static void test_many_stacks(void **state)
{
	enum { SAMPLES = 3000, DEPTH = 900 };
	struct profile *profile = new_profile(0, 0);
	u64 random = 1, want = 0, sums[2] = {0};
	static u32 frames[DEPTH];

	for (int i = 0; i < SAMPLES; i++) {
		u64 sum = 0;
		size_t cnt;

		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		cnt = (random >> 33) % DEPTH;
		for (size_t depth = 0; depth < cnt; depth++) {
			/* Root first the same, so that most of it is shared. */
			frames[cnt - 1 - depth] = 2 + (u32)(depth % 7 + (depth > 500 ? random >> 62 : 0));
			sum = sum * 31 + frames[cnt - 1 - depth];
		}
		want += sum;
		add(profile, (u32)(random >> 40) % 3, (u32)(random >> 50) % 400, frames, cnt);
	}
	assert_int_equal(profile_for_each_stack(profile, collect, sums), 0);
	assert_int_equal(sums[0], SAMPLES);
	assert_true(sums[1] == want);
	profile_free(profile);
}

static void test_hottest(void **state)
{
	struct profile *profile = new_profile(0, 0);
	struct string_table *strings = frame_table_strings(profile_frames(profile));
	struct profile_function functions[10];
	u32 main_id = frame_id(profile, "main", "a.py", 1);
	u32 work[] = {frame_id(profile, "work", "a.py", 5), main_id};
	u32 work_too[] = {frame_id(profile, "work", "a.py", 6), main_id};
	u32 other[] = {frame_id(profile, "work", "b.py", 5), main_id};
	u32 alpha[] = {frame_id(profile, "alpha", "b.py", 5), main_id};
	u32 unnamed[] = {FRAME_ID_UNNAMED, main_id};

	assert_int_equal(profile_hottest(profile, functions, 10), 0);
	add(profile, 0, 1, work, 2);
	add(profile, 0, 1, work_too, 2);
	add(profile, 1, 1, work_too, 2);
	add(profile, 0, 1, other, 2);
	add(profile, 0, 1, alpha, 2);
	add(profile, 0, 1, unnamed, 2);
	assert_int_equal(profile_hottest(profile, functions, 10), 3);
	assert_string_equal(string_table_at(strings, functions[0].qualname_id, NULL), "work");
	assert_int_equal(functions[0].self_samples, 3);
	assert_int_equal(functions[0].self_weight_ns, 3000);
	assert_string_equal(string_table_at(strings, functions[1].qualname_id, NULL), "alpha");
	assert_string_equal(string_table_at(strings, functions[2].file_id, NULL), "b.py");
	assert_int_equal(profile_hottest(profile, functions, 1), 1);
	profile_free(profile);
}

static void test_stack_tree(void **state)
{
	struct stack_tree *tree;
	u32 first, second, again;
	u64 first_key, second_key;

	assert_int_equal(stack_tree_new(&tree, 2), 0);
	first_key = stack_tree_key(tree, 0, 0);
	second_key = stack_tree_key(tree, first_key, 0);
	stack_tree_prefetch(tree, first_key); /* of an empty tree: nothing happens */
	assert_int_equal(stack_tree_child(tree, STACK_TREE_ROOT, 0, first_key, &first), 0);
	assert_int_equal(stack_tree_child(tree, first, 0, second_key, &second), 0);
	assert_int_equal(stack_tree_child(tree, STACK_TREE_ROOT, 0, first_key, &again), 0);
	assert_int_equal(again, first);
	assert_int_equal(stack_tree_child(tree, second, 0, stack_tree_key(tree, second_key, 0), &again),
			 -ENOSPC);
	assert_int_equal(stack_tree_parent(tree, second), first);
	assert_int_equal(stack_tree_parent(tree, STACK_TREE_ROOT), STACK_TREE_ROOT);
	assert_int_equal(stack_tree_depth(tree, second), 2);
	assert_int_equal(stack_tree_count(tree), 3);
	stack_tree_free(tree);
}

/* Three children that want one place stay three. */
static void test_stack_tree_equal_keys(void **state)
{
	enum { CHILDREN = 3 };
	struct stack_tree *tree;
	u32 nodes[CHILDREN], again;

	assert_int_equal(stack_tree_new(&tree, 10), 0);
	for (u32 i = 0; i < CHILDREN; i++)
		assert_int_equal(stack_tree_child(tree, STACK_TREE_ROOT, i, 42, &nodes[i]), 0);
	for (u32 i = 0; i < CHILDREN; i++) {
		assert_int_equal(stack_tree_child(tree, STACK_TREE_ROOT, i, 42, &again), 0);
		assert_int_equal(again, nodes[i]);
		assert_int_equal(stack_tree_frame(tree, nodes[i]), i);
	}
	assert_int_equal(stack_tree_count(tree), 1 + CHILDREN);
	stack_tree_free(tree);
}

/* A repeat counts where the stack was added, for any thread that has it. */
static void test_repeat(void **state)
{
	struct profile *profile = new_profile(0, 0);
	const u32 ids[] = {3, 2};
	struct profile_sample sample = sample_of(1, 10, ids, 2);
	struct profile_sample again = sample_of(1, 11, NULL, 0);
	const struct profile_totals *totals;
	u32 node = PROFILE_NODE_NONE;

	(void)state;
	assert_int_equal(profile_add(profile, &sample, &node), 0);
	assert_int_not_equal(node, PROFILE_NODE_NONE);
	for (int i = 0; i < 4; i++)
		assert_int_equal(profile_repeat(profile, &again, node), 0);
	again.tid = 10;
	assert_int_equal(profile_repeat(profile, &again, node), 0);
	totals = profile_totals(profile);
	assert_int_equal(totals->samples, 6);
	assert_int_equal(totals->weight_ns, 6000);
	assert_int_equal(totals->by_status[SAMPLE_EXACT], 6);
	assert_stacks(profile, "1/10/0/0: 2 3=2;1/11/0/0: 2 3=4;");
	profile_free(profile);
}

/* A stack without room is folded each time that it is seen, also where only its name comes. */
static void test_repeat_of_folded(void **state)
{
	struct profile *profile = new_profile(3, 0);
	const u32 known[] = {4, 3, 2}, deeper[] = {6, 5, 4, 3, 2};
	struct profile_sample sample = sample_of(0, 1, deeper, 5);
	struct profile_sample again = sample_of(0, 1, NULL, 0);
	u32 node = PROFILE_NODE_NONE, placed = PROFILE_NODE_NONE;

	(void)state;
	add(profile, 0, 1, known, 3);
	assert_int_equal(profile_add(profile, &sample, &node), 0);
	assert_int_not_equal(node, PROFILE_NODE_NONE);
	assert_int_equal(profile_place(profile, &sample, &placed), 0);
	assert_int_equal(placed, node);
	for (int i = 0; i < 3; i++)
		assert_int_equal(profile_repeat(profile, &again, node), 0);
	again.tid = 2;
	assert_int_equal(profile_repeat(profile, &again, node), 0);
	assert_stacks(profile, "0/1/0/0: 2 3 4=1;0/1/0/0/folded: 2 3 4=4;0/2/0/0/folded: 2 3 4=1;");
	assert_int_equal(profile_totals(profile)->folded_samples, 5);
	assert_int_equal(profile_totals(profile)->samples, 6);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_adds_up),		cmocka_unit_test(test_status_and_reason_stay_apart),
		cmocka_unit_test(test_full_tree_folds), cmocka_unit_test(test_too_many_threads),
		cmocka_unit_test(test_too_many_frames), cmocka_unit_test(test_last_thread_name_wins),
		cmocka_unit_test(test_many_stacks),	cmocka_unit_test(test_hottest),
		cmocka_unit_test(test_stack_tree),	cmocka_unit_test(test_stack_tree_equal_keys),
		cmocka_unit_test(test_repeat),		cmocka_unit_test(test_repeat_of_folded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
