/* SPDX-License-Identifier: Apache-2.0 */
/* A fetch costs some 60 us to hand over and 0.2 us for each page, so it asks for much.
 *
 * Expected frames that lie close together become one segment. Around an unexpected one whole pages are read,
 * each a segment of its own, so that a hole takes nothing else with it: the pages below, where on a data
 * stack its callers lie, and once that has proven useful, ever more in the direction that the last jump
 * took (CPython maps a data stack's chunks of 16 KiB one by one, mostly each below the last).
 *
 * The bytes of two fetches are held, for chains that go back and forth between data stack and heap.
 */
#include "stack/frame_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	PAGE_SZ = 4096,
	MAX_SEGMENTS = 4096,
	MAX_BYTES = 3 << 19, /* expected frames leave GUESS_PAGES_MAX to the guess */
	/* Frames further apart are read one by one. Most take 80 to 200 bytes. */
	MAX_GAP = 512,
	GUESS_PAGES = 4,
	GUESS_PAGES_MAX = 128,
	/* Below this a guess was not worth it. */
	GUESS_USES_MIN = 8,
	SETS = 2,
	/* Of one stack: ten times what 100,000 frames on a data stack take. A chain made to cost more is cut. */
	MAX_FETCHES = 512,
	MAX_STACK_BYTES = 128 << 20,
	/* Windows that may begin before a frame's address and not hold it: guessed pages overlap others. */
	LOOK_BACK = 4,
	MAX_CODES = 512,
};

struct range {
	u64 addr;
	u64 end;
};

struct window {
	u64 addr;
	size_t sz;
	const u8 *bytes;
};

struct fetch_set {
	struct remote_batch *batch;
	struct window windows[MAX_SEGMENTS]; /* ascending */
	size_t cnt;
};

struct frame_reader {
	struct stack_stats *stats;
	struct remote_mem *mem;
	const struct py_layout *layout;
	struct range ranges[MAX_SEGMENTS];
	size_t range_cnt;
	size_t expected_sz;
	u64 asked[MAX_SEGMENTS]; /* addresses of the segments of the fetch at hand */
	struct fetch_set sets[SETS];
	size_t newest;
	const struct window *window; /* where the last frame was found */
	size_t fetch_cnt;
	u64 byte_cnt;
	u64 guessed_at; /* where the last guess was made; 0: none yet */
	size_t guess_pages;
	size_t uses; /* frames found since the last guess */
	u64 codes[MAX_CODES];
	size_t code_cnt;
	u32 versions[MAX_CODES];
	size_t version_cnt;
};

int frame_reader_new(struct frame_reader **ret_reader, struct stack_stats *stats)
{
	struct frame_reader *reader = calloc(1, sizeof(*reader));
	int err = 0;

	if (!reader)
		return -ENOMEM;
	reader->stats = stats;
	for (size_t i = 0; !err && i < SETS; i++)
		err = remote_batch_new(&reader->sets[i].batch, MAX_SEGMENTS, MAX_BYTES);
	if (err) {
		frame_reader_free(reader);
		return err;
	}
	*ret_reader = reader;
	return 0;
}

void frame_reader_free(struct frame_reader *reader)
{
	if (!reader)
		return;
	for (size_t i = 0; i < SETS; i++)
		remote_batch_free(reader->sets[i].batch);
	free(reader);
}

static void forget_expected(struct frame_reader *reader)
{
	reader->range_cnt = 0;
	reader->expected_sz = 0;
	reader->code_cnt = 0;
}

void frame_reader_begin(struct frame_reader *reader, struct remote_mem *mem, const struct py_layout *layout)
{
	reader->mem = mem;
	reader->layout = layout;
	forget_expected(reader);
	for (size_t i = 0; i < SETS; i++)
		reader->sets[i].cnt = 0;
	reader->window = NULL;
	reader->fetch_cnt = 0;
	reader->byte_cnt = 0;
	reader->guessed_at = 0;
	reader->guess_pages = GUESS_PAGES;
	reader->uses = 0;
	reader->version_cnt = 0;
}

bool frame_reader_expect_code(struct frame_reader *reader, u64 code)
{
	if (reader->code_cnt == MAX_CODES)
		return false;
	reader->codes[reader->code_cnt++] = code;
	return true;
}

bool frame_reader_expect(struct frame_reader *reader, u64 addr)
{
	struct range *last = reader->range_cnt ? &reader->ranges[reader->range_cnt - 1] : NULL;
	u64 end = addr + reader->layout->frame_sz;
	const size_t room = MAX_BYTES - (GUESS_PAGES_MAX + 1) * PAGE_SZ - MAX_CODES * sizeof(u32);
	size_t sz = reader->layout->frame_sz;

	if (end < addr)
		return true; /* no such frame: nothing to read */
	if (last && addr < last->addr && last->addr <= end + MAX_GAP)
		sz = last->addr - addr;
	else if (last && addr >= last->addr && addr <= last->end + MAX_GAP)
		sz = end > last->end ? end - last->end : 0;
	else
		last = NULL;
	if (reader->expected_sz + sz > room ||
	    (!last && reader->range_cnt == MAX_SEGMENTS - GUESS_PAGES_MAX - 1 - MAX_CODES))
		return false;
	reader->expected_sz += sz;
	if (!last)
		reader->ranges[reader->range_cnt++] = (struct range){addr, end};
	else if (addr < last->addr)
		last->addr = addr;
	else if (end > last->end)
		last->end = end;
	return true;
}

static bool is_expected(const struct frame_reader *reader, u64 addr)
{
	for (size_t i = 0; i < reader->range_cnt; i++) {
		if (addr >= reader->ranges[i].addr &&
		    addr + reader->layout->frame_sz <= reader->ranges[i].end)
			return true;
	}
	return false;
}

/* The segment's number, negative where there is no room for it. */
static int ask(struct frame_reader *reader, struct fetch_set *set, u64 addr, size_t sz)
{
	int segment = remote_batch_add(set->batch, addr, sz);

	if (segment >= 0)
		reader->asked[segment] = addr;
	return segment;
}

static void guess(struct frame_reader *reader, struct fetch_set *set, u64 addr)
{
	u64 first = addr / PAGE_SZ, last = (addr + reader->layout->frame_sz - 1) / PAGE_SZ;
	u64 below = GUESS_PAGES - 1;

	if (!reader->guessed_at || reader->uses < GUESS_USES_MIN)
		reader->guess_pages = GUESS_PAGES;
	else if (reader->guess_pages < GUESS_PAGES_MAX)
		reader->guess_pages *= 2;
	if (addr > reader->guessed_at)
		last += reader->guess_pages - GUESS_PAGES;
	else
		below = reader->guess_pages - 1;
	first = first > below ? first - below : 0;
	(void)ask(reader, set, addr, reader->layout->frame_sz);
	for (u64 page = first; page <= last; page++)
		(void)ask(reader, set, page * PAGE_SZ, PAGE_SZ); /* full: less is read */
	reader->guessed_at = addr;
	reader->uses = 0;
}

static int compare_windows(const void *a, const void *b)
{
	const struct window *left = a, *right = b;

	return left->addr < right->addr ? -1 : left->addr > right->addr;
}

static void add_window(struct fetch_set *set, u64 addr, const u8 *bytes, size_t sz)
{
	struct window *last = set->cnt ? &set->windows[set->cnt - 1] : NULL;

	if (!sz)
		return;
	if (last && last->addr + last->sz == addr && last->bytes + last->sz == bytes)
		last->sz += sz;
	else
		set->windows[set->cnt++] = (struct window){addr, sz, bytes};
}

static void take_versions(struct frame_reader *reader, const struct remote_batch *batch, size_t first)
{
	for (size_t i = 0; i < reader->code_cnt; i++) {
		size_t sz;
		const u8 *bytes = remote_batch_bytes(batch, first + i, &sz);

		reader->versions[i] = 0;
		if (sz == sizeof(reader->versions[i]))
			memcpy(&reader->versions[i], bytes, sz);
	}
	reader->version_cnt = reader->code_cnt;
}

static void count(struct frame_reader *reader, const struct remote_batch_stats *before,
		  const struct remote_batch_stats *after)
{
	reader->stats->remote_calls += after->calls - before->calls;
	reader->stats->system_calls += after->system_calls - before->system_calls;
	reader->stats->segments += after->segments - before->segments;
	reader->stats->segments_whole += after->segments_whole - before->segments_whole;
	reader->stats->bytes += after->bytes - before->bytes;
	reader->byte_cnt += after->bytes - before->bytes;
	reader->fetch_cnt++;
}

static void take_windows(struct frame_reader *reader, struct fetch_set *set, size_t cnt)
{
	set->cnt = 0;
	for (size_t i = 0; i < cnt; i++) {
		size_t sz;
		const u8 *bytes = remote_batch_bytes(set->batch, i, &sz);

		add_window(set, reader->asked[i], bytes, sz);
	}
	qsort(set->windows, set->cnt, sizeof(set->windows[0]), compare_windows);
}

int frame_reader_fetch(struct frame_reader *reader, u64 addr)
{
	struct fetch_set *set = &reader->sets[(reader->newest + 1) % SETS];
	struct remote_batch_stats before = *remote_batch_stats(set->batch);
	size_t frames_end;
	int err;

	if (reader->fetch_cnt == MAX_FETCHES || reader->byte_cnt > MAX_STACK_BYTES)
		return -E2BIG;
	remote_batch_clear(set->batch);
	for (size_t i = 0; i < reader->range_cnt; i++)
		(void)ask(reader, set, reader->ranges[i].addr,
			  reader->ranges[i].end - reader->ranges[i].addr);
	if (!is_expected(reader, addr))
		guess(reader, set, addr);
	frames_end = remote_batch_count(set->batch);
	for (size_t i = 0; i < reader->code_cnt; i++) {
		if (ask(reader, set, reader->codes[i] + reader->layout->code_version, sizeof(u32)) < 0)
			reader->code_cnt = i;
	}
	err = remote_mem_read_batch(reader->mem, set->batch);
	count(reader, &before, remote_batch_stats(set->batch));
	reader->window = NULL;
	reader->version_cnt = 0;
	set->cnt = 0;
	if (!err) {
		take_windows(reader, set, frames_end);
		take_versions(reader, set->batch, frames_end);
	}
	forget_expected(reader);
	if (err)
		return err;
	reader->newest = (reader->newest + 1) % SETS;
	return 0;
}

/* The window of the set that holds the frame, or NULL. */
static const struct window *find_window(const struct fetch_set *set, u64 addr, size_t sz)
{
	size_t low = 0, high = set->cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (set->windows[mid].addr <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	for (size_t i = 0; i < LOOK_BACK && low > 0; i++) {
		const struct window *window = &set->windows[--low];

		if (addr - window->addr < window->sz && window->sz - (addr - window->addr) >= sz)
			return window;
	}
	return NULL;
}

const u8 *frame_reader_bytes(struct frame_reader *reader, u64 addr)
{
	const struct window *window = reader->window;
	size_t sz = reader->layout->frame_sz;

	if (!window || addr < window->addr || addr - window->addr >= window->sz ||
	    window->sz - (addr - window->addr) < sz) {
		window = find_window(&reader->sets[reader->newest], addr, sz);
		if (!window)
			window = find_window(&reader->sets[(reader->newest + 1) % SETS], addr, sz);
		if (!window)
			return NULL;
		reader->window = window;
	}
	reader->uses++;
	return window->bytes + (addr - window->addr);
}

u32 frame_reader_version(const struct frame_reader *reader, size_t idx)
{
	return idx < reader->version_cnt ? reader->versions[idx] : 0;
}

size_t frame_reader_fetches(const struct frame_reader *reader)
{
	return reader->fetch_cnt;
}
