/* SPDX-License-Identifier: Apache-2.0 */
/* Captures what the walker and the symbolizer read of one blocked thread: an image of only that, and a
 * description beside it.
 *
 *   capture_stack PID STACK OUT      STACK: what programs/truth.py wrote; makes OUT.image and OUT.json
 *
 * Reads are seen by wrapping remote_mem_read() at link time.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/remote_mem.h"
#include "runtime/runtime_detect.h"
#include "stack/thread_list.h"
#include "symbolize/code_object.h"
#include "walker.h"

enum { MAX_RANGES = 1 << 18 };

struct range {
	u64 addr;
	u64 sz;
};

struct capture {
	pid_t pid;
	u64 tid;
	u64 task_id;
	u64 user_sp;
	u64 tstate;
	struct remote_mem *mem;
	struct py_runtime runtime;
	struct walker_output walk;
};

/* The wrapped functions have no parameter of ours. */
static struct {
	bool on;
	size_t cnt;
	struct range ranges[MAX_RANGES];
} g_seen;

int __real_remote_mem_read(struct remote_mem *mem, remote_addr_t addr, void *ret_buf, size_t sz);
int __wrap_remote_mem_read(struct remote_mem *mem, remote_addr_t addr, void *ret_buf, size_t sz);
int __wrap_remote_mem_read_u64(struct remote_mem *mem, remote_addr_t addr, u64 *ret_value);

int __wrap_remote_mem_read(struct remote_mem *mem, remote_addr_t addr, void *ret_buf, size_t sz)
{
	int err = __real_remote_mem_read(mem, addr, ret_buf, sz);

	if (!err && g_seen.on && sz) {
		if (g_seen.cnt == MAX_RANGES)
			return -ENOSPC;
		g_seen.ranges[g_seen.cnt++] = (struct range){.addr = addr, .sz = sz};
	}
	return err;
}

int __wrap_remote_mem_read_u64(struct remote_mem *mem, remote_addr_t addr, u64 *ret_value)
{
	return __wrap_remote_mem_read(mem, addr, ret_value, sizeof(*ret_value));
}

static int walker_read(void *ctx, u64 addr, void *ret_buf, size_t sz)
{
	return remote_mem_read(ctx, addr, ret_buf, sz);
}

/* The stack pointer of a blocked thread: last but one word of /proc/PID/task/TID/syscall. */
static int read_user_sp(pid_t pid, u64 tid, u64 *ret_sp)
{
	char path[64], line[256], *last = NULL, *before = NULL, *save = NULL;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%llu/syscall", pid, (unsigned long long)tid);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	if (!fgets(line, sizeof(line), file))
		line[0] = '\0';
	fclose(file);
	for (char *word = strtok_r(line, " \n", &save); word; word = strtok_r(NULL, " \n", &save)) {
		before = last;
		last = word;
	}
	if (!before)
		return -EINVAL;
	*ret_sp = strtoull(before, NULL, 16);
	return *ret_sp ? 0 : -EINVAL;
}

static void on_thread(void *ctx, u64 native_id, remote_addr_t tstate)
{
	struct capture *capture = ctx;

	if (native_id == capture->tid)
		capture->tstate = tstate;
}

/* What the walker tells the thread by: before 3.11 pthread_self(). */
static int find_task_id(struct capture *capture, u64 *ret_id)
{
	const struct py_layout *layout = &capture->runtime.layout;
	int err;

	*ret_id = capture->tid;
	if (layout->tstate_native_thread_id)
		return 0;
	err = thread_list_walk(capture->mem, layout, capture->runtime.runtime_addr, 256, on_thread, capture);
	if (!err && !capture->tstate)
		err = -ENOENT;
	return err ?: remote_mem_read_u64(capture->mem, capture->tstate + layout->tstate_thread_id, ret_id);
}

/* What user space reads of a stack that it completes: base_frame too. */
static int read_whole_chain(const struct capture *capture)
{
	const struct py_layout *layout = &capture->runtime.layout;
	u8 bytes[LIMIT_FRAME_SPAN];
	u64 frame;
	int err;

	err = remote_mem_read_u64(capture->mem, capture->walk.tstate + layout->tstate_frame, &frame);
	if (!err && (layout->traits & PY_TRAIT_CFRAME))
		err = remote_mem_read_u64(capture->mem, frame + layout->cframe_current_frame, &frame);
	while (!err && frame) {
		err = remote_mem_read(capture->mem, frame, bytes, layout->frame_sz);
		memcpy(&frame, bytes + layout->frame_previous, sizeof(frame));
	}
	return err;
}

/* What tests that damage an image need beyond the walk's own reads: the value stack of the leaf's caller, and
 * what a just popped frame leaves above it. */
static void read_around(const struct capture *capture)
{
	const struct py_layout *layout = &capture->runtime.layout;
	u8 bytes[4096];
	u64 chunk, top;

	if (layout->traits & PY_TRAIT_FRAME_OBJECT)
		return;
	if (remote_mem_read_u64(capture->mem, capture->walk.tstate + layout->tstate_datastack_chunk,
				&chunk) ||
	    remote_mem_read_u64(capture->mem, capture->walk.tstate + layout->tstate_datastack_top, &top))
		return;
	/* What is not in this chunk is looked for in the one before. */
	remote_mem_read(capture->mem, chunk, bytes, layout->chunk_data);
	if (top - chunk > 1024 && top > chunk)
		chunk = top - 1024;
	remote_mem_read(capture->mem, chunk, bytes, top - chunk + LIMIT_FRAME_SPAN);
}

static int read_codes(const struct capture *capture)
{
	const struct py_layout *layout = &capture->runtime.layout;
	struct code_object object;
	int err = 0;

	code_object_init(&object);
	for (u32 i = 0; i < capture->walk.frame_cnt && !err; i++) {
		u64 code = capture->walk.frames[i].code;
		u32 fingerprint;

		err = code_object_fingerprint(capture->mem, layout, code, &fingerprint);
		if (!err)
			err = code_object_read(capture->mem, layout, code, fingerprint, &object);
	}
	code_object_release(&object);
	return err;
}

static int capture_thread(struct capture *capture)
{
	struct runtime_detector *detector = NULL;
	struct walker_input input = {.epoch = 1, .read = walker_read};
	int err = runtime_detector_new(&detector);

	if (!err)
		err = runtime_detect(detector, capture->pid, &capture->runtime);
	runtime_detector_free(detector);
	if (!err && capture->runtime.refusal != PY_REFUSAL_NONE)
		err = -ENOTSUP;
	if (!err)
		err = remote_mem_open_process(&capture->mem, capture->pid);
	if (!err)
		err = read_user_sp(capture->pid, capture->tid, &capture->user_sp);
	if (!err)
		err = find_task_id(capture, &capture->task_id);
	if (err)
		return err;
	input.layout = &capture->runtime.layout;
	input.runtime_addr = capture->runtime.runtime_addr;
	input.task_id = capture->task_id;
	input.id_is_native = capture->runtime.layout.tstate_native_thread_id != 0;
	input.user_sp = capture->user_sp;
	input.ctx = capture->mem;
	g_seen.on = true;
	walker_walk(&input, &capture->walk);
	fprintf(stderr, "%u frames, status %d, reason %d\n", capture->walk.frame_cnt, capture->walk.status,
		capture->walk.reason);
	read_around(capture);
	err = read_codes(capture);
	if (!err)
		err = read_whole_chain(capture);
	if (!err)
		err = thread_list_walk(capture->mem, input.layout, input.runtime_addr, 256, on_thread,
				       capture);
	g_seen.on = false;
	return err;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct range *left = a, *right = b;

	return left->addr < right->addr ? -1 : left->addr > right->addr;
}

static void merge_ranges(void)
{
	size_t cnt = 0;

	qsort(g_seen.ranges, g_seen.cnt, sizeof(g_seen.ranges[0]), compare_ranges);
	for (size_t i = 0; i < g_seen.cnt; i++) {
		struct range *range = &g_seen.ranges[i];
		struct range *last = cnt ? &g_seen.ranges[cnt - 1] : NULL;

		if (last && range->addr <= last->addr + last->sz) {
			if (range->addr + range->sz > last->addr + last->sz)
				last->sz = range->addr + range->sz - last->addr;
		} else {
			g_seen.ranges[cnt++] = *range;
		}
	}
	g_seen.cnt = cnt;
}

/* The format of README.md; the hosts that capture are little-endian. */
static int write_image(struct remote_mem *mem, const char *path)
{
	u32 head[2] = {1, (u32)g_seen.cnt};
	u64 off = 16 + 24 * g_seen.cnt;
	FILE *file = fopen(path, "we");
	int err = 0;

	if (!file)
		return -errno;
	fwrite("PANOPYMI", 8, 1, file);
	fwrite(head, sizeof(head), 1, file);
	for (size_t i = 0; i < g_seen.cnt; i++) {
		u64 row[3] = {g_seen.ranges[i].addr, g_seen.ranges[i].sz, off};

		fwrite(row, sizeof(row), 1, file);
		off += row[1];
	}
	for (size_t i = 0; i < g_seen.cnt && !err; i++) {
		u8 *bytes = malloc(g_seen.ranges[i].sz);

		err = bytes ? remote_mem_read(mem, g_seen.ranges[i].addr, bytes, g_seen.ranges[i].sz)
			    : -ENOMEM;
		if (!err)
			fwrite(bytes, g_seen.ranges[i].sz, 1, file);
		free(bytes);
	}
	if (ferror(file) && !err)
		err = -EIO;
	return fclose(file) && !err ? -EIO : err;
}

static void add_hex(struct json_object *description, const char *key, const void *data, size_t sz)
{
	const u8 *bytes = data;
	char text[2 * sizeof(struct py_layout) + 1];

	for (size_t i = 0; i < sz; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	json_object_object_add(description, key, json_object_new_string(text));
}

static int write_description(const struct capture *capture, struct json_object *stack, const char *path)
{
	struct json_object *description = json_object_new_object();
	int err;

	json_object_object_add(description, "version", json_object_new_int64(capture->runtime.version));
	add_hex(description, "layout", &capture->runtime.layout, sizeof(capture->runtime.layout));
	json_object_object_add(description, "runtime_addr",
			       json_object_new_uint64(capture->runtime.runtime_addr));
	json_object_object_add(description, "task_id", json_object_new_uint64(capture->task_id));
	json_object_object_add(description, "tid", json_object_new_uint64(capture->tid));
	json_object_object_add(description, "user_sp", json_object_new_uint64(capture->user_sp));
	json_object_object_add(description, "frames",
			       json_object_get(json_object_object_get(stack, "frames")));
	err = json_object_to_file_ext(path, description, JSON_C_TO_STRING_NOSLASHESCAPE) ? -EIO : 0;
	json_object_put(description);
	return err;
}

int main(int argc, char **argv)
{
	struct capture capture = {0};
	struct json_object *stack;
	char path[4096];
	int err;

	if (argc != 4) {
		fprintf(stderr, "usage: capture_stack PID STACK OUT\n");
		return 2;
	}
	stack = json_object_from_file(argv[2]);
	if (!stack) {
		fprintf(stderr, "%s: %s\n", argv[2], json_util_get_last_err());
		return 1;
	}
	capture.pid = (pid_t)strtol(argv[1], NULL, 10);
	capture.tid = json_object_get_uint64(json_object_object_get(stack, "tid"));
	err = capture_thread(&capture);
	merge_ranges();
	snprintf(path, sizeof(path), "%s.image", argv[3]);
	if (!err)
		err = write_image(capture.mem, path);
	snprintf(path, sizeof(path), "%s.json", argv[3]);
	if (!err)
		err = write_description(&capture, stack, path);
	remote_mem_close(capture.mem);
	json_object_put(stack);
	if (err)
		fprintf(stderr, "process %d: %s\n", capture.pid, strerror(-err));
	return err ? 1 : 0;
}
