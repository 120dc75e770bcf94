/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/target_file.h"
#include "discover/proc_maps.h"

static char folder[] = "/tmp/panopy-target-XXXXXX";

static int make_folder(void **state)
{
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	return rmdir(folder);
}

static void in_folder(char path[128], const char *name)
{
	snprintf(path, 128, "%s/%s", folder, name);
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void test_reads_parts(void **state)
{
	struct target_file *file;
	char path[128], buf[4] = "";
	u8 *bytes = NULL;

	in_folder(path, "plain");
	write_file(path, "0123456789");
	assert_int_equal(target_file_open_path(&file, path), 0);
	assert_int_equal(target_file_id(file)->sz, 10);
	assert_int_equal(target_file_read(file, 3, buf, 3), 0);
	assert_string_equal(buf, "345");
	assert_int_equal(target_file_read(file, 8, buf, 3), -ERANGE);
	assert_int_equal(target_file_read(file, UINT64_MAX, buf, 3), -ERANGE);
	assert_int_equal(target_file_read_alloc(file, 2, 4, 16, &bytes), 0);
	assert_string_equal((char *)bytes, "2345");
	free(bytes);
	bytes = NULL;
	assert_int_equal(target_file_read_alloc(file, 2, 4, 3, &bytes), -EFBIG);
	assert_int_equal(target_file_read_alloc(file, 2, UINT64_MAX - 1, SIZE_MAX, &bytes), -ERANGE);
	assert_null(bytes);
	target_file_close(file);
	unlink(path);
}

static void test_file_that_shrinks_is_an_error(void **state)
{
	struct target_file *file;
	char path[128], buf[8];

	in_folder(path, "shrinks");
	write_file(path, "0123456789");
	assert_int_equal(target_file_open_path(&file, path), 0);
	assert_int_equal(truncate(path, 4), 0);
	assert_int_equal(target_file_read(file, 0, buf, 8), -ERANGE);
	target_file_close(file);
	unlink(path);
}

static void test_only_regular_files(void **state)
{
	struct target_file *file = NULL;
	char path[128];
	int fd;

	in_folder(path, "fifo");
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(target_file_open_path(&file, path), -ENOTSUP);
	unlink(path);
	assert_int_equal(target_file_open_path(&file, "/dev/zero"), -ENOTSUP);
	assert_int_equal(target_file_open_path(&file, folder), -ENOTSUP);
	in_folder(path, "sparse");
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	if (ftruncate(fd, 10LL << 30) == 0)
		assert_int_equal(target_file_open_path(&file, path), -EFBIG);
	close(fd);
	unlink(path);
	assert_null(file);
}

static int stop_at_ino(void *ctx, const struct proc_mapping *mapping)
{
	struct proc_mapping *wanted = ctx;

	if (mapping->ino != wanted->ino)
		return 0;
	*wanted = *mapping;
	return 1;
}

/* Maps the file in this process and finds the mapping again as a target's would be. */
static void *map_file(const char *path, struct proc_mapping *ret_mapping)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	void *addr;
	char *text;
	size_t sz;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	addr = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(addr != MAP_FAILED);
	close(fd);
	ret_mapping->ino = st.st_ino;
	assert_int_equal(read_proc_maps(getpid(), &text, &sz), 0);
	assert_int_equal(proc_maps_for_each(text, sz, stop_at_ino, ret_mapping), 1);
	free(text);
	return addr;
}

static struct target_mapping as_target(const struct proc_mapping *mapping)
{
	return (struct target_mapping){.start = mapping->start,
				       .end = mapping->end,
				       .dev = mapping->dev,
				       .ino = mapping->ino,
				       .path = mapping->path};
}

static void test_replaced_file_is_not_mistaken(void **state)
{
	struct proc_mapping mapping = {0};
	struct target_mapping target;
	struct target_file *file = NULL;
	char path[128], other[128], buf[4] = "";
	void *addr;
	int err;

	in_folder(path, "replaced");
	in_folder(other, "other");
	write_file(path, "old");
	addr = map_file(path, &mapping);
	write_file(other, "new");
	assert_int_equal(rename(other, path), 0);
	target = as_target(&mapping);
	err = target_file_open_mapping(&file, getpid(), &target);
	if (err == 0) { /* with the privilege for map_files: the very file */
		assert_int_equal(target_file_read(file, 0, buf, 3), 0);
		assert_string_equal(buf, "old");
		target_file_close(file);
		file = NULL;
	} else {
		assert_int_equal(err, -ESTALE);
	}
	/* By path alone it must be refused. */
	target.start = 4096;
	target.end = 8192;
	assert_int_equal(target_file_open_mapping(&file, getpid(), &target), -ESTALE);
	assert_null(file);
	munmap(addr, 4096);
	unlink(path);
}

static void test_path_leads_to_the_mapped_file(void **state)
{
	struct proc_mapping mapping = {0};
	struct target_mapping target;
	struct target_file *file;
	char path[128], buf[4] = "";
	void *addr;

	in_folder(path, "plain");
	write_file(path, "yes");
	addr = map_file(path, &mapping);
	target = as_target(&mapping);
	target.start = 4096; /* no such mapping: map_files cannot help */
	target.end = 8192;
	assert_int_equal(target_file_open_mapping(&file, getpid(), &target), 0);
	assert_int_equal(target_file_read(file, 0, buf, 3), 0);
	assert_string_equal(buf, "yes");
	target_file_close(file);
	munmap(addr, 4096);
	unlink(path);
}

static void test_exe(void **state)
{
	struct target_file *file;
	char magic[4];

	assert_int_equal(target_file_open_exe(&file, getpid()), 0);
	assert_int_equal(target_file_read(file, 0, magic, 4), 0);
	assert_memory_equal(magic, "\177ELF", 4);
	target_file_close(file);
	assert_int_equal(target_file_open_exe(&file, 0x7fffffff), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_parts),
		cmocka_unit_test(test_file_that_shrinks_is_an_error),
		cmocka_unit_test(test_only_regular_files),
		cmocka_unit_test(test_replaced_file_is_not_mistaken),
		cmocka_unit_test(test_path_leads_to_the_mapped_file),
		cmocka_unit_test(test_exe),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
