/* SPDX-License-Identifier: Apache-2.0 */
/* An ELF file of a target, read by parts and bounds-checked: the file is whatever its owner made of it.
 */
#ifndef PANOPY_RUNTIME_ELF_IMAGE_H
#define PANOPY_RUNTIME_ELF_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/target_file.h"

struct elf_image;

/* -ENOEXEC: no ELF file. -ENOTSUP: not for this machine, or not 64 bits. -EBADMSG: tables that make no
 * sense. Others from target_file_read. The file is not owned and must outlive the image. */
int elf_image_open(struct elf_image **ret_image, struct target_file *file);
void elf_image_close(struct elf_image *image);

struct elf_symbol {
	u64 addr; /* 0: not found, or only referenced */
	u64 sz;
};

/* Looks `cnt` names up among the exported symbols. Only defined ones count. -EBADMSG, read errors; not found is
 * no error. Without an index the whole table is read: ask once, for all. */
int elf_image_find_exported(struct elf_image *image, const char *const names[], size_t cnt,
			    struct elf_symbol ret_symbols[]);
/* Which names it asks other files for. Reads the whole table, so -EBADMSG for one of hundreds; the same errors. */
int elf_image_find_imported(struct elf_image *image, const char *const names[], size_t cnt,
			    bool ret_imported[]);
bool elf_image_has_index(const struct elf_image *image);
/* Looks those still missing up among all symbols, if the file was not stripped. The same errors. */
int elf_image_find_local(struct elf_image *image, const char *const names[], size_t cnt,
			 struct elf_symbol symbols[]);

/* Address of a loaded section, or -ENOENT. */
int elf_image_find_section(const struct elf_image *image, const char *name, u64 *ret_addr, u64 *ret_sz);

/* Initial contents at an address of the file's own address space. -ENODATA: zero-filled, or in no segment. */
int elf_image_read_addr(struct elf_image *image, u64 addr, void *ret_buf, size_t sz);

/* The dynamic linker it asks for (PT_INTERP); "" when it asks for none. */
const char *elf_image_interpreter(const struct elf_image *image);

/* What is needed to turn a mapping into a load address: a plain value that outlives the image. */
enum {
	/* Linkers make 2 to 6. */
	ELF_LOADS_MAX = 16,
};

struct elf_loads {
	struct elf_load {
		u64 vaddr;
		u64 off;
		u64 file_sz;
		u64 mem_sz;
		bool executable;
	} loads[ELF_LOADS_MAX];
	u32 cnt;
	bool is_fixed; /* ET_EXEC: mapped where it says */
	u64 begin;     /* range of addresses over all of them */
	u64 end;
};

const struct elf_loads *elf_image_loads(const struct elf_image *image);

/* What to add to the file's addresses, from one mapping of it. -EINVAL: no segment fits the mapping. */
int elf_loads_bias(const struct elf_loads *loads, u64 map_start, u64 map_off, bool map_executable,
		   u64 *ret_bias);

#endif
