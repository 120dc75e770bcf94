/* SPDX-License-Identifier: Apache-2.0 */
/* Own reading instead of libelf: libelf maps or loads whole files and trusts more of them than a root
 * process should. Limits stand in the enum; a table above its limit is -EBADMSG, never an allocation of
 * that size.
 *
 * Exported symbols are found by .gnu.hash in a handful of small reads, as most files looked at are no
 * interpreters. Files without it have their symbol table read in full. What a file can make a look at it cost at
 * most is a matter of milliseconds: whoever maps files by the thousand has each of them looked at.
 */
#include "runtime/elf_image.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

enum {
	MAX_PROGRAM_HEADERS = 256,
	/* Linked files have some 40. */
	MAX_SECTIONS = 1024,
	MAX_SECTION_NAMES_SZ = 64 << 10,
	MAX_INTERPRETER_SZ = 256,
	/* Of tables read in full. A debug build of 3.14 exports 2,500 symbols and has 26,000 (600 KiB, with names of
	 * 350 KiB), node 75,000 and 110,000 (2.6 MiB and 7.5 MiB). */
	MAX_EXPORTED_SZ = 4 << 20,
	MAX_EXPORTED_STRINGS_SZ = 8 << 20,
	/* A program that only starts Python imports some ten. */
	MAX_IMPORTED_SZ = 64 << 10,
	MAX_IMPORTED_STRINGS_SZ = 256 << 10,
	MAX_LOCAL_SZ = 8 << 20,
	MAX_LOCAL_STRINGS_SZ = 16 << 20,
	/* Of one hash chain: real ones have under ten, of which one or two have the wanted hash. */
	MAX_CHAIN = 1024,
	MAX_SAME_HASH = 8,
	CHAIN_BLOCK = 64,    /* words read at once */
	SYMBOL_NAME_SZ = 64, /* longest name that is looked up, and a bit */
};

#if defined(__x86_64__)
#define HOST_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define HOST_MACHINE EM_AARCH64
#else
#error "unknown machine"
#endif

struct elf_image {
	struct target_file *file; /* not owned */
	Elf64_Shdr *sections;
	u32 section_cnt;
	u8 *section_names;
	size_t section_names_sz;
	struct elf_loads loads;
	char interpreter[MAX_INTERPRETER_SZ];
};

static int read_header(struct target_file *file, Elf64_Ehdr *ret_header)
{
	int err = target_file_read(file, 0, ret_header, sizeof(*ret_header));

	if (err)
		return err == -ERANGE ? -ENOEXEC : err;
	if (memcmp(ret_header->e_ident, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	if (ret_header->e_ident[EI_CLASS] != ELFCLASS64 || ret_header->e_ident[EI_DATA] != ELFDATA2LSB ||
	    ret_header->e_machine != HOST_MACHINE)
		return -ENOTSUP;
	if (ret_header->e_type != ET_EXEC && ret_header->e_type != ET_DYN)
		return -ENOEXEC;
	return 0;
}

static int add_load(struct elf_loads *loads, const Elf64_Phdr *program)
{
	struct elf_load *load;

	if (loads->cnt == ELF_LOADS_MAX || program->p_memsz < program->p_filesz ||
	    program->p_vaddr + program->p_memsz < program->p_vaddr ||
	    program->p_offset + program->p_filesz < program->p_offset)
		return -EBADMSG;
	load = &loads->loads[loads->cnt++];
	*load = (struct elf_load){
		.vaddr = program->p_vaddr,
		.off = program->p_offset,
		.file_sz = program->p_filesz,
		.mem_sz = program->p_memsz,
		.executable = program->p_flags & PF_X,
	};
	if (loads->cnt == 1 || load->vaddr < loads->begin)
		loads->begin = load->vaddr;
	if (load->vaddr + load->mem_sz > loads->end)
		loads->end = load->vaddr + load->mem_sz;
	return 0;
}

static int read_interpreter(struct elf_image *image, const Elf64_Phdr *program)
{
	int err;

	if (program->p_filesz == 0 || program->p_filesz > MAX_INTERPRETER_SZ)
		return -EBADMSG;
	err = target_file_read(image->file, program->p_offset, image->interpreter, program->p_filesz);
	if (err)
		return err == -ERANGE ? -EBADMSG : err;
	image->interpreter[program->p_filesz - 1] = '\0';
	return 0;
}

static int read_programs(struct elf_image *image, const Elf64_Ehdr *header)
{
	CLEANUP_FREE u8 *bytes = NULL;
	const Elf64_Phdr *programs;
	int err;

	if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum == 0 ||
	    header->e_phnum > MAX_PROGRAM_HEADERS)
		return -EBADMSG;
	err = target_file_read_alloc(image->file, header->e_phoff, header->e_phnum * sizeof(Elf64_Phdr),
				     MAX_PROGRAM_HEADERS * sizeof(Elf64_Phdr), &bytes);
	if (err)
		return err == -ERANGE ? -EBADMSG : err;
	programs = (const Elf64_Phdr *)bytes;
	image->loads.is_fixed = header->e_type == ET_EXEC;
	for (u32 i = 0; i < header->e_phnum && !err; i++) {
		if (programs[i].p_type == PT_LOAD)
			err = add_load(&image->loads, &programs[i]);
		else if (programs[i].p_type == PT_INTERP)
			err = read_interpreter(image, &programs[i]);
	}
	if (!err && image->loads.cnt == 0)
		err = -EBADMSG;
	return err;
}

/* Sections may be missing (stripped off): then nothing is found, which is no error. */
static int read_sections(struct elf_image *image, const Elf64_Ehdr *header)
{
	CLEANUP_FREE u8 *bytes = NULL;
	const Elf64_Shdr *names;
	int err;

	if (header->e_shoff == 0 || header->e_shnum == 0)
		return 0;
	if (header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shnum > MAX_SECTIONS ||
	    header->e_shstrndx >= header->e_shnum)
		return -EBADMSG;
	err = target_file_read_alloc(image->file, header->e_shoff, header->e_shnum * sizeof(Elf64_Shdr),
				     MAX_SECTIONS * sizeof(Elf64_Shdr), &bytes);
	if (err)
		return err == -ERANGE ? -EBADMSG : err;
	names = (const Elf64_Shdr *)bytes + header->e_shstrndx;
	err = target_file_read_alloc(image->file, names->sh_offset, names->sh_size, MAX_SECTION_NAMES_SZ,
				     &image->section_names);
	if (err)
		return err == -ERANGE || err == -EFBIG ? -EBADMSG : err;
	image->section_names_sz = names->sh_size;
	image->section_cnt = header->e_shnum;
	image->sections = (Elf64_Shdr *)steal_ptr(bytes);
	return 0;
}

int elf_image_open(struct elf_image **ret_image, struct target_file *file)
{
	struct elf_image *image = calloc(1, sizeof(*image));
	Elf64_Ehdr header;
	int err;

	if (!image)
		return -ENOMEM;
	image->file = file;
	err = read_header(file, &header);
	if (!err)
		err = read_programs(image, &header);
	if (!err)
		err = read_sections(image, &header);
	if (err) {
		elf_image_close(image);
		return err;
	}
	*ret_image = image;
	return 0;
}

void elf_image_close(struct elf_image *image)
{
	if (!image)
		return;
	free(image->sections);
	free(image->section_names);
	free(image);
}

const char *elf_image_interpreter(const struct elf_image *image)
{
	return image->interpreter;
}

const struct elf_loads *elf_image_loads(const struct elf_image *image)
{
	return &image->loads;
}

static const Elf64_Shdr *find_section(const struct elf_image *image, const char *name)
{
	size_t sz = strlen(name) + 1;

	for (u32 i = 0; i < image->section_cnt; i++) {
		u32 off = image->sections[i].sh_name;

		if (off < image->section_names_sz && sz <= image->section_names_sz - off &&
		    memcmp(image->section_names + off, name, sz) == 0)
			return &image->sections[i];
	}
	return NULL;
}

int elf_image_find_section(const struct elf_image *image, const char *name, u64 *ret_addr, u64 *ret_sz)
{
	const Elf64_Shdr *section = find_section(image, name);

	if (!section || !(section->sh_flags & SHF_ALLOC))
		return -ENOENT;
	*ret_addr = section->sh_addr;
	*ret_sz = section->sh_size;
	return 0;
}

int elf_image_read_addr(struct elf_image *image, u64 addr, void *ret_buf, size_t sz)
{
	for (u32 i = 0; i < image->loads.cnt; i++) {
		const struct elf_load *load = &image->loads.loads[i];
		u64 off = addr - load->vaddr;

		if (addr >= load->vaddr && off < load->file_sz && sz <= load->file_sz - off)
			return target_file_read(image->file, load->off + off, ret_buf, sz);
	}
	return -ENODATA;
}

static const Elf64_Shdr *linked_strings(const struct elf_image *image, const Elf64_Shdr *symbols)
{
	return symbols->sh_link < image->section_cnt ? &image->sections[symbols->sh_link] : NULL;
}

static void take_symbol(const Elf64_Sym *symbol, struct elf_symbol *ret_symbol)
{
	if (symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0)
		*ret_symbol = (struct elf_symbol){.addr = symbol->st_value, .sz = symbol->st_size};
}

/* DT_GNU_HASH: header of four words, Bloom filter of 64-bit words, buckets, chains. */
struct gnu_hash {
	u32 bucket_cnt;
	u32 symbol_base; /* index of the first hashed symbol */
	u32 bloom_cnt;
	u32 bloom_shift;
	u64 bloom_off; /* file offsets of the three arrays */
	u64 buckets_off;
	u64 chains_off;
	u64 symbols_off;
	u64 symbol_cnt;
	u64 strings_off;
	u64 strings_sz;
};

static u32 gnu_hash_of(const char *name)
{
	u32 hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (u8)*name;
	return hash;
}

static int open_gnu_hash(struct elf_image *image, const Elf64_Shdr *symbols, struct gnu_hash *ret_hash)
{
	const Elf64_Shdr *section = find_section(image, ".gnu.hash");
	const Elf64_Shdr *strings = linked_strings(image, symbols);
	u32 words[4];
	int err;

	if (!section || !strings)
		return -ENOENT;
	err = target_file_read(image->file, section->sh_offset, words, sizeof(words));
	if (err)
		return err == -ERANGE ? -EBADMSG : err;
	*ret_hash = (struct gnu_hash){
		.bucket_cnt = words[0],
		.symbol_base = words[1],
		.bloom_cnt = words[2],
		.bloom_shift = words[3],
		.bloom_off = section->sh_offset + sizeof(words),
		.symbols_off = symbols->sh_offset,
		.symbol_cnt = symbols->sh_size / sizeof(Elf64_Sym),
		.strings_off = strings->sh_offset,
		.strings_sz = strings->sh_size,
	};
	if (ret_hash->bucket_cnt == 0 || ret_hash->bloom_cnt == 0 || ret_hash->bloom_shift > 31)
		return -EBADMSG;
	ret_hash->buckets_off = ret_hash->bloom_off + (u64)ret_hash->bloom_cnt * sizeof(u64);
	ret_hash->chains_off = ret_hash->buckets_off + (u64)ret_hash->bucket_cnt * sizeof(u32);
	return 0;
}

/* 1: this is it. */
static int name_matches(struct elf_image *image, const struct gnu_hash *hash, u64 name_off, const char *name)
{
	char found[SYMBOL_NAME_SZ];
	size_t sz = strlen(name) + 1;
	int err;

	if (sz > sizeof(found) || name_off >= hash->strings_sz || sz > hash->strings_sz - name_off)
		return 0;
	err = target_file_read(image->file, hash->strings_off + name_off, found, sz);
	if (err)
		return err == -ERANGE ? -EBADMSG : err;
	return memcmp(found, name, sz) == 0;
}

static int read_hash_word(struct elf_image *image, u64 off, void *ret_word, size_t sz)
{
	int err = target_file_read(image->file, off, ret_word, sz);

	return err == -ERANGE ? -EBADMSG : err;
}

/* A symbol whose hash is the wanted one. 1: it has the name, too, and was taken if it is defined. */
static int try_symbol(struct elf_image *image, const struct gnu_hash *hash, u64 index, const char *name,
		      struct elf_symbol *ret_symbol)
{
	Elf64_Sym symbol;
	int err = read_hash_word(image, hash->symbols_off + index * sizeof(symbol), &symbol, sizeof(symbol));

	if (!err)
		err = name_matches(image, hash, symbol.st_name, name);
	if (err == 1)
		take_symbol(&symbol, ret_symbol);
	return err;
}

static int find_in_chain(struct elf_image *image, const struct gnu_hash *hash, u32 first, u32 wanted,
			 const char *name, struct elf_symbol *ret_symbol)
{
	u64 end = (u64)first + MAX_CHAIN < hash->symbol_cnt ? (u64)first + MAX_CHAIN : hash->symbol_cnt;
	u32 chain[CHAIN_BLOCK], same_cnt = 0;

	for (u64 i = first; i < end; i++) {
		u32 at = (i - first) % CHAIN_BLOCK;
		int err = 0;

		if (at == 0)
			err = read_hash_word(image, hash->chains_off + (i - hash->symbol_base) * sizeof(u32),
					     chain,
					     (end - i < CHAIN_BLOCK ? end - i : CHAIN_BLOCK) * sizeof(u32));
		if (!err && (chain[at] | 1) == (wanted | 1)) {
			if (++same_cnt > MAX_SAME_HASH)
				return -EBADMSG;
			err = try_symbol(image, hash, i, name, ret_symbol);
		}
		if (err)
			return err < 0 ? err : 0;
		if (chain[at] & 1)
			break;
	}
	return 0;
}

static int find_by_hash(struct elf_image *image, const struct gnu_hash *hash, const char *name,
			struct elf_symbol *ret_symbol)
{
	u32 wanted = gnu_hash_of(name), first;
	u64 bloom, mask = 1ULL << (wanted % 64) | 1ULL << ((wanted >> hash->bloom_shift) % 64);
	int err = read_hash_word(image, hash->bloom_off + (wanted / 64 % hash->bloom_cnt) * sizeof(bloom),
				 &bloom, sizeof(bloom));

	if (err || (bloom & mask) != mask)
		return err;
	err = read_hash_word(image, hash->buckets_off + (wanted % hash->bucket_cnt) * sizeof(first), &first,
			     sizeof(first));
	if (err || first < hash->symbol_base)
		return err;
	return find_in_chain(image, hash, first, wanted, name, ret_symbol);
}

static int read_table(struct elf_image *image, const Elf64_Shdr *section, size_t max_sz, u8 **ret_bytes)
{
	int err =
		target_file_read_alloc(image->file, section->sh_offset, section->sh_size, max_sz, ret_bytes);

	return err == -ERANGE || err == -EFBIG ? -EBADMSG : err;
}

struct wanted {
	const char *const *names;
	size_t cnt;
	struct elf_symbol *symbols; /* of the defined ones, or NULL */
	bool *imported;		    /* of the others, or NULL */
};

/* Bounded by the longest name, however long the file's is. */
static void match_symbol(const Elf64_Sym *symbol, const char *found, const struct wanted *wanted)
{
	size_t len = strnlen(found, SYMBOL_NAME_SZ);

	for (size_t i = 0; i < wanted->cnt; i++) {
		if (strlen(wanted->names[i]) != len || memcmp(found, wanted->names[i], len) != 0)
			continue;
		if (wanted->imported)
			wanted->imported[i] = true;
		else if (wanted->symbols[i].addr == 0)
			take_symbol(symbol, &wanted->symbols[i]);
	}
}

/* Reads a whole symbol table: files without .gnu.hash, and symbols that are not exported, or not defined. */
static int find_by_scan(struct elf_image *image, const Elf64_Shdr *section, size_t max_sz,
			size_t max_strings_sz, const struct wanted *wanted)
{
	const Elf64_Shdr *strings = linked_strings(image, section);
	CLEANUP_FREE u8 *symbol_bytes = NULL;
	CLEANUP_FREE u8 *string_bytes = NULL;
	const Elf64_Sym *symbols;
	int err;

	if (!strings || strings->sh_size > max_strings_sz)
		return -EBADMSG;
	err = read_table(image, section, max_sz, &symbol_bytes);
	if (!err)
		err = read_table(image, strings, max_strings_sz, &string_bytes);
	if (err)
		return err;
	symbols = (const Elf64_Sym *)symbol_bytes;
	for (u64 i = 0; i < section->sh_size / sizeof(Elf64_Sym); i++) {
		/* There is a NUL behind the table. */
		if ((symbols[i].st_shndx == SHN_UNDEF) == (wanted->imported != NULL) &&
		    symbols[i].st_name < strings->sh_size)
			match_symbol(&symbols[i], (const char *)string_bytes + symbols[i].st_name, wanted);
	}
	return 0;
}

bool elf_image_has_index(const struct elf_image *image)
{
	return find_section(image, ".gnu.hash");
}

int elf_image_find_exported(struct elf_image *image, const char *const names[], size_t cnt,
			    struct elf_symbol ret_symbols[])
{
	const Elf64_Shdr *symbols = find_section(image, ".dynsym");
	struct wanted wanted = {.names = names, .cnt = cnt, .symbols = ret_symbols};
	struct gnu_hash hash;
	int err;

	memset(ret_symbols, 0, cnt * sizeof(ret_symbols[0]));
	if (!symbols)
		return 0;
	err = open_gnu_hash(image, symbols, &hash);
	if (err == -ENOENT)
		return find_by_scan(image, symbols, MAX_EXPORTED_SZ, MAX_EXPORTED_STRINGS_SZ, &wanted);
	for (size_t i = 0; i < cnt && !err; i++)
		err = find_by_hash(image, &hash, names[i], &ret_symbols[i]);
	return err;
}

int elf_image_find_imported(struct elf_image *image, const char *const names[], size_t cnt,
			    bool ret_imported[])
{
	const Elf64_Shdr *symbols = find_section(image, ".dynsym");
	struct wanted wanted = {.names = names, .cnt = cnt, .imported = ret_imported};

	memset(ret_imported, 0, cnt * sizeof(ret_imported[0]));
	return symbols ? find_by_scan(image, symbols, MAX_IMPORTED_SZ, MAX_IMPORTED_STRINGS_SZ, &wanted) : 0;
}

int elf_image_find_local(struct elf_image *image, const char *const names[], size_t cnt,
			 struct elf_symbol symbols[])
{
	const Elf64_Shdr *section = find_section(image, ".symtab");
	struct wanted wanted = {.names = names, .cnt = cnt, .symbols = symbols};

	return section ? find_by_scan(image, section, MAX_LOCAL_SZ, MAX_LOCAL_STRINGS_SZ, &wanted) : 0;
}

int elf_loads_bias(const struct elf_loads *loads, u64 map_start, u64 map_off, bool map_executable,
		   u64 *ret_bias)
{
	u64 page_sz = (u64)sysconf(_SC_PAGESIZE);

	for (u32 i = 0; i < loads->cnt; i++) {
		const struct elf_load *load = &loads->loads[i];
		u64 first_page = load->off & ~(page_sz - 1), bias;

		if (map_off < first_page || map_off >= load->off + load->file_sz ||
		    load->executable != map_executable)
			continue;
		/* The mapping's first byte is the file's byte at map_off. */
		bias = map_start - (load->vaddr + (map_off - load->off));
		if (bias % page_sz != 0 || (loads->is_fixed && bias != 0))
			continue;
		*ret_bias = bias;
		return 0;
	}
	return -EINVAL;
}
