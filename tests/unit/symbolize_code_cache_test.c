/* SPDX-License-Identifier: Apache-2.0 */
/* code_object and code_cache, over code objects built in this process's own memory. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "fingerprint.h"
#include "symbolize/code_cache.h"
#include "symbolize/code_object.h"

/* Shapes of our own: only the layout says where things are. */
struct fake_string {
	u64 length;
	u64 hash;
	u32 state;
	u32 pad;
	union {
		char ascii[64];
		struct {
			u64 utf8[2];
			u8 wide[48];
		};
	};
};

struct fake_bytes {
	u64 size;
	u8 data[128];
};

struct fake_code {
	u64 filename, name, qualname, linetable;
	s32 firstlineno;
	u32 version;
};

struct target {
	struct fake_string filename, name, qualname;
	struct fake_bytes linetable;
	struct fake_code code;
};

enum { KIND_ASCII = 1 << 2 | 1 << 5 | 1 << 6, KIND_2 = 2 << 2 | 1 << 5 };

static struct py_layout g_layout = {
	.traits = PY_TRAIT_CODE_VERSION,
	.code_filename = offsetof(struct fake_code, filename),
	.code_name = offsetof(struct fake_code, name),
	.code_qualname = offsetof(struct fake_code, qualname),
	.code_linetable = offsetof(struct fake_code, linetable),
	.code_firstlineno = offsetof(struct fake_code, firstlineno),
	.code_version = offsetof(struct fake_code, version),
	.code_sz = sizeof(struct fake_code),
	.unicode_length = offsetof(struct fake_string, length),
	.unicode_hash = offsetof(struct fake_string, hash),
	.unicode_state = offsetof(struct fake_string, state),
	.unicode_ascii_sz = offsetof(struct fake_string, ascii),
	.unicode_compact_sz = offsetof(struct fake_string, wide),
	.bytes_size = offsetof(struct fake_bytes, size),
	.bytes_data = offsetof(struct fake_bytes, data),
};

static struct target g_target;

static void set_string(struct fake_string *string, const char *text)
{
	memset(string, 0, sizeof(*string));
	string->length = strlen(text);
	string->hash = FINGERPRINT_NO_HASH;
	string->state = KIND_ASCII | 0xabcdef00 | 3; /* other bits do not matter */
	memcpy(string->ascii, text, strlen(text));
}

static void set_target(const char *qualname, const char *filename, u32 version)
{
	/* 2 units on the first line, 2 on the next, then none. */
	static const u8 table[] = {0x80 | 1, 0, 0x80 | 11 << 3 | 1, 0, 0, 0x80 | 15 << 3};

	set_string(&g_target.qualname, qualname);
	set_string(&g_target.name, qualname);
	set_string(&g_target.filename, filename);
	g_target.linetable.size = sizeof(table);
	memcpy(g_target.linetable.data, table, sizeof(table));
	g_target.code = (struct fake_code){
		.filename = (uintptr_t)&g_target.filename,
		.name = (uintptr_t)&g_target.name,
		.qualname = (uintptr_t)&g_target.qualname,
		.linetable = (uintptr_t)&g_target.linetable,
		.firstlineno = 10,
		.version = version,
	};
}

struct fixture {
	struct remote_mem *mem;
	struct frame_table *frames;
	struct code_cache *cache;
	struct code_source source;
};

static int set_up(void **state)
{
	struct fixture *fix = calloc(1, sizeof(*fix));

	if (!fix || remote_mem_open_process(&fix->mem, getpid()) || frame_table_new(&fix->frames, 100) ||
	    code_cache_new(&fix->cache, &(struct code_cache_config){.frames = fix->frames}))
		return -1;
	g_layout.traits = PY_TRAIT_CODE_VERSION | PY_TRAIT_STATIC_SHIM;
	fix->source = (struct code_source){.epoch = 5, .layout = &g_layout, .mem = fix->mem};
	*state = fix;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fix = *state;

	code_cache_free(fix->cache);
	frame_table_free(fix->frames);
	remote_mem_close(fix->mem);
	free(fix);
	return 0;
}

static u64 code_addr(void)
{
	return (uintptr_t)&g_target.code;
}

static void assert_frame(struct fixture *fix, u32 fingerprint, s32 instr_off, const char *qualname,
			 const char *file, s32 line)
{
	struct py_frame frame = {code_addr(), instr_off, fingerprint};
	const struct string_table *strings = frame_table_strings(fix->frames);
	u32 id = 0;

	assert_int_equal(code_cache_name(fix->cache, &fix->source, &frame, &id), FRAME_NAMED);
	assert_string_equal(string_table_at(strings, frame_table_at(fix->frames, id)->qualname_id, NULL),
			    qualname);
	assert_string_equal(string_table_at(strings, frame_table_at(fix->frames, id)->file_id, NULL), file);
	assert_int_equal(frame_table_at(fix->frames, id)->line, line);
}

static void assert_unnamed(struct fixture *fix, u64 code, u32 fingerprint)
{
	struct py_frame frame = {code, 0, fingerprint};
	u32 id = 99;

	assert_int_equal(code_cache_name(fix->cache, &fix->source, &frame, &id), FRAME_UNNAMED);
	assert_int_equal(id, FRAME_ID_UNNAMED);
}

static void test_read_from_the_process(void **state)
{
	struct fixture *fix = *state;

	set_target("C.method", "<string>", 7);
	assert_frame(fix, 7, 0, "C.method", "<string>", 10);
	assert_frame(fix, 7, 4, "C.method", "<string>", 11);
	assert_frame(fix, 7, 8, "C.method", "<string>", 0);
	assert_frame(fix, 7, -2, "C.method", "<string>", 10);
	assert_frame(fix, 7, 4, "C.method", "<string>", 11);
	assert_int_equal(code_cache_stats(fix->cache)->remote_reads, 1);
	assert_int_equal(code_cache_stats(fix->cache)->misses, 1);
	assert_int_equal(code_cache_stats(fix->cache)->hits, 4);
	assert_int_equal(code_cache_stats(fix->cache)->codes, 1);
}

/* The same address under another name: never the first one's name, and the first stays known. */
static void test_address_used_again(void **state)
{
	struct fixture *fix = *state;

	set_target("first", "<string>", 7);
	assert_frame(fix, 7, 0, "first", "<string>", 10);
	set_target("second", "<string>", 8);
	assert_frame(fix, 7, 0, "first", "<string>", 10);
	assert_unnamed(fix, code_addr(), 9);
	assert_frame(fix, 8, 0, "second", "<string>", 10);
	assert_int_equal(code_cache_stats(fix->cache)->stale, 1);
	/* The same everything in another epoch is another process. */
	fix->source.epoch = 6;
	assert_unnamed(fix, code_addr(), 7);
}

static void test_contents_tell_apart_before_312(void **state)
{
	struct fixture *fix = *state;
	u32 first, second, third;

	g_layout.traits = 0;
	set_target("name_one", "<string>", 0);
	assert_int_equal(code_object_fingerprint(fix->mem, &g_layout, code_addr(), &first), 0);
	assert_frame(fix, first, 0, "name_one", "<string>", 10);
	set_string(&g_target.qualname, "name_two");
	assert_int_equal(code_object_fingerprint(fix->mem, &g_layout, code_addr(), &second), 0);
	assert_int_not_equal(first, second);
	assert_frame(fix, second, 0, "name_two", "<string>", 10);
	g_target.linetable.data[1] = 1;
	assert_int_equal(code_object_fingerprint(fix->mem, &g_layout, code_addr(), &third), 0);
	assert_int_not_equal(second, third);
	assert_unnamed(fix, code_addr(), second + 1);
}

/* Word for word as fingerprint.h describes it. */
static void test_fingerprint_is_the_kernels(void **state)
{
	struct fixture *fix = *state;
	u64 words[FINGERPRINT_WORDS], seed, text;
	u32 fingerprint;

	g_layout.traits = 0;
	set_target("qualified", "<string>", 0);
	g_target.name.hash = 0x1234567890abcdefULL;
	g_target.qualname.state = KIND_2;
	seed = fingerprint_mix(0, 10);
	seed = fingerprint_mix(seed, fingerprint_mix(fingerprint_mix(0, 0x1234567890abcdefULL), 9));
	memset(words, 0, sizeof(words));
	memcpy(words, g_target.qualname.wide, 18);
	text = fingerprint_mix(fingerprint_mix(0, FINGERPRINT_NO_HASH), 9);
	seed = fingerprint_mix(seed, fingerprint_mix_words(text, words));
	memset(words, 0, sizeof(words));
	memcpy(words, "<string>", 8);
	text = fingerprint_mix(fingerprint_mix(0, FINGERPRINT_NO_HASH), 8);
	seed = fingerprint_mix(seed, fingerprint_mix_words(text, words));
	memset(words, 0, sizeof(words));
	memcpy(words, g_target.linetable.data, g_target.linetable.size);
	seed = fingerprint_mix_words(fingerprint_mix(seed, g_target.linetable.size), words);
	assert_int_equal(code_object_fingerprint(fix->mem, &g_layout, code_addr(), &fingerprint), 0);
	assert_int_equal(fingerprint, fingerprint_finish(seed));
}

static void test_wide_names(void **state)
{
	static const u16 wide[] = {0x4e2d, 'x', 0xdce9};
	struct fixture *fix = *state;

	set_target("", "<string>", 7);
	g_target.qualname.state = KIND_2;
	g_target.qualname.length = 3;
	memcpy(g_target.qualname.wide, wide, sizeof(wide));
	assert_frame(fix, 7, 0, "\xe4\xb8\xadx\xe9", "<string>", 10);
}

/* As test_wide_names, and an ASCII one. */
static void test_names_of_free_threaded_314(void **state)
{
	static const u16 wide[] = {0x4e2d, 'x', 0xdce9};
	struct fixture *fix = *state;

	g_layout.traits = PY_TRAIT_CODE_VERSION | PY_TRAIT_INTERNED_BYTE;
	set_target("", "<string>", 7);
	g_target.filename.state = 0xabcde003 | 1 << 8 | 1 << 11 | 1 << 12;
	g_target.name.state = g_target.filename.state;
	g_target.qualname.state = 0xabcde002 | 2 << 8 | 1 << 11;
	g_target.qualname.length = 3;
	memcpy(g_target.qualname.wide, wide, sizeof(wide));
	assert_frame(fix, 7, 0, "\xe4\xb8\xadx\xe9", "<string>", 10);
}

static void test_hostile_objects(void **state)
{
	struct fixture *fix = *state;

	set_target("name", "<string>", 7);
	g_target.qualname.length = UINT64_MAX;
	assert_unnamed(fix, code_addr(), 7);
	fix->source.epoch++;		       /* what failed is not read again right away */
	g_target.qualname.length = 1ULL << 40; /* cut, and not mapped */
	assert_unnamed(fix, code_addr(), 7);
	fix->source.epoch++;
	set_target("name", "<string>", 7);
	g_target.qualname.state = 0;
	assert_unnamed(fix, code_addr(), 7);
	fix->source.epoch++;
	set_target("name", "<string>", 7);
	g_target.linetable.size = UINT64_MAX;
	assert_unnamed(fix, code_addr(), 7);
	fix->source.epoch++;
	set_target("name", "<string>", 7);
	g_target.code.filename = 8;
	assert_unnamed(fix, code_addr(), 7);
	assert_unnamed(fix, 8, 7);
	assert_unnamed(fix, 0, 7);
	assert_int_equal(code_cache_stats(fix->cache)->invalid, 3);
	assert_int_equal(code_cache_stats(fix->cache)->codes, 0);
}

/* A stack of one unreadable code object costs one read, however deep it is. */
static void test_unreadable_is_left_alone(void **state)
{
	struct fixture *fix = *state;

	set_target("name", "<string>", 7);
	g_target.qualname.state = 0;
	for (int frame = 0; frame < 1000; frame++)
		assert_unnamed(fix, code_addr(), 7);
	assert_int_equal(code_cache_stats(fix->cache)->remote_reads, 1);
	assert_int_equal(code_cache_stats(fix->cache)->misses, 1000);
	/* Another one of the process is another matter. */
	set_target("name", "<string>", 8);
	assert_frame(fix, 8, 0, "name", "<string>", 10);
}

static void test_shim_is_hidden(void **state)
{
	struct py_frame frame = {code_addr(), 0, 0};
	struct fixture *fix = *state;
	u32 id = 99;

	set_target("__init__", "__init__", 0);
	/* On the heap a fingerprint of 0 says nothing. */
	assert_unnamed(fix, code_addr(), 0);
	fix->source.image_start = code_addr() - 16;
	fix->source.image_end = code_addr() + 16;
	assert_int_equal(code_cache_name(fix->cache, &fix->source, &frame, &id), FRAME_HIDDEN);
	assert_int_equal(code_cache_name(fix->cache, &fix->source, &frame, &id), FRAME_HIDDEN);
	assert_int_equal(code_cache_stats(fix->cache)->remote_reads, 1);
	/* Gone before it could be read: from 3.13 on nothing else is there. */
	fix->source.epoch = 6;
	fix->source.mem = NULL;
	assert_int_equal(code_cache_name(fix->cache, &fix->source, &frame, &id), FRAME_HIDDEN);
	/* A frozen module of 3.12 is static too, and shown. */
	fix->source.epoch = 7;
	fix->source.mem = fix->mem;
	g_layout.traits = PY_TRAIT_CODE_VERSION;
	set_target("__init__", "<frozen abc>", 3);
	assert_frame(fix, 3, 0, "__init__", "<frozen abc>", 10);
	assert_frame(fix, 0, 0, "__init__", "<frozen abc>", 10);
	/* And a real __init__ on the heap, in a file of that name. */
	fix->source.image_end = fix->source.image_start;
	fix->source.epoch = 8;
	set_target("__init__", "__init__", 4);
	assert_frame(fix, 4, 0, "__init__", "__init__", 10);
}

struct record {
	struct code_record head;
	u8 bytes[256];
};

static size_t make_record(struct record *record, u32 flags, const char *qualname, const char *filename)
{
	static const u8 table[] = {0x80 | 1, 0};
	size_t off = 0;

	memset(record, 0, sizeof(*record));
	record->head = (struct code_record){
		.hdr = {.kind = RECORD_CODE},
		.epoch = 5,
		.code = code_addr(),
		.fingerprint = 7,
		.firstlineno = 20,
		.flags = flags,
		.sz = {0, (u32)strlen(qualname), (u32)strlen(filename), sizeof(table)},
		.char_sz = {1, 1, 1, 1},
	};
	memcpy(record->bytes, qualname, strlen(qualname));
	off += strlen(qualname);
	memcpy(record->bytes + off, filename, strlen(filename));
	off += strlen(filename);
	memcpy(record->bytes + off, table, sizeof(table));
	off += sizeof(table);
	record->head.hdr.size = (u32)(sizeof(record->head) + off);
	return record->head.hdr.size;
}

static void test_records(void **state)
{
	struct fixture *fix = *state;
	struct record record;
	size_t sz = make_record(&record, 0, "from_record", "<string>");

	set_target("from_memory", "<string>", 7);
	fix->source.mem = NULL;
	assert_unnamed(fix, code_addr(), 7);
	assert_int_equal(code_cache_on_record(fix->cache, &record.head, sz, &fix->source), 0);
	assert_frame(fix, 7, 0, "from_record", "<string>", 20);
	/* Complete: a second record changes nothing. */
	sz = make_record(&record, 0, "another", "<string>");
	assert_int_equal(code_cache_on_record(fix->cache, &record.head, sz, &fix->source), 0);
	assert_frame(fix, 7, 2, "from_record", "<string>", 20);
	code_cache_forget(fix->cache, 5);
	assert_int_equal(code_cache_stats(fix->cache)->codes, 0);
}

static void test_cut_records(void **state)
{
	struct fixture *fix = *state;
	struct record record;
	size_t sz = make_record(&record, CODE_RECORD_QUALNAME_CUT, "from_rec", "<string>");

	set_target("from_memory", "<string>", 7);
	fix->source.mem = NULL;
	assert_int_equal(code_cache_on_record(fix->cache, &record.head, sz, &fix->source), 0);
	assert_frame(fix, 7, 0, "from_rec...", "<string>", 20);
	/* The process can be read: whole names take the place of cut ones, remembered frames too. */
	fix->source.mem = fix->mem;
	assert_int_equal(code_cache_on_record(fix->cache, &record.head, sz, &fix->source), 0);
	assert_frame(fix, 7, 0, "from_memory", "<string>", 10);
	/* Nothing to show and nothing to read: it stays unknown. */
	fix->source.mem = NULL;
	fix->source.epoch = 6;
	sz = make_record(&record, CODE_RECORD_FILENAME_CUT, "name", "");
	record.head.epoch = 6;
	assert_int_equal(code_cache_on_record(fix->cache, &record.head, sz, &fix->source), 0);
	assert_unnamed(fix, code_addr(), 7);
}

/* Nor do records of it have it read. */
static void test_cut_record_of_unreadable(void **state)
{
	struct fixture *fix = *state;
	struct record record;
	size_t sz = make_record(&record, CODE_RECORD_FILENAME_CUT, "name", "");

	set_target("name", "<string>", 7);
	g_target.qualname.state = 0;
	for (int sample = 0; sample < 100; sample++)
		assert_int_equal(code_cache_on_record(fix->cache, &record.head, sz, &fix->source), 0);
	assert_unnamed(fix, code_addr(), 7);
	assert_int_equal(code_cache_stats(fix->cache)->remote_reads, 1);
}

static void test_broken_records(void **state)
{
	struct fixture *fix = *state;
	struct record record;
	size_t sz = make_record(&record, 0, "name", "<string>");
	struct code_record good = record.head;

	assert_int_equal(code_cache_on_record(fix->cache, &record.head, sz - 1, &fix->source), -EINVAL);
	assert_int_equal(code_cache_on_record(fix->cache, &record.head, 8, &fix->source), -EINVAL);
	record.head.sz[CODE_PART_FILENAME] = UINT32_MAX;
	assert_int_equal(code_cache_on_record(fix->cache, &record.head, sz, &fix->source), -EINVAL);
	record.head = good;
	record.head.sz[CODE_PART_LINETABLE]++;
	assert_int_equal(code_cache_on_record(fix->cache, &record.head, sz, &fix->source), -EINVAL);
	record.head = good;
	record.head.char_sz[CODE_PART_QUALNAME] = 3;
	assert_int_equal(code_cache_on_record(fix->cache, &record.head, sz, &fix->source), -EINVAL);
	record.head = good;
	record.head.hdr.kind = RECORD_SAMPLE;
	assert_int_equal(code_cache_on_record(fix->cache, &record.head, sz, &fix->source), -EINVAL);
	record.head = good;
	record.head.fingerprint = 0;
	assert_int_equal(code_cache_on_record(fix->cache, &record.head, sz, &fix->source), -EINVAL);
	assert_int_equal(code_cache_stats(fix->cache)->invalid, 7);
	assert_int_equal(code_cache_stats(fix->cache)->codes, 0);
}

static struct code_cache *new_cache(struct fixture *fix, const struct code_cache_config *config)
{
	struct code_cache_config full = *config;

	full.frames = fix->frames;
	code_cache_free(fix->cache);
	assert_int_equal(code_cache_new(&fix->cache, &full), 0);
	return fix->cache;
}

static void test_options(void **state)
{
	struct fixture *fix = *state;

	set_target("f", "/gone/dir/mod.py", 7);
	assert_frame(fix, 7, 4, "f", "mod.py", 11);
	new_cache(fix, &(struct code_cache_config){.full_paths = true});
	assert_frame(fix, 7, 4, "f", "/gone/dir/mod.py", 11);
	new_cache(fix, &(struct code_cache_config){.no_lines = true});
	assert_frame(fix, 7, 4, "f", "mod.py", 0);
	assert_frame(fix, 7, -2, "f", "mod.py", 0);
}

static void assert_lineless(struct fixture *fix, u32 fingerprint, s32 instr_off, const char *qualname)
{
	struct py_frame frame = {code_addr(), instr_off, fingerprint};
	const struct string_table *strings = frame_table_strings(fix->frames);
	u32 id = 99;

	assert_int_equal(code_cache_name(fix->cache, &fix->source, &frame, &id), FRAME_LINELESS);
	assert_string_equal(string_table_at(strings, frame_table_at(fix->frames, id)->qualname_id, NULL),
			    qualname);
	assert_int_equal(frame_table_at(fix->frames, id)->line, 0);
}

/* A table that is missing or too short is told from code that has no line. */
static void test_unknown_lines(void **state)
{
	struct fixture *fix = *state;
	struct record record;
	size_t sz = make_record(&record, CODE_RECORD_LINETABLE_CUT, "cut", "<string>");

	set_target("f", "<string>", 7);
	assert_frame(fix, 7, 8, "f", "<string>", 0); /* the table says that there is none */
	assert_lineless(fix, 7, 10, "f");	     /* behind its end */
	assert_lineless(fix, 7, 10, "f");	     /* remembered */
	fix->source.mem = NULL;
	record.head.epoch = fix->source.epoch = 6;
	assert_int_equal(code_cache_on_record(fix->cache, &record.head, sz, &fix->source), 0);
	assert_frame(fix, 7, 2, "cut", "<string>", 20);
	assert_lineless(fix, 7, 4, "cut");
	/* Larger than all tables together may be. */
	fix->source.mem = fix->mem;
	fix->source.epoch = 5;
	new_cache(fix, &(struct code_cache_config){.max_table_bytes = 52});
	assert_lineless(fix, 7, 0, "f");
	new_cache(fix, &(struct code_cache_config){.max_table_bytes = 52, .no_lines = true});
	assert_frame(fix, 7, 0, "f", "<string>", 0);
}

static void test_bounds(void **state)
{
	struct fixture *fix = *state;

	new_cache(fix, &(struct code_cache_config){.max_codes = 4, .max_table_bytes = 400});
	for (u32 i = 1; i <= 50; i++) {
		set_target("f", "<string>", i);
		g_target.linetable.data[1] = (u8)(i & 0x7f); /* no two tables equal */
		assert_frame(fix, i, 0, "f", "<string>", 10);
		assert_true(code_cache_stats(fix->cache)->codes <= 4);
	}
	assert_int_equal(code_cache_stats(fix->cache)->evicted, 50 - code_cache_stats(fix->cache)->codes);
}

static void test_full_frame_table_folds(void **state)
{
	struct fixture *fix = *state;
	char name[16];

	for (u32 i = 1; i <= 101; i++) {
		struct py_frame frame = {code_addr(), 0, i};
		u32 id = 99;

		snprintf(name, sizeof(name), "f%u", i);
		set_target(name, "<string>", i);
		assert_int_equal(code_cache_name(fix->cache, &fix->source, &frame, &id), FRAME_NAMED);
		assert_int_equal(id == FRAME_ID_FOLDED, i == 101);
	}
}

/* The empty string's cached hash is 0, and so is its length. */
static void test_empty_text_is_not_unread(void **state)
{
	assert_int_not_equal(fingerprint_text_digest(0, 0, NULL), 0);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty_text_is_not_unread),
		TEST(test_read_from_the_process),
		TEST(test_address_used_again),
		TEST(test_contents_tell_apart_before_312),
		TEST(test_fingerprint_is_the_kernels),
		TEST(test_wide_names),
		TEST(test_names_of_free_threaded_314),
		TEST(test_hostile_objects),
		TEST(test_unreadable_is_left_alone),
		TEST(test_shim_is_hidden),
		TEST(test_records),
		TEST(test_cut_records),
		TEST(test_cut_record_of_unreadable),
		TEST(test_broken_records),
		TEST(test_options),
		TEST(test_unknown_lines),
		TEST(test_bounds),
		TEST(test_full_frame_table_folds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
