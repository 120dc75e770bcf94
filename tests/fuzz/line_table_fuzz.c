/* SPDX-License-Identifier: Apache-2.0 */
/* Random and nearly valid location tables in exactly-sized buffers, so that any byte read outside is
 * seen; a line that is given must be one that CPython can hold.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fuzz_random.h"
#include "symbolize/line_table.h"

/* Entries of random form with as many bytes behind them as it has. */
static size_t make_entries(u8 *bytes, size_t cap)
{
	size_t sz = 0;

	while (sz + 40 < cap && fuzz_random() % 12) {
		bytes[sz++] = 0x80 | (fuzz_random() & 0x7f);
		for (u32 i = fuzz_random() % 12; i > 0; i--)
			bytes[sz++] = fuzz_random() & 0x7f;
	}
	return sz;
}

static int run_once(void)
{
	u8 scratch[256];
	size_t sz = fuzz_random() % 2 ? make_entries(scratch, sizeof(scratch)) : fuzz_random() % 64;
	s32 first = (s32)fuzz_random() >> fuzz_random() % 32;
	u8 *table = malloc(sz ? sz : 1);
	enum line_table_form form = (enum line_table_form)(fuzz_random() % (LINE_TABLE_LNOTAB + 1));
	int result = 0;

	if (!table)
		return 1;
	if (sz < 64)
		fuzz_fill(scratch, sz);
	fuzz_mutate(scratch, sz);
	memcpy(table, scratch, sz);
	for (s32 off = -4; off < 300; off += 2) {
		s32 line = -1;
		int err = line_table_decode(form, table, sz, first, off, &line);

		if (err ? line != -1 || (err != -EINVAL && err != -ENOENT) : line < 0)
			result = 1;
	}
	free(table);
	return result;
}

int main(int argc, char **argv)
{
	for (long i = fuzz_rounds(argc, argv, 50000); i > 0; i--) {
		if (run_once()) {
			fprintf(stderr, "round %ld from the end: a line or error that cannot be\n", i);
			return 1;
		}
	}
	return 0;
}
