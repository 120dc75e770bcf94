/* SPDX-License-Identifier: Apache-2.0 */
/* Runs simulated recordings until the time is up, each from a seed that it prints:
 *
 *     sim_test [--seconds S]                      the fixed seeds, then random ones
 *     sim_test --seed N [--steps N]               one run again
 *
 * A seed says everything: the CPython version, too. Before, the simulation's rules are held against every
 * captured image.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../fuzz/offsets_fixture.h"
#include "base/hash.h"
#include "image_case.h"
#include "runtime/layout_select.h"
#include "sim_rules.h"
#include "sim_session.h"

enum { VERSIONS = 10, FIRST_MINOR = 0x0306, FREE_THREADED_MAX = 16, FIXED_SEEDS = 10, STEPS_DEFAULT = 60000 };

static struct py_layout layouts[VERSIONS + FREE_THREADED_MAX];
static u32 layout_cnt = VERSIONS;

static double now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

/* Up to 3.10 there is no data stack; what stands for the heap there is handed out like one. */
static struct py_layout with_chunks(struct py_layout layout)
{
	if (layout.traits & PY_TRAIT_FRAME_OBJECT) {
		layout.chunk_size = 8;
		layout.chunk_top = 16;
		layout.chunk_data = 24;
	}
	return layout;
}

/* Whether every image keeps to the rules; takes the layout of each version. */
static bool check_images(void)
{
	struct image_case *cases;
	size_t cnt = image_cases_load(&cases), checked = 0;
	bool ok = true;

	for (size_t i = 0; i < cnt; i++) {
		struct image_case *c = &cases[i];
		const char *broken;

		if (!(c->layout.traits & PY_TRAIT_FREE_THREADED))
			layouts[c->minor - FIRST_MINOR] = with_chunks(c->layout);
		broken = sim_rules_broken(&c->layout, c->tstate, c->user_sp, patched_read, &c->patched);
		if (broken)
			printf("%s: not so: %s\n", c->name, broken);
		ok &= !broken;
		checked++;
	}
	printf("%zu images keep to the rules of the simulation\n", checked);
	image_cases_free(cases, cnt);
	return ok && checked;
}

/* Those of free-threaded builds: there is no image of each of them. */
static void add_free_threaded_layouts(void)
{
	const struct debug_offsets_format *format;
	const struct layout_row *row;
	struct debug_offsets offsets;
	u8 bytes[DEBUG_OFFSETS_MAX_SZ];

	for (size_t n = 0; layout_cnt < VERSIONS + FREE_THREADED_MAX && fixture_at(n, &format, &row); n++) {
		fixture_table(format, row, bytes);
		if ((row->layout.traits & PY_TRAIT_FREE_THREADED) && !(row->layout.traits & PY_TRAIT_DEBUG) &&
		    layout_select_by_offsets(bytes, sizeof(bytes), false, &offsets, &layouts[layout_cnt]) ==
			    PY_REFUSAL_NONE)
			layout_cnt++;
	}
	printf("%u layouts of free-threaded builds\n", layout_cnt - VERSIONS);
}

static bool run(u64 seed, u64 steps, struct sim_totals *totals)
{
	const struct py_layout *layout = &layouts[seed % layout_cnt];
	const char *failure = sim_session_run(layout, seed, steps, totals);

	if (failure)
		printf("MISMATCH with --seed %llu --steps %llu (CPython 3.%u%s): %s\n",
		       (unsigned long long)seed, (unsigned long long)steps, layout->version >> 16 & 0xff,
		       layout->traits & PY_TRAIT_FREE_THREADED ? "t" : "", failure);
	return !failure;
}

/* Runs in which hardly anything happened prove nothing, nor do those in which little was named. */
static bool was_worth_it(const struct sim_totals *t)
{
	const struct stack_stats *stacks = &t->stacks;

	return t->exact && t->repeats > t->exact / 10 && t->repeats_unknown && t->late && t->late_torn &&
	       stacks->hits && stacks->partial && stacks->misses && stacks->failed &&
	       stacks->frames_reused > stacks->frames_read / 4 && t->unnamed < t->frames / 100 &&
	       t->repeats_unknown < t->repeats / 20;
}

static void print_totals(const struct sim_totals *t)
{
	printf("%llu steps in %llu processes, %llu walks: %llu exact, %llu truncated\n",
	       (unsigned long long)t->steps, (unsigned long long)t->epochs, (unsigned long long)t->walks,
	       (unsigned long long)t->exact, (unsigned long long)t->truncated);
	printf("%llu repeats, %llu of unknown stacks; %llu late stacks, %llu of them torn\n",
	       (unsigned long long)t->repeats, (unsigned long long)t->repeats_unknown,
	       (unsigned long long)t->late, (unsigned long long)t->late_torn);
	printf("frame cache: %llu hits, %llu partial, %llu misses, %llu failed, %llu postponed; %llu of %llu "
	       "frames reused, %llu reads\n",
	       (unsigned long long)t->stacks.hits, (unsigned long long)t->stacks.partial,
	       (unsigned long long)t->stacks.misses, (unsigned long long)t->stacks.failed,
	       (unsigned long long)t->stacks.postponed, (unsigned long long)t->stacks.frames_reused,
	       (unsigned long long)t->stacks.frames_read, (unsigned long long)t->stacks.remote_calls);
	printf("%llu names checked, %llu unnamed\n", (unsigned long long)t->frames,
	       (unsigned long long)t->unnamed);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"seed", required_argument, NULL, 'd'},
		{"steps", required_argument, NULL, 't'},
		{"seconds", required_argument, NULL, 's'},
		{NULL, 0, NULL, 0},
	};
	struct sim_totals totals = {0};
	u64 seed = 0, steps = STEPS_DEFAULT, random_seed = hash_seed();
	bool is_one = false, ok;
	double end = now() + 20;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'd') {
			seed = strtoull(optarg, NULL, 0);
			is_one = true;
		} else if (option == 't') {
			steps = strtoull(optarg, NULL, 0);
		} else if (option == 's') {
			end = now() + strtod(optarg, NULL);
		} else {
			return 2;
		}
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	ok = check_images();
	add_free_threaded_layouts();
	ok = ok && layout_cnt >= VERSIONS + 3;
	if (ok && is_one)
		ok = run(seed, steps, &totals);
	for (seed = 1; ok && !is_one && (seed <= FIXED_SEEDS || now() < end); seed++)
		ok = run(seed <= FIXED_SEEDS ? seed : random_seed + seed, steps, &totals);
	if (!is_one)
		printf("random seeds from %llu on\n", (unsigned long long)random_seed + FIXED_SEEDS + 1);
	print_totals(&totals);
	if (ok && !is_one && !was_worth_it(&totals)) {
		printf("too little happened, or too much was lost\n");
		ok = false;
	}
	return ok ? 0 : 1;
}
