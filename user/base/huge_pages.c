/* SPDX-License-Identifier: Apache-2.0 */
#include "base/huge_pages.h"

#include <stdint.h>
#include <sys/mman.h>

/* Of x86-64 and aarch64 with pages of 4 KiB; with others it is only an alignment. */
#define HUGE_PAGE_SZ ((size_t)2 << 20)

static size_t whole_pages(size_t sz)
{
	return (sz + HUGE_PAGE_SZ - 1) & ~(HUGE_PAGE_SZ - 1);
}

/* Linux aligns a mapping to huge pages by itself only from 6.7 on. */
void *huge_pages_alloc(size_t sz)
{
	size_t whole = whole_pages(sz), before;
	char *mapped, *mem;

	if (sz > SIZE_MAX / 2)
		return NULL;
	mapped = mmap(NULL, whole + HUGE_PAGE_SZ, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mapped == MAP_FAILED)
		return NULL;
	before = (size_t)(-(uintptr_t)mapped & (HUGE_PAGE_SZ - 1));
	mem = mapped + before;
	if (before)
		munmap(mapped, before);
	munmap(mem + whole, HUGE_PAGE_SZ - before);
	madvise(mem, whole, MADV_HUGEPAGE); /* may be refused: then it is only slower */
	return mem;
}

void huge_pages_free(void *mem, size_t sz)
{
	if (mem)
		munmap(mem, whole_pages(sz));
}
