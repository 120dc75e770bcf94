/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/huge_pages.h"

/* Bytes of address space that this process has. */
static size_t mapped_sz(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu", &pages), 1);
	fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void test_memory_is_zero_and_all_of_it_writable(void **state)
{
	static const size_t sizes[] = {1, 4096, 2 << 20, (2 << 20) + 1, 6 << 20};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		unsigned char *mem = huge_pages_alloc(sizes[i]);

		assert_non_null(mem);
		assert_int_equal((uintptr_t)mem % (2 << 20), 0);
		for (size_t at = 0; at < sizes[i]; at++)
			assert_int_equal(mem[at], 0);
		memset(mem, 0xff, sizes[i]);
		huge_pages_free(mem, sizes[i]);
	}
}

static void test_nothing_stays_mapped(void **state)
{
	size_t before;

	(void)state;
	huge_pages_free(huge_pages_alloc(100), 100);
	before = mapped_sz();
	for (int i = 0; i < 16; i++) {
		void *mem = huge_pages_alloc(5 << 20);

		assert_true(mapped_sz() < before + (7 << 20));
		huge_pages_free(mem, 5 << 20);
	}
	assert_true(mapped_sz() < before + (2 << 20));
	huge_pages_free(NULL, 5);
}

static void test_too_much_is_refused(void **state)
{
	(void)state;
	assert_null(huge_pages_alloc(SIZE_MAX - 5));
	assert_null(huge_pages_alloc(SIZE_MAX / 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_is_zero_and_all_of_it_writable),
		cmocka_unit_test(test_nothing_stays_mapped),
		cmocka_unit_test(test_too_much_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
