/* SPDX-License-Identifier: Apache-2.0 */
#include "discover/command_text.h"
#include "discover/proc_maps.h"
#include "fuzz_driver.h"

static int check_mapping(void *ctx, const struct proc_mapping *mapping)
{
	size_t *cnt = ctx;

	if (mapping->start >= mapping->end || strlen(mapping->path) >= PROC_MAPS_PATH_SZ)
		abort();
	++*cnt;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	char text[COMMAND_TEXT_SZ];
	size_t cnt = 0;

	proc_maps_for_each((const char *)data, sz, check_mapping, &cnt);
	command_text_format((const char *)data, sz, text);
	for (size_t i = 0; text[i]; i++) {
		if ((uint8_t)text[i] < 0x20 || text[i] == 0x7f)
			abort();
	}
	return 0;
}

#ifndef PANOPY_LIBFUZZER
int main(void)
{
	static const char seed[] =
		"00400000-0041f000 r--p 00000000 fe:01 1234567                            "
		"/usr/bin/python3.11\n"
		"0041f000-006bb000 r-xp 0001f000 fe:01 1234567                            "
		"/usr/bin/python3.11\n"
		"7f1ccddd6000-7f1ccde00000 rw-p 00000000 00:00 0 \n"
		"7f1ccde00000-7f1cce000000 r-xp 0002a000 00:2b 99        /tmp/a\\012b (deleted)\n"
		"7ffc1a2b3000-7ffc1a2d4000 rw-p 00000000 00:00 0                          [stack]\n"
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";

	fuzz_run(seed, sizeof(seed) - 1, 100000);
	return 0;
}
#endif
