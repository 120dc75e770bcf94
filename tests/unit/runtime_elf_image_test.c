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
#include "runtime/interpreter_file.h"

/* What a look at a file costs: the linker puts these in front of the real ones. */
static u64 g_read_bytes, g_read_cnt;

int __real_target_file_read(struct target_file *file, u64 off, void *ret_buf, size_t sz);
int __wrap_target_file_read(struct target_file *file, u64 off, void *ret_buf, size_t sz);
int __real_target_file_read_alloc(struct target_file *file, u64 off, u64 sz, size_t max_sz, u8 **ret_bytes);
int __wrap_target_file_read_alloc(struct target_file *file, u64 off, u64 sz, size_t max_sz, u8 **ret_bytes);

int __wrap_target_file_read(struct target_file *file, u64 off, void *ret_buf, size_t sz)
{
	g_read_bytes += sz;
	g_read_cnt++;
	return __real_target_file_read(file, off, ret_buf, sz);
}

int __wrap_target_file_read_alloc(struct target_file *file, u64 off, u64 sz, size_t max_sz, u8 **ret_bytes)
{
	g_read_bytes += sz <= max_sz ? sz : 0;
	g_read_cnt++;
	return __real_target_file_read_alloc(file, off, sz, max_sz, ret_bytes);
}

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

static int find_all(struct elf_image *image, struct elf_symbol symbols[3])
{
	int err = elf_image_find_exported(image, names, 3, symbols);

	return err ?: elf_image_find_local(image, names, 3, symbols);
}

static void test_symbols_and_sections(void **state)
{
	struct elf_fixture elf;
	struct elf_symbol symbols[3];
	struct target_file *file;
	struct elf_image *image;
	u64 addr, sz, version;

	elf_fixture_init(&elf, 0x030b02f0);
	assert_int_equal(open_elf(&elf, sizeof(elf), &file, &image), 0);
	assert_int_equal(elf_image_find_exported(image, names, 3, symbols), 0);
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
	bool imported[3];

	elf_fixture_init(&elf, 0);
	elf.symbols[1].st_shndx = SHN_UNDEF;
	assert_int_equal(open_elf(&elf, sizeof(elf), &file, &image), 0);
	assert_int_equal(find_all(image, symbols), 0);
	assert_int_equal(elf_image_find_imported(image, names, 3, imported), 0);
	assert_true(imported[0]);
	assert_false(imported[1]);
	assert_false(imported[2]);
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
	err = find_all(image, symbols);
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

/* A fixture behind which the file goes on, all zeros but for what the caller writes there. */
static int costly_file(const struct elf_fixture *elf, u64 sz)
{
	char path[] = "/tmp/panopy-sparse-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);

	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(pwrite(fd, elf, sizeof(*elf), 0), sizeof(*elf));
	assert_int_equal(ftruncate(fd, (off_t)sz), 0);
	return fd;
}

/* Looks at it as at a process's executable; what that took is in g_read_*. */
static void inspect_costly(int fd)
{
	struct interpreter_file info;
	struct target_file *file;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(target_file_open_path(&file, path), 0);
	close(fd);
	g_read_bytes = g_read_cnt = 0;
	assert_int_equal(interpreter_file_inspect(file, "/usr/bin/python3", &info), 0);
	target_file_close(file);
}

/* Two symbol tables, of which every byte is wanted, in a file that takes no room on the disk. */
static void test_a_sparse_file_costs_little(void **state)
{
	const u64 table_off = 1 << 20;
	static const struct {
		u64 symbols_sz, strings_sz, most;
	} cases[] = {
		{32 << 20, 128 << 20, 64 << 10},	/* beyond the limits: not read */
		{4 << 20, 8 << 20, (24 << 20) + 65536}, /* at them: once each */
	};
	struct elf_fixture elf;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		elf_fixture_init(&elf, 0);
		elf.header.e_type = ET_EXEC;
		memcpy(elf.section_names + 27, ".symtab", 8); /* was .PyRuntime */
		elf.sections[2].sh_offset = elf.sections[4].sh_offset = table_off;
		elf.sections[2].sh_size = elf.sections[4].sh_size = cases[i].symbols_sz;
		elf.sections[3].sh_offset = table_off;
		elf.sections[3].sh_size = cases[i].strings_sz;
		elf.sections[4].sh_link = 3;
		inspect_costly(costly_file(&elf, table_off + (256 << 20)));
		if (g_read_bytes > cases[i].most)
			fail_msg("tables of %llu and %llu bytes: %llu bytes read",
				 (unsigned long long)cases[i].symbols_sz,
				 (unsigned long long)cases[i].strings_sz, (unsigned long long)g_read_bytes);
	}
}

/* A hash table whose one bucket holds everything and whose chain has no end; with `chain_word` 0 nothing has the
 * wanted hash, else all have that of _PyRuntime and another name. */
static void test_a_hash_chain_without_end_costs_little(void **state)
{
	enum { SYMBOLS = 4096, TABLE_OFF = 1 << 20 };
	static const u32 chain_words[] = {0, 0x88b5a110};
	struct elf_fixture elf;

	for (size_t i = 0; i < sizeof(chain_words) / sizeof(chain_words[0]); i++) {
		const u32 head[] = {1, 1, 1, 0, UINT32_MAX, UINT32_MAX, 1};
		int fd;

		elf_fixture_init(&elf, 0);
		memcpy(elf.section_names + 27, ".gnu.hash", 10);
		elf.sections[2].sh_offset = 2 * TABLE_OFF;
		elf.sections[2].sh_size = SYMBOLS * sizeof(Elf64_Sym);
		elf.sections[4].sh_offset = TABLE_OFF;
		elf.sections[4].sh_size = TABLE_OFF;
		fd = costly_file(&elf, 4 * TABLE_OFF);
		assert_int_equal(pwrite(fd, head, sizeof(head), TABLE_OFF), sizeof(head));
		for (off_t at = 0; at < SYMBOLS; at++)
			assert_int_equal(
				pwrite(fd, &chain_words[i], 4, TABLE_OFF + (off_t)sizeof(head) + 4 * at), 4);
		inspect_costly(fd);
		if (g_read_cnt > 600)
			fail_msg("chain of 0x%x: %llu reads", chain_words[i], (unsigned long long)g_read_cnt);
	}
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
	assert_int_equal(elf_image_find_exported(image, real_names, 2, symbols), 0);
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
		cmocka_unit_test(test_a_sparse_file_costs_little),
		cmocka_unit_test(test_a_hash_chain_without_end_costs_little),
		cmocka_unit_test(test_a_real_library),
		cmocka_unit_test(test_load_bias),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
