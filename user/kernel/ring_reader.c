/* SPDX-License-Identifier: Apache-2.0 */
/* A BPF ring buffer maps as a page that the consumer writes, a page that the producer writes, and the
 * data twice in a row, so that a record never wraps (Linux 5.8, kernel/bpf/ringbuf.c). A record is a
 * header of 8 bytes, its length in the low 30 bits with a busy and a discard flag above, then the data,
 * rounded up to 8. libbpf's own reader empties one ring after the other, which would lose the order.
 */
#include "kernel/ring_reader.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

struct ring {
	u64 *consumer_pos;
	const u64 *producer_pos;
	const u8 *data;
	size_t data_sz;
	u64 head_time; /* of the record at the consumer's position */
	const void *head;
	size_t head_sz;
};

struct ring_reader {
	struct ring *rings;
	size_t ring_cnt;
	size_t *heap; /* indices of rings that have a head, earliest first */
	size_t heap_cnt;
	size_t page_sz;
	int epoll_fd;
};

static int ring_map(struct ring_reader *reader, struct ring *ring, int fd)
{
	struct bpf_map_info info = {};
	u32 info_sz = sizeof(info);
	void *consumer, *producer;

	if (bpf_obj_get_info_by_fd(fd, &info, &info_sz))
		return -errno;
	consumer = mmap(NULL, reader->page_sz, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (consumer == MAP_FAILED)
		return -errno;
	ring->consumer_pos = consumer;
	ring->data_sz = info.max_entries;
	producer =
		mmap(NULL, reader->page_sz + 2 * ring->data_sz, PROT_READ, MAP_SHARED, fd, reader->page_sz);
	if (producer == MAP_FAILED)
		return -errno;
	ring->producer_pos = producer;
	ring->data = (const u8 *)producer + reader->page_sz;
	return 0;
}

static void ring_unmap(const struct ring_reader *reader, struct ring *ring)
{
	if (ring->consumer_pos)
		munmap(ring->consumer_pos, reader->page_sz);
	if (ring->producer_pos)
		munmap((void *)ring->producer_pos, reader->page_sz + 2 * ring->data_sz);
}

int ring_reader_open(struct ring_reader **ret_reader, const int *ring_fds, size_t cnt)
{
	struct ring_reader *reader = calloc(1, sizeof(*reader));
	struct epoll_event event = {.events = EPOLLIN};
	int err = -ENOMEM;

	if (!reader)
		return -ENOMEM;
	reader->page_sz = sysconf(_SC_PAGESIZE);
	reader->ring_cnt = cnt;
	reader->rings = calloc(cnt, sizeof(*reader->rings));
	reader->heap = calloc(cnt, sizeof(*reader->heap));
	reader->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!reader->rings || !reader->heap)
		goto fail;
	err = reader->epoll_fd < 0 ? -errno : 0;
	for (size_t i = 0; i < cnt && !err; i++) {
		err = ring_map(reader, &reader->rings[i], ring_fds[i]);
		if (!err && epoll_ctl(reader->epoll_fd, EPOLL_CTL_ADD, ring_fds[i], &event))
			err = -errno;
	}
	if (err)
		goto fail;
	*ret_reader = reader;
	return 0;
fail:
	ring_reader_close(reader);
	return err;
}

void ring_reader_close(struct ring_reader *reader)
{
	if (!reader)
		return;
	for (size_t i = 0; reader->rings && i < reader->ring_cnt; i++)
		ring_unmap(reader, &reader->rings[i]);
	if (reader->epoll_fd >= 0)
		close(reader->epoll_fd);
	free(reader->rings);
	free(reader->heap);
	free(reader);
}

int ring_reader_fd(const struct ring_reader *reader)
{
	return reader->epoll_fd;
}

static void ring_advance(struct ring *ring, u32 len)
{
	u64 pos = *ring->consumer_pos + ((len + BPF_RINGBUF_HDR_SZ + 7) & ~7ULL);

	__atomic_store_n(ring->consumer_pos, pos, __ATOMIC_RELEASE);
}

/* Finds the next record that is complete; false when there is none. */
static bool ring_peek(struct ring *ring)
{
	for (;;) {
		u64 consumer = *ring->consumer_pos;
		u64 producer = __atomic_load_n(ring->producer_pos, __ATOMIC_ACQUIRE);
		const u32 *header = (const u32 *)(ring->data + (consumer & (ring->data_sz - 1)));
		u32 len;

		if (consumer >= producer)
			return false;
		len = __atomic_load_n(header, __ATOMIC_ACQUIRE);
		if (len & BPF_RINGBUF_BUSY_BIT)
			return false;
		if (!(len & BPF_RINGBUF_DISCARD_BIT)) {
			ring->head = (const u8 *)header + BPF_RINGBUF_HDR_SZ;
			ring->head_sz = len;
			ring->head_time = 0;
			if (len >= sizeof(u64))
				memcpy(&ring->head_time, ring->head, sizeof(u64));
			return true;
		}
		ring_advance(ring, len & ~BPF_RINGBUF_DISCARD_BIT);
	}
}

static void heap_sift_down(struct ring_reader *reader, size_t at)
{
	size_t *heap = reader->heap;

	for (;;) {
		size_t least = at;

		for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < reader->heap_cnt; child++) {
			if (reader->rings[heap[child]].head_time < reader->rings[heap[least]].head_time)
				least = child;
		}
		if (least == at)
			return;
		size_t moved = heap[at];

		heap[at] = heap[least];
		heap[least] = moved;
		at = least;
	}
}

static void heap_build(struct ring_reader *reader)
{
	reader->heap_cnt = 0;
	for (size_t i = 0; i < reader->ring_cnt; i++) {
		if (ring_peek(&reader->rings[i]))
			reader->heap[reader->heap_cnt++] = i;
	}
	for (size_t i = reader->heap_cnt / 2; i-- > 0;)
		heap_sift_down(reader, i);
}

bool ring_reader_drain(struct ring_reader *reader, u64 until_ns, ring_record_fn on_record, void *ctx)
{
	bool goes_on = true;

	heap_build(reader);
	while (reader->heap_cnt && goes_on) {
		size_t idx = reader->heap[0];
		struct ring *ring = &reader->rings[idx];

		if (ring->head_time > until_ns)
			break;
		goes_on = on_record(ctx, idx, ring->head, ring->head_sz);
		ring_advance(ring, ring->head_sz);
		if (!ring_peek(ring))
			reader->heap[0] = reader->heap[--reader->heap_cnt];
		heap_sift_down(reader, 0);
	}
	return goes_on;
}
