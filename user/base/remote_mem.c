/* SPDX-License-Identifier: Apache-2.0 */
/* A read of a page that another process must serve (userfaultfd, FUSE) waits in the kernel: live reads are
 * deadline calls, each with a buffer of its own, so that one that wakes up late touches nobody's memory.
 *
 * A pid can be reused between two reads. The pidfd tells: if it still names a process after the read,
 * the pid belonged to that process during the read.
 */
#define _GNU_SOURCE
#include "base/remote_mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/byte_reader.h"
#include "base/cleanup.h"
#include "base/deadline_call.h"

enum {
	READ_DEADLINE_NS = 200 * 1000 * 1000,
	/* Most reads are a struct or a name; longer ones take several rounds. */
	READ_MAX_SZ = 64 * 1024,

	/* One process_vm_readv takes no more (UIO_MAXIOV). */
	VECTORS_MAX = 1024,
	BATCH_MAX_SEGMENTS = 1 << 20,
	BATCH_MAX_BYTES = 1 << 30,

	IMAGE_VERSION = 1,
	IMAGE_MAX_SZ = 256 << 20,
	IMAGE_MAX_SEGMENTS = 65536,
};

static const char image_magic[8] = {'P', 'A', 'N', 'O', 'P', 'Y', 'M', 'I'};

struct segment {
	u64 addr;
	u64 sz;
	const u8 *bytes;
};

struct remote_mem {
	/* Live process: pidfd >= 0. */
	pid_t pid;
	int pidfd;
	bool given_up;
	struct remote_mem_stats *stats; /* may be NULL */
	/* Otherwise `view` answers, of an image or of a test. */
	remote_view_fn view;
	void *view_ctx;
	/* Image: segments ascending, not overlapping, pointing into `image`. */
	u8 *image;
	struct segment *segments;
	size_t segment_cnt;
};

struct read_call {
	pid_t pid;
	u64 addr;
	size_t sz;
	int result;
	u8 bytes[];
};

struct batch_segment {
	u64 addr;
	u32 off; /* in the batch's bytes */
	u32 sz;
	u32 got;
};

/* What the worker may touch; its own once it was given up. The bytes stand behind the segments. */
struct batch_call {
	pid_t pid;
	int result;
	u32 system_calls;
	u32 cnt;
	u32 sz;
	u8 *bytes;
	struct batch_segment segments[];
};

struct remote_batch {
	struct batch_call *call;
	size_t max_segments;
	size_t max_bytes;
	struct remote_batch_stats stats;
};

static void run_read(void *block)
{
	struct read_call *call = block;
	struct iovec local = {.iov_base = call->bytes, .iov_len = call->sz};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)call->addr, .iov_len = call->sz};
	ssize_t got = process_vm_readv(call->pid, &local, 1, &remote, 1, 0);

	if (got < 0)
		call->result = -errno;
	else /* A partial read stops at the first page that is not mapped. */
		call->result = (size_t)got == call->sz ? 0 : -EFAULT;
}

static void count_read(struct remote_mem_stats *stats, int err, size_t sz)
{
	if (!stats)
		return;
	stats->calls++;
	stats->segments++;
	stats->segments_read += !err;
	stats->bytes += err ? 0 : sz;
}

/* One round, of at most READ_MAX_SZ bytes. */
static int read_part(struct remote_mem *mem, u64 addr, void *ret_buf, size_t sz)
{
	struct read_call *call = malloc(sizeof(*call) + sz);
	int err;

	if (!call)
		return -ENOMEM;
	call->pid = mem->pid;
	call->addr = addr;
	call->sz = sz;
	err = deadline_call(0, run_read, free, call, READ_DEADLINE_NS);
	if (err == -ETIMEDOUT) {
		count_read(mem->stats, err, sz);
		mem->given_up = true;
		return err;
	}
	err = err ?: call->result;
	count_read(mem->stats, err, sz);
	if (!err)
		memcpy(ret_buf, call->bytes, sz);
	free(call);
	return err;
}

/* Signal 0 to a pidfd fails with ESRCH once the process was reaped, whoever has its pid now. */
static bool process_is_gone(const struct remote_mem *mem)
{
	return syscall(SYS_pidfd_send_signal, mem->pidfd, 0, NULL, 0) != 0 && errno == ESRCH;
}

static int read_live(struct remote_mem *mem, remote_addr_t addr, u8 *ret_buf, size_t sz)
{
	while (sz > 0) {
		size_t part = sz < READ_MAX_SZ ? sz : READ_MAX_SZ;
		int err;

		if (mem->given_up)
			return -EIO;
		err = read_part(mem, addr, ret_buf, part);
		if (err)
			return err;
		if (process_is_gone(mem))
			return -ESRCH;
		addr += part;
		ret_buf += part;
		sz -= part;
	}
	return 0;
}

static const struct segment *find_segment(const struct remote_mem *mem, u64 addr)
{
	size_t low = 0, high = mem->segment_cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct segment *segment = &mem->segments[mid];

		if (addr < segment->addr)
			high = mid;
		else if (addr - segment->addr >= segment->sz)
			low = mid + 1;
		else
			return segment;
	}
	return NULL;
}

/* As much of it as the image has. */
static size_t view_image(void *ctx, remote_addr_t addr, void *ret_buf, size_t sz)
{
	const struct remote_mem *mem = ctx;
	size_t have = 0;

	while (have < sz) {
		const struct segment *segment = find_segment(mem, addr + have);
		size_t off, part;

		if (!segment)
			break;
		off = addr + have - segment->addr;
		part = segment->sz - off < sz - have ? segment->sz - off : sz - have;
		memcpy((u8 *)ret_buf + have, segment->bytes + off, part);
		have += part;
	}
	return have;
}

int remote_mem_read(struct remote_mem *mem, remote_addr_t addr, void *ret_buf, size_t sz)
{
	if (addr + sz < addr)
		return -EFAULT;
	if (mem->pidfd >= 0)
		return read_live(mem, addr, ret_buf, sz);
	return mem->view(mem->view_ctx, addr, ret_buf, sz) == sz ? 0 : -EFAULT;
}

void remote_mem_count(struct remote_mem *mem, struct remote_mem_stats *stats)
{
	mem->stats = stats;
}

int remote_mem_read_u64(struct remote_mem *mem, remote_addr_t addr, u64 *ret_value)
{
	u64 value;
	int err = remote_mem_read(mem, addr, &value, sizeof(value));

	if (!err)
		*ret_value = value;
	return err;
}

static int batch_alloc(struct remote_batch *batch)
{
	size_t head = sizeof(*batch->call) + batch->max_segments * sizeof(batch->call->segments[0]);

	batch->call = malloc(head + batch->max_bytes);
	if (!batch->call)
		return -ENOMEM;
	batch->call->cnt = 0;
	batch->call->sz = 0;
	batch->call->bytes = (u8 *)batch->call + head;
	return 0;
}

int remote_batch_new(struct remote_batch **ret_batch, size_t max_segments, size_t max_bytes)
{
	struct remote_batch *batch;
	int err;

	if (max_segments > BATCH_MAX_SEGMENTS || max_bytes > BATCH_MAX_BYTES)
		return -EINVAL;
	batch = calloc(1, sizeof(*batch));
	if (!batch)
		return -ENOMEM;
	batch->max_segments = max_segments;
	batch->max_bytes = max_bytes;
	err = batch_alloc(batch);
	if (err) {
		remote_batch_free(batch);
		return err;
	}
	*ret_batch = batch;
	return 0;
}

void remote_batch_free(struct remote_batch *batch)
{
	if (batch)
		free(batch->call);
	free(batch);
}

void remote_batch_clear(struct remote_batch *batch)
{
	if (!batch->call)
		return;
	batch->call->cnt = 0;
	batch->call->sz = 0;
}

int remote_batch_add(struct remote_batch *batch, remote_addr_t addr, size_t sz)
{
	struct batch_call *call;

	/* The last call was given up along with its bytes. */
	if (!batch->call && batch_alloc(batch))
		return -ENOMEM;
	call = batch->call;
	if (!sz)
		return -EINVAL;
	if (addr + sz < addr)
		return -EFAULT;
	if (call->cnt == batch->max_segments || sz > batch->max_bytes - call->sz)
		return -ENOSPC;
	call->segments[call->cnt] = (struct batch_segment){.addr = addr, .off = call->sz, .sz = (u32)sz};
	call->sz += (u32)sz;
	return (int)call->cnt++;
}

size_t remote_batch_count(const struct remote_batch *batch)
{
	return batch->call ? batch->call->cnt : 0;
}

const u8 *remote_batch_bytes(const struct remote_batch *batch, size_t segment, size_t *ret_sz)
{
	if (!batch->call || segment >= batch->call->cnt) {
		*ret_sz = 0;
		return NULL;
	}
	*ret_sz = batch->call->segments[segment].got;
	return batch->call->bytes + batch->call->segments[segment].off;
}

const struct remote_batch_stats *remote_batch_stats(const struct remote_batch *batch)
{
	return &batch->stats;
}

/* Deals `got` bytes out to the segments from `first` on, in order; returns the first behind the one that
 * the read stopped in. */
static u32 batch_deal(struct batch_call *call, u32 first, u32 end, size_t got)
{
	for (u32 i = first; i < end; i++) {
		struct batch_segment *segment = &call->segments[i];

		segment->got = got < segment->sz ? (u32)got : segment->sz;
		got -= segment->got;
		if (segment->got < segment->sz)
			return i + 1;
	}
	return end;
}

static void run_batch(void *block)
{
	struct batch_call *call = block;
	struct iovec local, remote[VECTORS_MAX];
	u32 at = 0;

	while (at < call->cnt) {
		u32 end = call->cnt - at < VECTORS_MAX ? call->cnt : at + VECTORS_MAX;
		const struct batch_segment *last = &call->segments[end - 1];
		ssize_t got;

		local.iov_base = call->bytes + call->segments[at].off;
		local.iov_len = last->off + last->sz - call->segments[at].off;
		for (u32 i = at; i < end; i++) {
			remote[i - at].iov_base = (void *)(uintptr_t)call->segments[i].addr;
			remote[i - at].iov_len = call->segments[i].sz;
		}
		got = process_vm_readv(call->pid, &local, 1, remote, end - at, 0);
		call->system_calls++;
		if (got < 0 && errno != EFAULT) {
			call->result = -errno;
			return;
		}
		at = batch_deal(call, at, end, got < 0 ? 0 : (size_t)got);
	}
}

static int read_batch_live(struct remote_mem *mem, struct remote_batch *batch)
{
	struct batch_call *call = batch->call;
	int err;

	if (mem->given_up)
		return -EIO;
	call->pid = mem->pid;
	err = deadline_call(0, run_batch, free, call, READ_DEADLINE_NS);
	if (err == -ETIMEDOUT) {
		mem->given_up = true;
		batch->call = NULL;
		return err;
	}
	batch->stats.system_calls += call->system_calls;
	if (mem->stats)
		mem->stats->calls += call->system_calls;
	err = err ?: call->result;
	return err ?: process_is_gone(mem) ? -ESRCH : 0;
}

static int read_batch_view(const struct remote_mem *mem, struct batch_call *call)
{
	for (u32 i = 0; i < call->cnt; i++) {
		struct batch_segment *segment = &call->segments[i];

		segment->got =
			(u32)mem->view(mem->view_ctx, segment->addr, call->bytes + segment->off, segment->sz);
	}
	return 0;
}

int remote_mem_read_batch(struct remote_mem *mem, struct remote_batch *batch)
{
	struct batch_call *call = batch->call;
	int err;

	if (!remote_batch_count(batch))
		return 0;
	for (u32 i = 0; i < call->cnt; i++)
		call->segments[i].got = 0;
	call->result = 0;
	call->system_calls = 0;
	batch->stats.calls++;
	batch->stats.segments += call->cnt;
	err = mem->pidfd >= 0 ? read_batch_live(mem, batch) : read_batch_view(mem, call);
	for (u32 i = 0; batch->call && i < call->cnt; i++) {
		struct batch_segment *segment = &call->segments[i];

		if (err)
			segment->got = 0;
		batch->stats.segments_whole += segment->got == segment->sz;
		batch->stats.bytes += segment->got;
		if (mem->stats) {
			mem->stats->segments++;
			mem->stats->segments_read += segment->got == segment->sz;
			mem->stats->bytes += segment->got;
		}
	}
	return err;
}

static struct remote_mem *mem_alloc(void)
{
	struct remote_mem *mem = calloc(1, sizeof(*mem));

	if (mem)
		mem->pidfd = -1;
	return mem;
}

/* A read where nothing can be mapped: permission is checked first, so EFAULT means allowed. */
static int probe_permission(struct remote_mem *mem)
{
	u8 byte;
	int err = read_part(mem, ~(u64)4095, &byte, sizeof(byte));

	return err == -EFAULT ? 0 : err;
}

int remote_mem_open_process(struct remote_mem **ret_mem, pid_t pid)
{
	struct remote_mem *mem = mem_alloc();
	int err = 0;

	if (!mem)
		return -ENOMEM;
	mem->pid = pid;
	mem->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (mem->pidfd < 0)
		err = errno == EINVAL ? -ESRCH : -errno; /* EINVAL: a thread's id, or none at all */
	if (!err)
		err = probe_permission(mem);
	if (err) {
		remote_mem_close(mem);
		return err;
	}
	*ret_mem = mem;
	return 0;
}

static int load_file(const char *path, u8 **ret_bytes, size_t *ret_sz)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP_FREE u8 *bytes = NULL;
	struct stat st;
	size_t sz, have = 0;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > IMAGE_MAX_SZ)
		return -EINVAL;
	sz = (size_t)st.st_size;
	bytes = malloc(sz + 1);
	if (!bytes)
		return -ENOMEM;
	while (have < sz) {
		ssize_t got = read(fd, bytes + have, sz - have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EINVAL;
		have += (size_t)got;
	}
	*ret_bytes = steal_ptr(bytes);
	*ret_sz = sz;
	return 0;
}

static int decode_segments(struct remote_mem *mem, struct byte_reader *table, u32 cnt)
{
	struct byte_reader data = *table;
	u64 end = 0;

	mem->segments = calloc(cnt ? cnt : 1, sizeof(*mem->segments));
	if (!mem->segments)
		return -ENOMEM;
	for (u32 i = 0; i < cnt; i++) {
		struct segment *segment = &mem->segments[i];
		u64 file_off;

		segment->addr = byte_reader_u64(table);
		segment->sz = byte_reader_u64(table);
		file_off = byte_reader_u64(table);
		byte_reader_seek(&data, file_off);
		segment->bytes = byte_reader_take(&data, segment->sz);
		if (table->failed || data.failed || segment->addr < end ||
		    segment->addr + segment->sz < segment->addr)
			return -EINVAL;
		end = segment->addr + segment->sz;
	}
	mem->segment_cnt = cnt;
	return 0;
}

static int decode_image(struct remote_mem *mem, size_t sz)
{
	struct byte_reader reader;
	const u8 *magic;
	u32 version, cnt;

	byte_reader_init(&reader, mem->image, sz);
	magic = byte_reader_take(&reader, sizeof(image_magic));
	version = byte_reader_u32(&reader);
	cnt = byte_reader_u32(&reader);
	if (reader.failed || memcmp(magic, image_magic, sizeof(image_magic)) != 0)
		return -EINVAL;
	if (version != IMAGE_VERSION || cnt > IMAGE_MAX_SEGMENTS)
		return -EINVAL;
	return decode_segments(mem, &reader, cnt);
}

int remote_mem_open_image(struct remote_mem **ret_mem, const char *path)
{
	struct remote_mem *mem = mem_alloc();
	size_t sz = 0;
	int err;

	if (!mem)
		return -ENOMEM;
	mem->view = view_image;
	mem->view_ctx = mem;
	err = load_file(path, &mem->image, &sz);
	if (!err)
		err = decode_image(mem, sz);
	if (err) {
		remote_mem_close(mem);
		return err;
	}
	*ret_mem = mem;
	return 0;
}

int remote_mem_open_view(struct remote_mem **ret_mem, remote_view_fn view, void *ctx)
{
	struct remote_mem *mem = mem_alloc();

	if (!mem)
		return -ENOMEM;
	mem->view = view;
	mem->view_ctx = ctx;
	*ret_mem = mem;
	return 0;
}

void remote_mem_close(struct remote_mem *mem)
{
	if (!mem)
		return;
	if (mem->pidfd >= 0)
		close(mem->pidfd);
	free(mem->segments);
	free(mem->image);
	free(mem);
}
