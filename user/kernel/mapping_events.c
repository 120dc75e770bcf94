/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/mapping_events.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "kernel/mapping_record.h"
#include "kernel/perf_open.h"

enum {
	DATA_PAGES = 32, /* 128 KiB: about 900 records of 140 bytes a CPU */
	RECORD_MAX_SZ = 65536,
};

struct sideband {
	int fd;
	struct perf_event_mmap_page *page;
};

struct mapping_events {
	struct sideband *cpus;
	size_t cpu_cnt;
	size_t first_cpu; /* of the next drain */
	size_t page_sz;
	int epoll_fd;
	u8 record[RECORD_MAX_SZ]; /* a record that wraps around the end of the buffer is put together here */
};

struct lost_record {
	struct perf_event_header header;
	u64 id;
	u64 lost;
};

static int sideband_open(struct mapping_events *events, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.size = sizeof(attr),
		.mmap = 1,
		.mmap2 = 1,
		/* wakeup_events would count samples only (Linux, kernel/events/core.c). */
		.watermark = 1,
		.wakeup_watermark = 1,
	};
	struct epoll_event event = {.events = EPOLLIN};
	struct sideband *sideband = &events->cpus[cpu];
	int fd = perf_open(&attr, -1, cpu);
	void *page;

	if (fd == -ENODEV)
		return 0; /* offline */
	if (fd < 0)
		return fd;
	sideband->fd = fd;
	page = mmap(NULL, (1 + DATA_PAGES) * events->page_sz, PROT_READ | PROT_WRITE, MAP_SHARED,
		    sideband->fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	sideband->page = page;
	return epoll_ctl(events->epoll_fd, EPOLL_CTL_ADD, sideband->fd, &event) ? -errno : 0;
}

static void sideband_close(struct mapping_events *events, struct sideband *sideband)
{
	if (sideband->page)
		munmap(sideband->page, (1 + DATA_PAGES) * events->page_sz);
	if (sideband->fd > 0)
		close(sideband->fd);
	*sideband = (struct sideband){};
}

int mapping_events_open(struct mapping_events **ret_events)
{
	int cpu_cnt = libbpf_num_possible_cpus();
	struct mapping_events *events;
	int err;

	if (cpu_cnt < 0)
		return cpu_cnt;
	events = calloc(1, sizeof(*events));
	if (!events)
		return -ENOMEM;
	events->page_sz = sysconf(_SC_PAGESIZE);
	events->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	events->cpus = calloc(cpu_cnt, sizeof(*events->cpus));
	err = events->epoll_fd < 0 ? -errno : events->cpus ? 0 : -ENOMEM;
	for (int cpu = 0; cpu < cpu_cnt && !err; cpu++) {
		events->cpu_cnt = cpu + 1;
		err = sideband_open(events, cpu);
	}
	if (err) {
		mapping_events_close(events);
		return err;
	}
	*ret_events = events;
	return 0;
}

void mapping_events_close(struct mapping_events *events)
{
	if (!events)
		return;
	for (size_t cpu = 0; cpu < events->cpu_cnt; cpu++)
		sideband_close(events, &events->cpus[cpu]);
	if (events->epoll_fd >= 0)
		close(events->epoll_fd);
	free(events->cpus);
	free(events);
}

int mapping_events_refresh(struct mapping_events *events)
{
	int err = 0;

	for (size_t cpu = 0; cpu < events->cpu_cnt; cpu++) {
		int this_err;

		sideband_close(events, &events->cpus[cpu]);
		this_err = sideband_open(events, cpu);
		err = err ?: this_err;
	}
	return err;
}

int mapping_events_fd(const struct mapping_events *events)
{
	return events->epoll_fd;
}

/* The record at `pos`, in one piece. */
static const struct perf_event_header *record_at(struct mapping_events *events,
						 const struct sideband *sideband, u64 pos)
{
	const u8 *data = (const u8 *)sideband->page + events->page_sz;
	size_t data_sz = DATA_PAGES * events->page_sz;
	size_t off = pos & (data_sz - 1);
	const struct perf_event_header *header = (const void *)(data + off);
	size_t first = data_sz - off;

	if (header->size <= first)
		return header;
	memcpy(events->record, data + off, first);
	memcpy(events->record + first, data, header->size - first);
	return (const void *)events->record;
}

static u64 sideband_drain(struct mapping_events *events, struct sideband *sideband, u64 until_ns,
			  void (*on_mapping)(void *ctx, const struct mapping_event *mapping), void *ctx)
{
	u64 head = __atomic_load_n(&sideband->page->data_head, __ATOMIC_ACQUIRE);
	u64 tail = sideband->page->data_tail;
	u64 lost = 0;

	while (tail < head && clock_monotonic_ns() < until_ns) {
		const struct perf_event_header *header = record_at(events, sideband, tail);
		struct mapping_event mapping;

		if (header->size < sizeof(*header))
			break;
		if (mapping_record_decode(header, &mapping)) {
			on_mapping(ctx, &mapping);
		} else if (header->type == PERF_RECORD_LOST && header->size >= sizeof(struct lost_record)) {
			lost += ((const struct lost_record *)header)->lost;
		}
		tail += header->size;
	}
	__atomic_store_n(&sideband->page->data_tail, tail, __ATOMIC_RELEASE);
	return lost;
}

u64 mapping_events_drain(struct mapping_events *events, u64 until_ns,
			 void (*on_mapping)(void *ctx, const struct mapping_event *mapping), void *ctx)
{
	u64 lost = 0;

	events->first_cpu++;
	for (size_t i = 0; i < events->cpu_cnt; i++) {
		struct sideband *sideband = &events->cpus[(events->first_cpu + i) % events->cpu_cnt];

		if (sideband->page)
			lost += sideband_drain(events, sideband, until_ns, on_mapping, ctx);
	}
	return lost;
}
