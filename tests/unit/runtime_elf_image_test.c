/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <link.h>
#include <stdio.h>

#include "../fuzz/elf_fixture.h"
#include "discover/proc_maps.h"
#include "runtime/elf_image.h"

static int open_elf(const void *bytes, size_t sz, struct target_file **ret_file, struct elf_image **ret_image)
{
	int err;

	*ret_file = fixture_file(bytes, sz);
	assert_non_null(*ret_file);
	err = elf_image_open(ret_image, *ret_file);
	if (err)
		target_file_close(*ret_file);
	return err;
}

static void expect_refused(const struct elf_fixture *elf, size_t sz, int expected)
{
	struct target_file *file;
	struct elf_image *image;

	assert_int_equal(open_elf(elf, sz, &file, &image), expected);
}

static const char *const names[] = {"_PyRuntime", "Py_Version", "missing"};

static void test_symbols_and_sections(void **state)
{
	struct elf_fixture elf;
	struct elf_symbol symbols[3];
	struct target_file *file;
	struct elf_image *image;
	u64 addr, sz, version;

	elf_fixture_init(&elf, 0x030b02f0);
	assert_int_equal(open_elf(&elf, sizeof(elf), &file, &image), 0);
	assert_int_equal(elf_image_find_symbols(image, names, 3, false, symbols), 0);
	assert_int_equal(symbols[0].addr, offsetof(struct elf_fixture, runtime));
	assert_int_equal(symbols[0].sz, FIXTURE_RUNTIME_SZ);
	assert_int_equal(symbols[2].addr, 0);
	assert_int_equal(elf_image_find_section(image, ".PyRuntime", &addr, &sz), 0);
	assert_int_equal(addr, symbols[0].addr);
	assert_int_equal(elf_image_find_section(image, ".nothing", &addr, &sz), -ENOENT);
	assert_int_equal(elf_image_read_addr(image, symbols[1].addr, &version, sizeof(version)), 0);
	assert_int_equal(version, 0x030b02f0);
	assert_int_equal(elf_image_read_addr(image, sizeof(elf) - 4, &version, sizeof(version)), -ENODATA);
	assert_int_equal(elf_image_read_addr(image, UINT64_MAX, &version, sizeof(version)), -ENODATA);
	assert_string_equal(elf_image_interpreter(image), "");
	elf_image_close(image);
	target_file_close(file);
}

static void test_only_defined_symbols_count(void **state)
{
	struct elf_fixture elf;
	struct elf_symbol symbols[3];
	struct target_file *file;
	struct elf_image *image;

	elf_fixture_init(&elf, 0);
	elf.symbols[1].st_shndx = SHN_UNDEF;
	assert_int_equal(open_elf(&elf, sizeof(elf), &file, &image), 0);
	assert_int_equal(elf_image_find_symbols(image, names, 3, true, symbols), 0);
	assert_int_equal(symbols[0].addr, 0);
	assert_true(symbols[1].addr != 0);
	elf_image_close(image);
	target_file_close(file);
}

static void test_files_that_are_refused(void **state)
{
	struct elf_fixture good, elf;

	elf_fixture_init(&good, 0);
	expect_refused(&good, 0, -ENOEXEC);
	expect_refused(&good, 63, -ENOEXEC);
	expect_refused(&good, 64, -EBADMSG);  /* no program headers */
	expect_refused(&good, 200, -EBADMSG); /* no sections */
	elf = good;
	elf.header.e_ident[0] = '#';
	expect_refused(&elf, sizeof(elf), -ENOEXEC);
	elf = good;
	elf.header.e_type = ET_REL;
	expect_refused(&elf, sizeof(elf), -ENOEXEC);
	elf = good;
	elf.header.e_ident[EI_CLASS] = ELFCLASS32;
	expect_refused(&elf, sizeof(elf), -ENOTSUP);
	elf = good;
	elf.header.e_ident[EI_DATA] = ELFDATA2MSB;
	expect_refused(&elf, sizeof(elf), -ENOTSUP);
	elf = good;
	elf.header.e_machine = EM_S390;
	expect_refused(&elf, sizeof(elf), -ENOTSUP);
}

static void test_tables_that_are_refused(void **state)
{
	struct elf_fixture good, elf;

	elf_fixture_init(&good, 0);
	elf = good;
	elf.header.e_phnum = 0xffff;
	expect_refused(&elf, sizeof(elf), -EBADMSG);
	elf = good;
	elf.header.e_phoff = UINT64_MAX - 10;
	expect_refused(&elf, sizeof(elf), -EBADMSG);
	elf = good;
	elf.header.e_phentsize = 1;
	expect_refused(&elf, sizeof(elf), -EBADMSG);
	elf = good;
	elf.header.e_shnum = 0xffff;
	expect_refused(&elf, sizeof(elf), -EBADMSG);
	elf = good;
	elf.header.e_shoff = sizeof(elf) - 10;
	expect_refused(&elf, sizeof(elf), -EBADMSG);
	elf = good;
	elf.header.e_shstrndx = FIXTURE_SECTIONS;
	expect_refused(&elf, sizeof(elf), -EBADMSG);
	elf = good;
	elf.sections[1].sh_size = 1ULL << 40;
	expect_refused(&elf, sizeof(elf), -EBADMSG);
	elf = good;
	elf.programs[0].p_memsz = 1; /* less than in the file */
	expect_refused(&elf, sizeof(elf), -EBADMSG);
	elf = good;
	elf.programs[0].p_vaddr = UINT64_MAX - 100;
	expect_refused(&elf, sizeof(elf), -EBADMSG);
	elf = good;
	elf.programs[0].p_type = PT_NOTE; /* nothing is loaded */
	expect_refused(&elf, sizeof(elf), -EBADMSG);
	elf = good;
	elf.programs[1] = (Elf64_Phdr){.p_type = PT_INTERP, .p_offset = UINT64_MAX, .p_filesz = 20};
	expect_refused(&elf, sizeof(elf), -EBADMSG);
}

static int find_in(struct elf_fixture *elf)
{
	struct elf_symbol symbols[3];
	struct target_file *file;
	struct elf_image *image;
	int err;

	assert_int_equal(open_elf(elf, sizeof(*elf), &file, &image), 0);
	err = elf_image_find_symbols(image, names, 3, true, symbols);
	elf_image_close(image);
	target_file_close(file);
	return err;
}

static void test_symbol_tables_that_lie(void **state)
{
	struct elf_fixture good, elf;

	elf_fixture_init(&good, 0);
	assert_int_equal(find_in(&good), 0);
	elf = good;
	elf.sections[2].sh_size = 1ULL << 50;
	assert_int_equal(find_in(&elf), -EBADMSG);
	elf = good;
	elf.sections[2].sh_offset = UINT64_MAX - 8;
	assert_int_equal(find_in(&elf), -EBADMSG);
	elf = good;
	elf.sections[2].sh_link = 99;
	assert_int_equal(find_in(&elf), -EBADMSG);
	elf = good;
	elf.sections[3].sh_size = UINT64_MAX;
	assert_int_equal(find_in(&elf), -EBADMSG);
	elf = good;
	elf.symbols[1].st_name = UINT32_MAX;
	assert_int_equal(find_in(&elf), 0);
	elf = good;
	memset(elf.strings, 'x', sizeof(elf.strings)); /* no name ends */
	assert_int_equal(find_in(&elf), 0);
}

static int on_library(struct dl_phdr_info *info, size_t sz, void *ctx)
{
	if (!strstr(info->dlpi_name, "libcmocka"))
		return 0;
	*(struct dl_phdr_info *)ctx = *info;
	return 1;
}

/* A real library, by its hash table: the linker's own answers are the truth. */
static void test_a_real_library(void **state)
{
	static const char *const real_names[] = {"_cmocka_run_group_tests", "no_such_symbol_here"};
	struct dl_phdr_info library;
	struct elf_symbol symbols[2];
	struct target_file *file;
	struct elf_image *image;

	if (!dl_iterate_phdr(on_library, &library)) {
		print_message("skipped: cmocka is linked statically\n");
		skip();
	}
	assert_int_equal(target_file_open_path(&file, library.dlpi_name), 0);
	assert_int_equal(elf_image_open(&image, file), 0);
	assert_int_equal(elf_image_find_symbols(image, real_names, 2, false, symbols), 0);
	assert_ptr_equal((void *)(symbols[0].addr + library.dlpi_addr), (void *)_cmocka_run_group_tests);
	assert_int_equal(symbols[1].addr, 0);
	elf_image_close(image);
	target_file_close(file);
}

static void test_load_bias(void **state)
{
	struct elf_loads loads = {
		.cnt = 3,
		.loads = {{.vaddr = 0, .off = 0, .file_sz = 0x1800, .mem_sz = 0x1800},
			  {.vaddr = 0x2800,
			   .off = 0x1800,
			   .file_sz = 0x1000,
			   .mem_sz = 0x1000,
			   .executable = true},
			  {.vaddr = 0x5000, .off = 0x3000, .file_sz = 0x10, .mem_sz = 0x9000}},
	};
	u64 bias = 42;

	assert_int_equal(elf_loads_bias(&loads, 0x7f0000001000, 0x1000, true, &bias), 0);
	assert_true(bias == 0x7f0000001000 - 0x2000);
	assert_int_equal(elf_loads_bias(&loads, 0x7f0000000000, 0, false, &bias), 0);
	assert_true(bias == 0x7f0000000000);
	/* No executable part lies there; a bias that is no multiple of a page; a fixed file elsewhere. */
	bias = 42;
	assert_int_equal(elf_loads_bias(&loads, 0x7f0000000000, 0x3000, true, &bias), -EINVAL);
	loads.loads[1].vaddr += 0x10;
	assert_int_equal(elf_loads_bias(&loads, 0x7f0000001000, 0x1000, true, &bias), -EINVAL);
	loads.loads[1].vaddr -= 0x10;
	loads.is_fixed = true;
	assert_int_equal(elf_loads_bias(&loads, 0x7f0000001000, 0x1000, true, &bias), -EINVAL);
	assert_int_equal(bias, 42);
	assert_int_equal(elf_loads_bias(&loads, 0x2000, 0x1000, true, &bias), 0);
	assert_int_equal(bias, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_symbols_and_sections),
		cmocka_unit_test(test_only_defined_symbols_count),
		cmocka_unit_test(test_files_that_are_refused),
		cmocka_unit_test(test_tables_that_are_refused),
		cmocka_unit_test(test_symbol_tables_that_lie),
		cmocka_unit_test(test_a_real_library),
		cmocka_unit_test(test_load_bias),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
