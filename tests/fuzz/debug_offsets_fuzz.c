/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_driver.h"
#include "offsets_fixture.h"
#include "runtime/layout_select.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	struct debug_offsets offsets;
	struct py_layout layout;

	/* Whatever is accepted must be safe to sample by. */
	for (int debug = 0; debug < 2; debug++) {
		memset(&layout, 0xff, sizeof(layout));
		if (layout_select_by_offsets(data, sz, debug, &offsets, &layout) == PY_REFUSAL_NONE &&
		    !layout_is_valid(&layout))
			abort();
	}
	return 0;
}

#ifndef PANOPY_LIBFUZZER
int main(void)
{
	const struct debug_offsets_format *format;
	const struct layout_row *row;
	u8 bytes[DEBUG_OFFSETS_MAX_SZ];
	size_t n = 0;

	for (; fixture_at(n, &format, &row); n++) {
		fixture_table(format, row, bytes);
		fuzz_run(bytes, format->table_sz, 20000);
	}
	return n > 0 ? 0 : 1;
}
#endif
