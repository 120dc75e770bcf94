/* SPDX-License-Identifier: Apache-2.0 */
/* A small shared library in memory that exports _PyRuntime, Py_Version and Py_GetVersion: what tests
 * corrupt and write to a file. Its addresses are its file offsets.
 */
#ifndef PANOPY_TESTS_ELF_FIXTURE_H
#define PANOPY_TESTS_ELF_FIXTURE_H

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/target_file.h"

enum {
	FIXTURE_RUNTIME_SZ = 4096,
	FIXTURE_SECTIONS = 5, /* null, names, .dynsym, .dynstr, .PyRuntime */
	FIXTURE_SYMBOLS = 4,  /* null and three */
};

struct elf_fixture {
	Elf64_Ehdr header;
	Elf64_Phdr programs[2];
	Elf64_Shdr sections[FIXTURE_SECTIONS];
	Elf64_Sym symbols[FIXTURE_SYMBOLS];
	char strings[64];
	char section_names[64];
	u64 version;
	u8 code[16];
	u8 runtime[FIXTURE_RUNTIME_SZ];
};

#if defined(__x86_64__)
#define FIXTURE_MACHINE EM_X86_64
#else
#define FIXTURE_MACHINE EM_AARCH64
#endif

static inline Elf64_Shdr fixture_section(u32 name, u32 type, size_t off, size_t sz, u32 link)
{
	return (Elf64_Shdr){.sh_name = name,
			    .sh_type = type,
			    .sh_flags = SHF_ALLOC,
			    .sh_addr = off,
			    .sh_offset = off,
			    .sh_size = sz,
			    .sh_link = link};
}

static inline void elf_fixture_init(struct elf_fixture *elf, u64 version)
{
	static const char strings[] = "\0_PyRuntime\0Py_Version\0Py_GetVersion";
	static const char names[] = "\0.shstrtab\0.dynsym\0.dynstr\0.PyRuntime";

	memset(elf, 0, sizeof(*elf));
	elf->header = (Elf64_Ehdr){
		.e_type = ET_DYN,
		.e_machine = FIXTURE_MACHINE,
		.e_version = EV_CURRENT,
		.e_phoff = offsetof(struct elf_fixture, programs),
		.e_shoff = offsetof(struct elf_fixture, sections),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = FIXTURE_SECTIONS,
		.e_shstrndx = 1,
	};
	memcpy(elf->header.e_ident, ELFMAG, SELFMAG);
	elf->header.e_ident[EI_CLASS] = ELFCLASS64;
	elf->header.e_ident[EI_DATA] = ELFDATA2LSB;
	elf->programs[0] = (Elf64_Phdr){
		.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = sizeof(*elf), .p_memsz = sizeof(*elf)};
	elf->programs[1] = (Elf64_Phdr){.p_type = PT_NOTE};
	memcpy(elf->strings, strings, sizeof(strings));
	memcpy(elf->section_names, names, sizeof(names));
	elf->sections[1] = fixture_section(1, SHT_STRTAB, offsetof(struct elf_fixture, section_names),
					   sizeof(elf->section_names), 0);
	elf->sections[2] = fixture_section(11, SHT_DYNSYM, offsetof(struct elf_fixture, symbols),
					   sizeof(elf->symbols), 3);
	elf->sections[3] = fixture_section(19, SHT_STRTAB, offsetof(struct elf_fixture, strings),
					   sizeof(elf->strings), 0);
	elf->sections[4] = fixture_section(27, SHT_PROGBITS, offsetof(struct elf_fixture, runtime),
					   sizeof(elf->runtime), 0);
	elf->symbols[1] = (Elf64_Sym){.st_name = 1,
				      .st_shndx = 4,
				      .st_value = offsetof(struct elf_fixture, runtime),
				      .st_size = sizeof(elf->runtime)};
	elf->symbols[2] = (Elf64_Sym){.st_name = 12,
				      .st_shndx = 4,
				      .st_value = offsetof(struct elf_fixture, version),
				      .st_size = 8};
	elf->symbols[3] = (Elf64_Sym){
		.st_name = 23, .st_shndx = 4, .st_value = offsetof(struct elf_fixture, code), .st_size = 16};
	elf->version = version;
}

/* Opens `bytes` as a target's file; NULL when there is no room for temporary files. */
static inline struct target_file *fixture_file(const void *bytes, size_t sz)
{
	char path[] = "/tmp/panopy-elf-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);
	struct target_file *file = NULL;

	if (fd >= 0 && write(fd, bytes, sz) == (ssize_t)sz && target_file_open_path(&file, path) != 0)
		file = NULL;
	if (fd >= 0) {
		close(fd);
		unlink(path);
	}
	return file;
}

#endif
