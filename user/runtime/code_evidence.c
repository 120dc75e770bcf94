/* SPDX-License-Identifier: Apache-2.0 */
/* Py_GetVersion() (Python/getversion.c) hands PY_VERSION to PyOS_snprintf: some instruction of it holds the text's
 * address, relative to the instruction's end (lea) or, in an executable at fixed addresses, as it is (mov). Which
 * bytes are instructions need not be known: every four bytes are tried both ways, and a version's text stands
 * at none of the wrong addresses.
 */
#include "runtime/code_evidence.h"

#include <errno.h>
#include <string.h>

enum {
	/* 61 bytes in the builds at hand; with Py_GetBuildInfo() in line some 200. */
	FUNCTION_MAX_SZ = 256,
	TEXT_SZ = 16,
	PART_MAX = 255,
	LEVEL_FINAL = 0xf,
};

static s32 load_s32(const u8 *bytes)
{
	s32 value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* -ENOENT: there is no such code. */
static int read_function(struct elf_image *image, const struct elf_symbol *function, u8 *buf, size_t *ret_sz)
{
	size_t sz = function->sz < FUNCTION_MAX_SZ ? function->sz : FUNCTION_MAX_SZ;
	int err;

	if (!function->addr || !sz)
		return -ENOENT;
	err = elf_image_read_addr(image, function->addr, buf, sz);
	if (err == -ENODATA || err == -ERANGE)
		return -ENOENT;
	*ret_sz = sz;
	return err;
}

/* -1: no number, or too large a one. */
static int take_number(const char **text)
{
	int value = 0;

	if (**text < '0' || **text > '9')
		return -1;
	for (; **text >= '0' && **text <= '9'; (*text)++) {
		value = value * 10 + (**text - '0');
		if (value > PART_MAX)
			return -1;
	}
	return value;
}

/* "a3", "b1", "rc2" or nothing, as the last byte of PY_VERSION_HEX; -1: none of these. */
static int take_release(const char **text)
{
	int level = LEVEL_FINAL, serial = 0;

	if (**text == 'a' || **text == 'b')
		level = 0xa + (*(*text)++ - 'a');
	else if (strncmp(*text, "rc", 2) == 0)
		level = 0xc, *text += 2;
	if (level != LEVEL_FINAL)
		serial = take_number(text);
	return serial < 0 || serial > 0xf ? -1 : level << 4 | serial;
}

u32 code_evidence_parse_version(const char *text)
{
	int minor, micro, release;

	if (strncmp(text, "3.", 2) != 0)
		return 0;
	text += 2;
	minor = take_number(&text);
	if (minor < 0 || *text++ != '.')
		return 0;
	micro = take_number(&text);
	release = micro < 0 ? -1 : take_release(&text);
	/* Built from a checkout behind the release. */
	if (*text == '+')
		text++;
	return release < 0 || *text ? 0 : 3u << 24 | (u32)minor << 16 | (u32)micro << 8 | (u32)release;
}

/* The version whose text stands at `addr`; 0 for anything else there. */
static int read_version(struct elf_image *image, u64 addr, u32 *ret_version)
{
	const struct elf_loads *loads = elf_image_loads(image);
	char text[TEXT_SZ + 1] = "";
	int err;

	*ret_version = 0;
	if (addr < loads->begin || addr >= loads->end)
		return 0;
	err = elf_image_read_addr(image, addr, text, TEXT_SZ);
	if (err == -ENODATA || err == -ERANGE)
		return 0;
	if (!err)
		*ret_version = code_evidence_parse_version(text);
	return err;
}

int code_evidence_version(struct elf_image *image, const struct elf_symbol *function, u32 *ret_version)
{
	u8 code[FUNCTION_MAX_SZ];
	u32 found = 0;
	size_t sz = 0;
	int err = read_function(image, function, code, &sz);

	for (size_t i = 0; !err && i + sizeof(s32) <= sz; i++) {
		s64 value = load_s32(code + i);
		u64 targets[] = {function->addr + i + sizeof(s32) + (u64)value, (u64)value};

		for (size_t way = 0; !err && way < 2; way++) {
			u32 version;

			err = read_version(image, targets[way], &version);
			if (!err && version && found && version != found)
				return -ENOENT;
			found = !err && version ? version : found;
		}
	}
	if (err)
		return err;
	if (!found)
		return -ENOENT;
	*ret_version = found;
	return 0;
}

int code_evidence_returned_variable(struct elf_image *image, const struct elf_symbol *function, u64 *ret_addr)
{
	static const u8 endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	static const u8 load_relative[] = {0x48, 0x8b, 0x05};	 /* mov value(%rip),%rax */
	static const u8 load_fixed[] = {0x48, 0x8b, 0x04, 0x25}; /* mov value,%rax */
	const u8 ret = 0xc3;
	u8 code[FUNCTION_MAX_SZ];
	size_t sz = 0, at = 0;
	int err = read_function(image, function, code, &sz);

	if (err)
		return err;
	if (sz > sizeof(endbr64) && memcmp(code, endbr64, sizeof(endbr64)) == 0)
		at = sizeof(endbr64);
	if (sz - at >= 8 && memcmp(code + at, load_relative, sizeof(load_relative)) == 0 &&
	    code[at + 7] == ret) {
		*ret_addr = function->addr + at + 7 + (u64)(s64)load_s32(code + at + 3);
		return 0;
	}
	if (sz - at >= 9 && memcmp(code + at, load_fixed, sizeof(load_fixed)) == 0 && code[at + 8] == ret) {
		*ret_addr = (u64)(s64)load_s32(code + at + 4);
		return 0;
	}
	return -ENOENT;
}
