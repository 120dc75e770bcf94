/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a code object: in how few hand-overs, and that one which changes meanwhile is noticed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fingerprint.h"
#include "symbolize/code_object.h"

enum {
	STRING_HEAD = 40,
	ASCII = 1 << 2 | 1 << 5 | 1 << 6,
	OBJECT_ADDR = 0x1000,
	TEXT_ADDR = 0x10000, /* name, qualified name, file name: so far apart */
	TABLE_ADDR = 0x40000,
};

static const struct py_layout by_version = {
	.version = 0x030d0000,
	.traits = PY_TRAIT_CODE_VERSION,
	.code_name = 0,
	.code_qualname = 8,
	.code_filename = 16,
	.code_linetable = 24,
	.code_firstlineno = 32,
	.code_version = 36,
	.code_sz = 40,
	.unicode_length = 0,
	.unicode_hash = 8,
	.unicode_state = 16,
	.unicode_ascii_sz = STRING_HEAD,
	.unicode_compact_sz = STRING_HEAD + 16,
	.bytes_size = 0,
	.bytes_data = 8,
};

/* A target of one code object, which may change behind a given number of reads. */
struct fake {
	u8 object[40];
	u8 texts[CODE_PART_LINETABLE][8192];
	u8 table[8192];
	u32 read_cnt;
	u32 change_after; /* 0: never */
	void (*change)(struct fake *fake);
};

static struct fake g_fake;

static size_t view(void *ctx, remote_addr_t addr, void *ret_buf, size_t sz)
{
	struct fake *fake = ctx;
	const struct {
		remote_addr_t addr;
		const u8 *bytes;
		size_t sz;
	} places[] = {
		{OBJECT_ADDR, fake->object, sizeof(fake->object)},
		{TEXT_ADDR, fake->texts[0], sizeof(fake->texts[0])},
		{TEXT_ADDR * 2, fake->texts[1], sizeof(fake->texts[1])},
		{TEXT_ADDR * 3, fake->texts[2], sizeof(fake->texts[2])},
		{TABLE_ADDR, fake->table, sizeof(fake->table)},
	};

	if (fake->change_after && fake->read_cnt++ == fake->change_after)
		fake->change(fake);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		size_t off = addr - places[i].addr;

		if (addr < places[i].addr || off >= places[i].sz)
			continue;
		if (sz > places[i].sz - off)
			sz = places[i].sz - off;
		memcpy(ret_buf, places[i].bytes + off, sz);
		return sz;
	}
	return 0;
}

static void put_u64(u8 *bytes, u64 value)
{
	memcpy(bytes, &value, sizeof(value));
}

static void put_text(struct fake *fake, enum code_part part, char letter, size_t sz, u64 hash)
{
	u32 state = ASCII;
	u8 *text = fake->texts[part];

	put_u64(text, sz);
	put_u64(text + 8, hash);
	memcpy(text + 16, &state, sizeof(state));
	memset(text + STRING_HEAD, letter, sz);
	put_u64(fake->object + 8 * part, TEXT_ADDR * (part + 1));
}

static void put_fake(struct fake *fake, size_t text_sz, size_t table_sz)
{
	u32 words[2] = {11, 77};

	memset(fake, 0, sizeof(*fake));
	for (int part = CODE_PART_NAME; part <= CODE_PART_FILENAME; part++)
		put_text(fake, part, (char)('a' + part), text_sz, FINGERPRINT_NO_HASH);
	put_u64(fake->table, table_sz);
	memset(fake->table + 8, 0x80, table_sz);
	put_u64(fake->object + 24, TABLE_ADDR);
	memcpy(fake->object + 32, words, sizeof(words));
}

static void assert_parts(const struct code_object *object, size_t text_sz, size_t table_sz)
{
	assert_int_equal(object->firstlineno, 11);
	for (int part = CODE_PART_NAME; part <= CODE_PART_FILENAME; part++) {
		assert_int_equal(object->parts[part].sz, text_sz);
		for (size_t i = 0; i < text_sz; i++)
			assert_int_equal(object->parts[part].data[i], 'a' + part);
	}
	assert_int_equal(object->parts[CODE_PART_LINETABLE].sz, table_sz);
	for (size_t i = 0; i < table_sz; i++)
		assert_int_equal((u8)object->parts[CODE_PART_LINETABLE].data[i], 0x80);
}

static struct py_layout layout_of(u32 traits)
{
	struct py_layout layout = by_version;

	layout.traits = traits;
	return layout;
}

static const u32 both_traits[] = {PY_TRAIT_CODE_VERSION, 0};

/* All sizes around what is fetched ahead, whole each time. */
static void test_sizes(void **state)
{
	static const size_t sizes[][2] = {{0, 0},      {5, 40},	    {128, 1024}, {129, 1025},
					  {144, 1040}, {145, 1041}, {8000, 8000}};
	struct code_object object;
	struct remote_mem *mem;

	(void)state;
	code_object_init(&object);
	assert_int_equal(remote_mem_open_view(&mem, view, &g_fake), 0);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (int way = 0; way < 2; way++) {
			struct py_layout layout = layout_of(both_traits[way]);
			u32 fingerprint;

			put_fake(&g_fake, sizes[i][0], sizes[i][1]);
			assert_int_equal(code_object_fingerprint(mem, &layout, OBJECT_ADDR, &fingerprint), 0);
			assert_int_equal(code_object_read(mem, &layout, OBJECT_ADDR, fingerprint, &object),
					 0);
			assert_parts(&object, sizes[i][0], sizes[i][1]);
			assert_int_equal(
				code_object_read(mem, &layout, OBJECT_ADDR, fingerprint + 1, &object),
				-ESTALE);
		}
	}
	remote_mem_close(mem);
	code_object_release(&object);
}

static void rename_all(struct fake *fake)
{
	u32 version = 78;

	for (int part = CODE_PART_NAME; part <= CODE_PART_FILENAME; part++)
		put_text(fake, part, 'z', 5, FINGERPRINT_NO_HASH);
	memcpy(fake->object + 36, &version, sizeof(version));
}

/* Changed before any read but the first or the last: never half of one and half of the other. */
static void change_at_every_read(size_t text_sz, size_t table_sz, u32 traits)
{
	struct py_layout layout = layout_of(traits);
	struct code_object object;
	struct remote_mem *mem;
	u32 fingerprint, read_cnt, stale_cnt = 0;

	code_object_init(&object);
	assert_int_equal(remote_mem_open_view(&mem, view, &g_fake), 0);
	put_fake(&g_fake, text_sz, table_sz);
	assert_int_equal(code_object_fingerprint(mem, &layout, OBJECT_ADDR, &fingerprint), 0);
	g_fake.change_after = UINT32_MAX;
	g_fake.change = rename_all;
	assert_int_equal(code_object_read(mem, &layout, OBJECT_ADDR, fingerprint, &object), 0);
	read_cnt = g_fake.read_cnt;
	assert_true(read_cnt > 4);
	for (u32 after = 1; after < read_cnt; after++) {
		int err;

		put_fake(&g_fake, text_sz, table_sz);
		g_fake.change_after = after;
		g_fake.change = rename_all;
		err = code_object_read(mem, &layout, OBJECT_ADDR, fingerprint, &object);
		if (!err)
			assert_parts(&object, text_sz, table_sz);
		else
			assert_int_equal(err, -ESTALE);
		stale_cnt += err == -ESTALE;
	}
	assert_true(stale_cnt > 0);
	remote_mem_close(mem);
	code_object_release(&object);
}

static void test_changes(void **state)
{
	(void)state;
	for (int way = 0; way < 2; way++) {
		change_at_every_read(5, 40, both_traits[way]);
		change_at_every_read(8000, 40, both_traits[way]);
		change_at_every_read(5, 8000, both_traits[way]);
	}
}

/* From a live process: what costs is the hand-over to the worker. */
static void test_hand_overs(void **state)
{
	struct code_object object;
	struct remote_mem *mem;

	(void)state;
	code_object_init(&object);
	assert_int_equal(remote_mem_open_process(&mem, getpid()), 0);
	for (int way = 0; way < 2; way++) {
		struct py_layout layout = layout_of(both_traits[way]);
		struct remote_mem_stats stats = {0};
		remote_addr_t code = (uintptr_t)g_fake.object;
		u32 fingerprint;

		put_fake(&g_fake, 100, 900);
		for (int part = CODE_PART_NAME; part <= CODE_PART_FILENAME; part++)
			put_u64(g_fake.object + 8 * part, (uintptr_t)g_fake.texts[part]);
		put_u64(g_fake.object + 24, (uintptr_t)g_fake.table);
		assert_int_equal(code_object_fingerprint(mem, &layout, code, &fingerprint), 0);
		remote_mem_count(mem, &stats);
		assert_int_equal(code_object_read(mem, &layout, code, fingerprint, &object), 0);
		remote_mem_count(mem, NULL);
		assert_parts(&object, 100, 900);
		assert_int_equal(stats.calls, 2);
	}
	remote_mem_close(mem);
	code_object_release(&object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_hand_overs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
