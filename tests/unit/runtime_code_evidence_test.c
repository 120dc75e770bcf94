/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../fuzz/elf_fixture.h"
#include "runtime/code_evidence.h"

/* Where the function and the texts stand in the fixture's .PyRuntime. */
enum { FUNCTION = 64, FUNCTION_SZ = 61, TEXT = 512, OTHER_TEXT = 600 };

static struct elf_fixture g_elf;

static u64 at(size_t off)
{
	return offsetof(struct elf_fixture, runtime) + off;
}

static void put_s32(size_t off, s64 value)
{
	s32 narrow = (s32)value;

	memcpy(g_elf.runtime + off, &narrow, sizeof(narrow));
}

/* lea text(%rip),%rdx, 20 bytes into the function. */
static void refer(size_t off, size_t text)
{
	static const u8 lea[] = {0x48, 0x8d, 0x15};

	memcpy(g_elf.runtime + FUNCTION + off, lea, sizeof(lea));
	put_s32(FUNCTION + off + 3, (s64)(text - (FUNCTION + off + 7)));
}

static void begin(void)
{
	elf_fixture_init(&g_elf, 0);
	memset(g_elf.runtime, 0x90, FUNCTION + FUNCTION_SZ);
}

static struct elf_symbol function(void)
{
	return (struct elf_symbol){.addr = at(FUNCTION), .sz = FUNCTION_SZ};
}

static int version_of(u32 *ret_version)
{
	struct target_file *file = fixture_file(&g_elf, sizeof(g_elf));
	struct elf_symbol symbol = function();
	struct elf_image *image;
	int err;

	assert_non_null(file);
	assert_int_equal(elf_image_open(&image, file), 0);
	err = code_evidence_version(image, &symbol, ret_version);
	elf_image_close(image);
	target_file_close(file);
	return err;
}

static int variable_of(struct elf_symbol symbol, u64 *ret_addr)
{
	struct target_file *file = fixture_file(&g_elf, sizeof(g_elf));
	struct elf_image *image;
	int err;

	assert_non_null(file);
	assert_int_equal(elf_image_open(&image, file), 0);
	err = code_evidence_returned_variable(image, &symbol, ret_addr);
	elf_image_close(image);
	target_file_close(file);
	return err;
}

static void test_texts(void **state)
{
	static const struct {
		const char *text;
		u32 version;
	} texts[] = {
		{"3.9.18", 0x030912f0},
		{"3.6.15", 0x03060ff0},
		{"3.10.0rc2", 0x030a00c2},
		{"3.8.3+", 0x030803f0},
		{"3.7.0a1", 0x030700a1},
		{"3.7.0b4+", 0x030700b4},
		{"3.9", 0},
		{"3.9.", 0},
		{"3.9.x", 0},
		{"3.9.18 ", 0},
		{"3.9.18.1", 0},
		{"2.7.18", 0},
		{"3.9.256", 0},
		{"3.9.1rc", 0},
		{"3.9.1rc16", 0},
		{"3.9.1a", 0},
		{"", 0},
		{"3.99999999999.1", 0},
		{"%.80s (%.80s) %.80s", 0},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_int_equal(code_evidence_parse_version(texts[i].text), texts[i].version);
}

static void test_version_that_a_function_refers_to(void **state)
{
	u32 version = 1;

	begin();
	assert_int_equal(version_of(&version), -ENOENT);
	memcpy(g_elf.runtime + TEXT, "3.9.18", 7);
	memcpy(g_elf.runtime + OTHER_TEXT, "3.9.18", 7);
	assert_int_equal(version_of(&version), -ENOENT); /* there, and nothing refers to it */
	assert_int_equal(version, 1);
	refer(20, TEXT);
	assert_int_equal(version_of(&version), 0);
	assert_int_equal(version, 0x030912f0);
	refer(40, OTHER_TEXT);
	assert_int_equal(version_of(&version), 0);
	/* Two that differ are no evidence. */
	memcpy(g_elf.runtime + OTHER_TEXT, "3.9.17", 7);
	assert_int_equal(version_of(&version), -ENOENT);
	/* By its address as it is, as in an executable at fixed addresses. */
	begin();
	memcpy(g_elf.runtime + TEXT, "3.8.2", 6);
	put_s32(FUNCTION + 30, (s64)at(TEXT));
	assert_int_equal(version_of(&version), 0);
	assert_int_equal(version, 0x030802f0);
	/* The last bytes do not reach over the function's end. */
	begin();
	memcpy(g_elf.runtime + TEXT, "3.8.2", 6);
	put_s32(FUNCTION + FUNCTION_SZ - 3, (s64)at(TEXT));
	assert_int_equal(version_of(&version), -ENOENT);
}

static void test_variable_that_a_function_returns(void **state)
{
	static const u8 relative[] = {0x48, 0x8b, 0x05, 0x10, 0, 0, 0, 0xc3};
	static const u8 fixed[] = {0x48, 0x8b, 0x04, 0x25, 0x10, 0x20, 0, 0, 0xc3};
	static const u8 marked[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x8b, 0x05, 0xf0, 0xff, 0xff, 0xff, 0xc3};
	u64 addr = 1;

	begin();
	assert_int_equal(variable_of(function(), &addr), -ENOENT);
	assert_int_equal(variable_of((struct elf_symbol){0}, &addr), -ENOENT);
	memcpy(g_elf.runtime + FUNCTION, relative, sizeof(relative));
	assert_int_equal(variable_of(function(), &addr), 0);
	assert_int_equal(addr, at(FUNCTION + 7 + 0x10));
	memcpy(g_elf.runtime + FUNCTION, fixed, sizeof(fixed));
	assert_int_equal(variable_of(function(), &addr), 0);
	assert_int_equal(addr, 0x2010);
	memcpy(g_elf.runtime + FUNCTION, marked, sizeof(marked));
	assert_int_equal(variable_of(function(), &addr), 0);
	assert_int_equal(addr, at(FUNCTION + 11) - 16);
	/* It does more than that, is cut off, or lies outside. */
	addr = 1;
	g_elf.runtime[FUNCTION + 11] = 0x90;
	assert_int_equal(variable_of(function(), &addr), -ENOENT);
	memcpy(g_elf.runtime + FUNCTION, relative, sizeof(relative));
	assert_int_equal(variable_of((struct elf_symbol){.addr = at(FUNCTION), .sz = 7}, &addr), -ENOENT);
	assert_int_equal(variable_of((struct elf_symbol){.addr = at(1 << 20), .sz = 8}, &addr), -ENOENT);
	assert_int_equal(addr, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_version_that_a_function_refers_to),
		cmocka_unit_test(test_variable_that_a_function_returns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
