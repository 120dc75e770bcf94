/* SPDX-License-Identifier: Apache-2.0 */
/* What a sample costs in user space, from the record to the profile, without a kernel side: records are
 * made up and handed to session_on_record(). Prints nanoseconds per sample, the best of several rounds.
 *
 * Every record lies in a buffer of its own kind that is walked like a ring, so that its bytes come from
 * memory as they would there. What the recording would ask of the kernel is wrapped away at link time.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "session_internal.h"

enum {
	DEPTH = 25,
	CODES = 400,
	STACKS = 2000, /* known ones: what a busy service shows in a minute */
	THREADS = 16,
	RECORDS = 1 << 14, /* of one round */
	ROUNDS = 9,
	CODE_ADDR = 0x100000,
};

static struct target g_target;
static struct process g_process;
static u64 g_random = 88172645463325252ULL;

int __wrap_bpf_loader_sent_stacks_fd(const struct bpf_loader *loader);
int __wrap_sent_stacks_clear(int fd, u64 identity);
struct target *__wrap_target_table_find(struct target_table *table, u64 epoch);
struct process_table *__wrap_target_table_processes(struct target_table *table);
struct process *__wrap_process_table_at(struct process_table *table, u32 id);

int __wrap_bpf_loader_sent_stacks_fd(const struct bpf_loader *loader)
{
	(void)loader;
	return -1;
}

int __wrap_sent_stacks_clear(int fd, u64 identity)
{
	(void)fd;
	(void)identity;
	return 0;
}

/* The table's own look-up costs a hash of eight bytes and a comparison more. */
struct target *__wrap_target_table_find(struct target_table *table, u64 epoch)
{
	(void)table;
	return epoch == g_target.epoch ? &g_target : NULL;
}

struct process_table *__wrap_target_table_processes(struct target_table *table)
{
	(void)table;
	return NULL;
}

struct process *__wrap_process_table_at(struct process_table *table, u32 id)
{
	(void)table;
	(void)id;
	return &g_process;
}

static u64 random_next(void)
{
	g_random ^= g_random << 13;
	g_random ^= g_random >> 7;
	g_random ^= g_random << 17;
	return g_random;
}

static void fail(const char *what)
{
	fprintf(stderr, "sample_path: %s\n", what);
	exit(1);
}

static struct session *make_session(void)
{
	static const struct options OPTIONS = {.period_ns = 50000, .lines = true};
	struct session *session = calloc(1, sizeof(*session));
	struct code_cache_config codes = {0};

	if (!session || profile_new(&session->profile, &(struct profile_config){0}))
		fail("no profile");
	codes.frames = profile_frames(session->profile);
	if (code_cache_new(&session->codes, &codes) || known_stacks_new(&session->stacks))
		fail("no tables");
	if (late_stacks_new(&session->late, session->codes, MAX_COMPLETED_FRAMES))
		fail("no completion");
	session->options = &OPTIONS;
	session->frame_ids = malloc(MAX_STACK_FRAMES * sizeof(*session->frame_ids));
	if (deferred_repeats_new(&session->deferred) || !session->frame_ids)
		fail("no memory");
	g_target.epoch = 1;
	g_target.process = &g_process;
	return session;
}

static void free_session(struct session *session)
{
	known_stacks_free(session->stacks);
	late_stacks_free(session->late);
	code_cache_free(session->codes);
	profile_free(session->profile);
	deferred_repeats_free(session->deferred);
	free(session->frame_ids);
	free(session);
}

/* Code objects of 40 lines of 4 instructions each. */
static void send_codes(struct session *session)
{
	struct {
		struct code_record head;
		u8 bytes[256];
	} record;

	for (u32 i = 0; i < CODES; i++) {
		u32 name_sz, table_sz = 0;

		memset(&record, 0, sizeof(record));
		name_sz = (u32)snprintf((char *)record.bytes, sizeof(record.bytes), "function_%u<string>", i);
		for (u32 line = 0; line < 40; line++) {
			record.bytes[name_sz + table_sz++] = (u8)(0x80 | 11 << 3 | 3);
			table_sz += 2;
		}
		record.head = (struct code_record){
			.hdr = {.kind = RECORD_CODE, .size = (u32)sizeof(record.head) + name_sz + table_sz},
			.epoch = 1,
			.code = CODE_ADDR + i * 512,
			.fingerprint = 1 + i,
			.firstlineno = 1,
			.sz = {0, name_sz - 8, 8, table_sz},
			.char_sz = {1, 1, 1, 1},
		};
		session_on_record(session, &record, record.head.hdr.size);
	}
}

struct whole {
	struct sample_record head;
	struct py_frame frames[DEPTH];
};

/* The upper half of a stack is one of a few, the lower half is any: most real ones share their root. */
static void make_whole(struct whole *record, u64 identity)
{
	u64 root = random_next() % 8;

	memset(record, 0, sizeof(*record));
	record->head = (struct sample_record){
		.hdr = {.kind = RECORD_SAMPLE, .size = sizeof(*record)},
		.epoch = 1,
		.tgid = 100,
		.tid = 100 + (u32)(random_next() % THREADS),
		.identity = identity,
		.frame_cnt = DEPTH,
		.comm = "python3",
	};
	for (u32 i = 0; i < DEPTH; i++) {
		u64 code = i < DEPTH / 2 ? random_next() % CODES : (root * DEPTH + i) % CODES;

		record->frames[i] = (struct py_frame){.code = CODE_ADDR + code * 512,
						      .instr_off = (s32)(code * 8 % 320),
						      .fingerprint = 1 + (u32)code};
	}
}

static u64 identity_of(u64 number)
{
	return (number + 1) * 0x9e3779b97f4a7c15ULL;
}

/* ns per record, all of them handed over once. */
static double hand_over(struct session *session, const u8 *records, size_t record_sz)
{
	u64 start = clock_monotonic_ns();

	for (size_t i = 0; i < RECORDS; i++)
		session_on_record(session, records + i * record_sz, record_sz);
	session_settle_repeats(session);
	return (double)(clock_monotonic_ns() - start) / RECORDS;
}

/* The first time the tree grows by half a stack each; the second time it knows them all. */
static void measure_whole(struct session *session, u64 first, double *ret_new_ns, double *ret_again_ns)
{
	struct whole *records = malloc(RECORDS * sizeof(*records));

	if (!records)
		fail("no memory");
	for (size_t i = 0; i < RECORDS; i++)
		make_whole(&records[i], identity_of(first + i));
	*ret_new_ns = hand_over(session, (const u8 *)records, sizeof(*records));
	*ret_again_ns = hand_over(session, (const u8 *)records, sizeof(*records));
	free(records);
}

static size_t heap_sz(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* Of the last STACKS stacks that were sent; each by the thread that sent it, most often. */
static double measure_repeats(struct session *session, u64 first, size_t *ret_heap_growth)
{
	struct repeat_record *records = calloc(RECORDS, sizeof(*records));
	size_t before;
	double ns;

	if (!records)
		fail("no memory");
	for (size_t i = 0; i < RECORDS; i++) {
		u64 number = random_next() % STACKS;

		records[i] = (struct repeat_record){
			.hdr = {.kind = RECORD_REPEAT, .size = sizeof(*records)},
			.epoch = 1,
			.tgid = 100,
			.tid = 100 + (u32)((random_next() % 8 ? number : random_next()) % THREADS),
			.identity = identity_of(first + number),
			.comm = "python3",
		};
	}
	before = heap_sz();
	ns = hand_over(session, (const u8 *)records, sizeof(*records));
	*ret_heap_growth += heap_sz() - before;
	free(records);
	return ns;
}

static double least(const double *values, size_t cnt)
{
	double best = values[0];

	for (size_t i = 1; i < cnt; i++)
		best = values[i] < best ? values[i] : best;
	return best;
}

int main(void)
{
	struct session *session = make_session();
	double new_ns[ROUNDS], again_ns[ROUNDS], repeat_ns[ROUNDS];
	size_t first_growth = 0, steady_growth = 0;
	const struct profile_totals *totals;

	send_codes(session);
	for (size_t round = 0; round < ROUNDS; round++)
		measure_whole(session, round * RECORDS, &new_ns[round], &again_ns[round]);
	for (size_t round = 0; round < ROUNDS; round++)
		repeat_ns[round] = measure_repeats(session, ROUNDS * RECORDS - STACKS,
						   round ? &steady_growth : &first_growth);
	totals = profile_totals(session->profile);
	if (totals->samples != 3 * ROUNDS * RECORDS || totals->unnamed_samples ||
	    totals->by_status[SAMPLE_EXACT] != totals->samples)
		fail("samples were lost or not named");
	printf("repeat of a known stack: %.0f ns (first round %.0f)\n", least(repeat_ns, ROUNDS),
	       repeat_ns[0]);
	printf("new stack of %d frames:  %.0f ns (first round %.0f)\n", DEPTH, least(new_ns, ROUNDS),
	       new_ns[0]);
	printf("a known one sent whole:  %.0f ns (first round %.0f)\n", least(again_ns, ROUNDS), again_ns[0]);
	printf("heap taken by repeats:   %zu bytes in the first round, %zu in all the others\n", first_growth,
	       steady_growth);
	free_session(session);
	return 0;
}
