/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/remote_mem.h"

enum { PAGE_SZ = 4096 };

static void test_reads_a_live_process(void **state)
{
	static const char text[] = "hello from a process";
	char read_back[sizeof(text)];
	u64 word = 0x1122334455667788ULL, read_word;
	struct remote_mem *mem;

	assert_int_equal(remote_mem_open_process(&mem, getpid()), 0);
	assert_int_equal(remote_mem_read(mem, (uintptr_t)text, read_back, sizeof(text)), 0);
	assert_string_equal(read_back, text);
	assert_int_equal(remote_mem_read_u64(mem, (uintptr_t)&word, &read_word), 0);
	assert_true(read_word == word);
	remote_mem_close(mem);
}

static void test_reads_more_than_one_round(void **state)
{
	size_t sz = 1 << 20;
	u8 *bytes = malloc(sz), *read_back = calloc(1, sz);
	struct remote_mem *mem;

	for (size_t i = 0; i < sz; i++)
		bytes[i] = (u8)(i * 7 + i / 256);
	assert_int_equal(remote_mem_open_process(&mem, getpid()), 0);
	assert_int_equal(remote_mem_read(mem, (uintptr_t)bytes, read_back, sz), 0);
	assert_memory_equal(bytes, read_back, sz);
	remote_mem_close(mem);
	free(bytes);
	free(read_back);
}

static void test_reads_are_counted(void **state)
{
	struct remote_mem_stats stats = {0};
	struct remote_mem *mem;
	u64 word = 1, read_word;

	assert_int_equal(remote_mem_open_process(&mem, getpid()), 0);
	remote_mem_count(mem, &stats);
	assert_int_equal(remote_mem_read_u64(mem, (uintptr_t)&word, &read_word), 0);
	assert_int_equal(remote_mem_read_u64(mem, 8, &read_word), -EFAULT);
	assert_int_equal(stats.calls, 2);
	assert_int_equal(stats.segments, 2);
	assert_int_equal(stats.segments_read, 1);
	assert_int_equal(stats.bytes, sizeof(word));
	remote_mem_count(mem, NULL);
	assert_int_equal(remote_mem_read_u64(mem, (uintptr_t)&word, &read_word), 0);
	assert_int_equal(stats.calls, 2);
	remote_mem_close(mem);
}

static void test_unmapped_memory_is_efault(void **state)
{
	u8 *pages = mmap(NULL, 2 * PAGE_SZ, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct remote_mem *mem;
	u8 buf[16];
	u64 word = 42;

	munmap(pages + PAGE_SZ, PAGE_SZ);
	assert_int_equal(remote_mem_open_process(&mem, getpid()), 0);
	assert_int_equal(remote_mem_read(mem, (uintptr_t)pages, buf, 16), 0);
	/* Half of it is there. */
	assert_int_equal(remote_mem_read(mem, (uintptr_t)pages + PAGE_SZ - 8, buf, 16), -EFAULT);
	assert_int_equal(remote_mem_read_u64(mem, 0, &word), -EFAULT);
	assert_int_equal(remote_mem_read_u64(mem, UINT64_MAX - 3, &word), -EFAULT);
	assert_true(word == 42);
	remote_mem_close(mem);
	munmap(pages, PAGE_SZ);
}

static void test_process_that_ends_is_esrch(void **state)
{
	static u64 word = 5;
	struct remote_mem *mem;
	pid_t pid = fork();
	u64 value;

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_int_equal(remote_mem_open_process(&mem, pid), 0);
	assert_int_equal(remote_mem_read_u64(mem, (uintptr_t)&word, &value), 0);
	assert_true(value == 5);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(remote_mem_read_u64(mem, (uintptr_t)&word, &value), -ESRCH);
	remote_mem_close(mem);
	assert_int_equal(remote_mem_open_process(&mem, pid), -ESRCH);
}

/* A page that nobody serves: whoever reads it waits for good. */
static void *unserved_page(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	void *page;

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) != 0)
		return NULL;
	page = mmap(NULL, PAGE_SZ, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	range.range.start = (uintptr_t)page;
	range.range.len = PAGE_SZ;
	return ioctl(fd, UFFDIO_REGISTER, &range) == 0 ? page : NULL;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void assert_segment(const struct remote_batch *batch, size_t segment, const void *want, size_t sz)
{
	size_t got;
	const u8 *bytes = remote_batch_bytes(batch, segment, &got);

	assert_int_equal(got, sz);
	if (sz)
		assert_memory_equal(bytes, want, sz);
}

static void test_page_that_hangs_costs_only_its_process(void **state)
{
	struct remote_mem *hanging, *healthy;
	struct remote_batch *batch;
	static u64 word = 7;
	void *page;
	u64 value;
	int pipe_fds[2];
	double begin;
	pid_t pid;

	assert_int_equal(pipe(pipe_fds), 0);
	pid = fork();
	if (pid == 0) {
		page = unserved_page();
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (write(pipe_fds[1], &page, sizeof(page)) != sizeof(page))
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(pipe_fds[0], &page, sizeof(page)), sizeof(page));
	if (!page) {
		print_message("skipped: userfaultfd is not allowed here\n");
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		skip();
	}
	assert_int_equal(remote_mem_open_process(&hanging, pid), 0);
	assert_int_equal(remote_mem_open_process(&healthy, getpid()), 0);
	begin = now();
	assert_int_equal(remote_batch_new(&batch, 4, 64), 0);
	remote_batch_add(batch, (uintptr_t)&word, sizeof(word));
	remote_batch_add(batch, (uintptr_t)page, sizeof(value));
	assert_int_equal(remote_mem_read_batch(hanging, batch), -ETIMEDOUT);
	assert_segment(batch, 0, NULL, 0);
	assert_true(now() - begin < 5);
	assert_int_equal(remote_mem_read_u64(hanging, (uintptr_t)&word, &value), -EIO);
	assert_int_equal(remote_batch_add(batch, (uintptr_t)&word, sizeof(word)), 0);
	assert_int_equal(remote_mem_read_batch(hanging, batch), -EIO);
	assert_int_equal(remote_mem_read_batch(healthy, batch), 0);
	assert_segment(batch, 0, &word, sizeof(word));
	remote_batch_free(batch);
	assert_int_equal(remote_mem_read_u64(healthy, (uintptr_t)&word, &value), 0);
	assert_true(value == 7);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	remote_mem_close(hanging);
	remote_mem_close(healthy);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

/* An image file of two adjacent segments and one apart. */
struct image_file {
	char magic[8];
	u32 version;
	u32 segment_cnt;
	struct {
		u64 addr;
		u64 sz;
		u64 off;
	} segments[3];
	u8 bytes[24];
};

static struct image_file good_image(void)
{
	struct image_file file = {
		.magic = {'P', 'A', 'N', 'O', 'P', 'Y', 'M', 'I'},
		.version = 1,
		.segment_cnt = 3,
		.segments = {{0x1000, 8, offsetof(struct image_file, bytes)},
			     {0x1008, 8, offsetof(struct image_file, bytes) + 8},
			     {0x7fff00000000, 8, offsetof(struct image_file, bytes) + 16}},
	};

	for (u8 i = 0; i < sizeof(file.bytes); i++)
		file.bytes[i] = i;
	return file;
}

static int open_image(const struct image_file *file, size_t sz, struct remote_mem **ret_mem)
{
	char path[] = "/tmp/panopy-image-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC), err;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, file, sz), (ssize_t)sz);
	close(fd);
	err = remote_mem_open_image(ret_mem, path);
	unlink(path);
	return err;
}

static void test_image_is_read_across_segments(void **state)
{
	struct image_file file = good_image();
	struct remote_mem *mem;
	u8 buf[16];

	assert_int_equal(open_image(&file, sizeof(file), &mem), 0);
	assert_int_equal(remote_mem_read(mem, 0x1004, buf, 12), 0);
	assert_memory_equal(buf, file.bytes + 4, 12);
	assert_int_equal(remote_mem_read(mem, 0x7fff00000000, buf, 8), 0);
	assert_memory_equal(buf, file.bytes + 16, 8);
	assert_int_equal(remote_mem_read(mem, 0x1004, buf, 13), -EFAULT);
	assert_int_equal(remote_mem_read(mem, 0xfff, buf, 1), -EFAULT);
	remote_mem_close(mem);
}

static void test_bad_images_are_refused(void **state)
{
	struct image_file file = good_image();
	struct remote_mem *mem = NULL;

	assert_int_equal(open_image(&file, sizeof(file) - 1, &mem), -EINVAL);
	assert_int_equal(open_image(&file, 12, &mem), -EINVAL);
	assert_int_equal(open_image(&file, 0, &mem), -EINVAL);
	file.magic[0] = 'X';
	assert_int_equal(open_image(&file, sizeof(file), &mem), -EINVAL);
	file = good_image();
	file.version = 2;
	assert_int_equal(open_image(&file, sizeof(file), &mem), -EINVAL);
	file = good_image();
	file.segment_cnt = UINT32_MAX;
	assert_int_equal(open_image(&file, sizeof(file), &mem), -EINVAL);
	file = good_image();
	file.segments[0].sz = 9; /* overlaps the next */
	assert_int_equal(open_image(&file, sizeof(file), &mem), -EINVAL);
	file = good_image();
	file.segments[2].sz = UINT64_MAX;
	assert_int_equal(open_image(&file, sizeof(file), &mem), -EINVAL);
	file = good_image();
	file.segments[2].off = UINT64_MAX - 3;
	assert_int_equal(open_image(&file, sizeof(file), &mem), -EINVAL);
	file = good_image();
	file.segments[2].addr = UINT64_MAX - 3;
	assert_int_equal(open_image(&file, sizeof(file), &mem), -EINVAL);
	assert_int_equal(remote_mem_open_image(&mem, "/nonexistent"), -ENOENT);
	assert_int_equal(remote_mem_open_image(&mem, "/dev/null"), -EINVAL);
	assert_null(mem);
}

static void test_batch_of_an_image(void **state)
{
	struct image_file file = good_image();
	const struct remote_batch_stats *stats;
	struct remote_batch *batch;
	struct remote_mem *mem;

	assert_int_equal(open_image(&file, sizeof(file), &mem), 0);
	assert_int_equal(remote_batch_new(&batch, 8, 64), 0);
	assert_int_equal(remote_batch_add(batch, 0x1000, 16), 0);
	assert_int_equal(remote_batch_add(batch, 0x100c, 8), 1);
	assert_int_equal(remote_batch_add(batch, 0x5000, 8), 2);
	assert_int_equal(remote_batch_add(batch, 0x7fff00000000, 8), 3);
	assert_int_equal(remote_mem_read_batch(mem, batch), 0);
	assert_segment(batch, 0, file.bytes, 16);
	assert_segment(batch, 1, file.bytes + 12, 4);
	assert_segment(batch, 2, NULL, 0);
	assert_segment(batch, 3, file.bytes + 16, 8);
	assert_segment(batch, 4, NULL, 0);
	stats = remote_batch_stats(batch);
	assert_int_equal(stats->calls, 1);
	assert_int_equal(stats->system_calls, 0);
	assert_int_equal(stats->segments, 4);
	assert_int_equal(stats->segments_whole, 2);
	assert_int_equal(stats->bytes, 28);
	remote_batch_free(batch);
	remote_mem_close(mem);
}

static void test_batch_is_bounded(void **state)
{
	struct remote_batch *batch;

	assert_int_equal(remote_batch_new(&batch, SIZE_MAX, 64), -EINVAL);
	assert_int_equal(remote_batch_new(&batch, 2, SIZE_MAX), -EINVAL);
	assert_int_equal(remote_batch_new(&batch, 2, 64), 0);
	assert_int_equal(remote_batch_add(batch, UINT64_MAX - 3, 8), -EFAULT);
	assert_int_equal(remote_batch_add(batch, 0x1000, 0), -EINVAL);
	assert_int_equal(remote_batch_add(batch, 0x1000, 65), -ENOSPC);
	assert_int_equal(remote_batch_add(batch, 0x1000, SIZE_MAX / 2), -ENOSPC);
	assert_int_equal(remote_batch_add(batch, 0x1000, 60), 0);
	assert_int_equal(remote_batch_add(batch, 0x1000, 5), -ENOSPC);
	assert_int_equal(remote_batch_add(batch, 0x1000, 2), 1);
	assert_int_equal(remote_batch_add(batch, 0x1000, 1), -ENOSPC);
	assert_int_equal(remote_batch_count(batch), 2);
	remote_batch_clear(batch);
	assert_int_equal(remote_batch_count(batch), 0);
	assert_int_equal(remote_batch_add(batch, 0x1000, 64), 0);
	remote_batch_free(batch);
}

static void test_batch_of_a_live_process(void **state)
{
	enum { WORDS = 3000 };
	static u64 words[WORDS];
	u8 *pages = mmap(NULL, 4 * PAGE_SZ, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const u8 *first, *second;
	struct remote_batch *batch;
	struct remote_mem *mem;
	size_t sz;

	memset(pages, 0x5a, 4 * PAGE_SZ);
	munmap(pages + 2 * PAGE_SZ, PAGE_SZ);
	for (size_t i = 0; i < WORDS; i++)
		words[i] = i * i + 1;
	assert_int_equal(remote_mem_open_process(&mem, getpid()), 0);
	assert_int_equal(remote_batch_new(&batch, WORDS + 3, 1 << 20), 0);
	/* The second page is there, the third is not: what comes is at most the part in front of it. */
	remote_batch_add(batch, (uintptr_t)pages + PAGE_SZ, 2 * PAGE_SZ);
	remote_batch_add(batch, 0, 8);
	remote_batch_add(batch, (uintptr_t)pages + 3 * PAGE_SZ, PAGE_SZ);
	for (size_t i = 0; i < WORDS; i++)
		remote_batch_add(batch, (uintptr_t)&words[i], sizeof(words[i]));
	assert_int_equal(remote_mem_read_batch(mem, batch), 0);
	first = remote_batch_bytes(batch, 0, &sz);
	assert_true(sz <= PAGE_SZ);
	for (size_t i = 0; i < sz; i++)
		assert_int_equal(first[i], 0x5a);
	assert_segment(batch, 1, NULL, 0);
	assert_segment(batch, 2, pages, PAGE_SZ);
	for (size_t i = 0; i < WORDS; i++)
		assert_segment(batch, 3 + i, &words[i], sizeof(words[i]));
	first = remote_batch_bytes(batch, 3, &sz);
	second = remote_batch_bytes(batch, 4, &sz);
	assert_ptr_equal(first + sizeof(words[0]), second);
	assert_int_equal(remote_batch_stats(batch)->calls, 1);
	/* One behind each of the two holes, and one for each 1,024 of the rest. */
	assert_int_equal(remote_batch_stats(batch)->system_calls, 2 + 3);
	remote_batch_free(batch);
	remote_mem_close(mem);
	munmap(pages, 2 * PAGE_SZ);
	munmap(pages + 3 * PAGE_SZ, PAGE_SZ);
}

static void test_batch_of_a_process_that_ends(void **state)
{
	static u64 word = 5;
	struct remote_batch *batch;
	struct remote_mem *mem;
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_int_equal(remote_mem_open_process(&mem, pid), 0);
	assert_int_equal(remote_batch_new(&batch, 4, 64), 0);
	remote_batch_add(batch, (uintptr_t)&word, sizeof(word));
	assert_int_equal(remote_mem_read_batch(mem, batch), 0);
	assert_segment(batch, 0, &word, sizeof(word));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(remote_mem_read_batch(mem, batch), -ESRCH);
	assert_segment(batch, 0, NULL, 0);
	remote_batch_free(batch);
	remote_mem_close(mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_a_live_process),
		cmocka_unit_test(test_reads_more_than_one_round),
		cmocka_unit_test(test_reads_are_counted),
		cmocka_unit_test(test_unmapped_memory_is_efault),
		cmocka_unit_test(test_process_that_ends_is_esrch),
		cmocka_unit_test(test_page_that_hangs_costs_only_its_process),
		cmocka_unit_test(test_image_is_read_across_segments),
		cmocka_unit_test(test_bad_images_are_refused),
		cmocka_unit_test(test_batch_of_an_image),
		cmocka_unit_test(test_batch_is_bounded),
		cmocka_unit_test(test_batch_of_a_live_process),
		cmocka_unit_test(test_batch_of_a_process_that_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
