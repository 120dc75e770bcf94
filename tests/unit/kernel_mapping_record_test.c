/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "kernel/mapping_record.h"

/* PERF_RECORD_MMAP2 of a short name, word by word (perf_event_open(2)). */
static struct perf_event_header *record_of(u64 words[12], u64 inode)
{
	struct perf_event_header header = {.type = PERF_RECORD_MMAP2, .size = 12 * sizeof(u64)};

	memset(words, 0, 12 * sizeof(u64));
	memcpy(&words[0], &header, sizeof(header));
	words[1] = 43ULL << 32 | 42; /* pid, tid */
	words[2] = 0x7f0000001000;
	words[3] = 0x2000;
	words[4] = 0x3000;
	words[5] = 1ULL << 32 | 8; /* device */
	words[6] = inode;
	return (struct perf_event_header *)words;
}

static void file_is_told(void **state)
{
	struct mapping_event mapping;
	u64 words[12];

	assert_true(mapping_record_decode(record_of(words, 7), &mapping));
	assert_int_equal(mapping.pid, 42);
	assert_int_equal(mapping.start, 0x7f0000001000);
	assert_int_equal(mapping.end, 0x7f0000003000);
	assert_int_equal(mapping.file_offset, 0x3000);
}

static void all_else_is_left_out(void **state)
{
	struct perf_event_header *header;
	struct mapping_event mapping;
	u64 words[12];

	assert_false(mapping_record_decode(record_of(words, 0), &mapping));
	header = record_of(words, 7);
	header->type = PERF_RECORD_MMAP;
	assert_false(mapping_record_decode(header, &mapping));
	header = record_of(words, 7);
	header->size = 6 * sizeof(u64);
	assert_false(mapping_record_decode(header, &mapping));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file_is_told),
		cmocka_unit_test(all_else_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
