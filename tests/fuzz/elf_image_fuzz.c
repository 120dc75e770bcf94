/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "elf_fixture.h"
#include "fuzz_driver.h"
#include "offsets_fixture.h"
#include "runtime/interpreter_file.h"
#include "runtime/layout_select.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	struct interpreter_file info;
	struct target_file *file;
	char path[64];
	int fd = memfd_create("elf", MFD_CLOEXEC);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || write(fd, data, sz) != (ssize_t)sz || target_file_open_path(&file, path) != 0)
		abort();
	if (interpreter_file_inspect(file, "/usr/lib/libpython3.11.so.1.0", &info) == 0 &&
	    info.kind == INTERPRETER_FOUND && info.refusal == PY_REFUSAL_NONE) {
		/* Whatever is accepted lies inside the file's own segments and is safe to sample by. */
		if (!layout_is_valid(&info.layout) || info.runtime_addr < info.loads.begin ||
		    info.runtime_addr >= info.loads.end)
			abort();
	}
	target_file_close(file);
	close(fd);
	return 0;
}

#ifndef PANOPY_LIBFUZZER
/* The small part in front of the 4 KiB of state: most mutations shall hit it. */
static void run(const struct elf_fixture *elf)
{
	fuzz_run(elf, sizeof(*elf), 3000);
	fuzz_run(elf, offsetof(struct elf_fixture, runtime) + 1024, 15000);
}

int main(void)
{
	const struct debug_offsets_format *format;
	const struct layout_row *row;
	struct elf_fixture elf;

	elf_fixture_init(&elf, 0x030b02f0);
	run(&elf);
	elf_fixture_init(&elf, 0);
	if (!fixture_at(0, &format, &row))
		return 1;
	fixture_table(format, row, elf.runtime);
	run(&elf);
	return 0;
}
#endif
