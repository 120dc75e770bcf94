/* SPDX-License-Identifier: Apache-2.0 */
/* Line format: fs/proc/task_mmu.c show_map_vma(), Linux 5.10 to 6.18:
 *     start-end rwxp offset major:minor inode   path
 * In the path only '\n' is escaped, as \012; a backslash is not, so the escape is ambiguous. Undoing it is
 * right for newlines and wrong for a file whose name really holds "\012": such a file is not found by its
 * path, and device and inode are compared anyway.
 */
#define _GNU_SOURCE
#include "discover/proc_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/byte_reader.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/deadline_call.h"

static bool take_char(struct byte_reader *line, char expected)
{
	if (byte_reader_u8(line) != (u8)expected)
		line->failed = true;
	return !line->failed;
}

static int digit_value(u8 digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	return -1;
}

/* At least one digit, at most 64 bits; stops in front of the first other character. */
static u64 take_number(struct byte_reader *line, unsigned int base)
{
	size_t begin = line->off;
	u64 value = 0;

	while (!line->failed && byte_reader_left(line) > 0) {
		int digit = digit_value(line->data[line->off]);

		if (digit < 0 || digit >= (int)base)
			break;
		if (__builtin_mul_overflow(value, (u64)base, &value) ||
		    __builtin_add_overflow(value, (u64)digit, &value))
			line->failed = true;
		line->off++;
	}
	if (line->off == begin)
		line->failed = true;
	return value;
}

static bool is_octal_escape(const u8 *bytes, size_t left)
{
	if (left < 4 || bytes[0] != '\\' || bytes[1] > '3')
		return false;
	for (int i = 1; i < 4; i++) {
		if (bytes[i] < '0' || bytes[i] > '7')
			return false;
	}
	return true;
}

static void decode_path(struct byte_reader *line, struct proc_mapping *mapping)
{
	static const char mark[] = " (deleted)";
	const size_t mark_sz = sizeof(mark) - 1;
	size_t out = 0, left = byte_reader_left(line);
	const u8 *bytes = line->data + line->off;

	if (left >= mark_sz && memcmp(bytes + left - mark_sz, mark, mark_sz) == 0) {
		mapping->deleted = true;
		left -= mark_sz;
	}
	while (left > 0 && out < PROC_MAPS_PATH_SZ - 1) {
		size_t used = 1;
		u8 value = bytes[0];

		if (is_octal_escape(bytes, left)) {
			value = (u8)((bytes[1] - '0') * 64 + (bytes[2] - '0') * 8 + (bytes[3] - '0'));
			used = 4;
		}
		mapping->path[out++] = (char)value;
		bytes += used;
		left -= used;
	}
	mapping->path[out] = '\0';
}

static void decode_permissions(struct byte_reader *line, struct proc_mapping *mapping)
{
	const u8 *perms = byte_reader_take(line, 4);

	if (!perms)
		return;
	for (int i = 0; i < 4; i++) {
		if (!memchr(i < 3 ? "rwx-" : "ps", perms[i], i < 3 ? 4 : 2))
			line->failed = true;
	}
	mapping->readable = perms[0] == 'r';
	mapping->writable = perms[1] == 'w';
	mapping->executable = perms[2] == 'x';
}

int decode_proc_maps_line(const char *line, size_t sz, struct proc_mapping *ret_mapping)
{
	struct proc_mapping mapping;
	struct byte_reader reader;
	u64 major_number, minor_number;

	/* Not the whole struct: the path alone is 4 KiB. */
	memset(&mapping, 0, offsetof(struct proc_mapping, path));
	byte_reader_init(&reader, line, sz);
	mapping.start = take_number(&reader, 16);
	take_char(&reader, '-');
	mapping.end = take_number(&reader, 16);
	take_char(&reader, ' ');
	decode_permissions(&reader, &mapping);
	take_char(&reader, ' ');
	mapping.offset = take_number(&reader, 16);
	take_char(&reader, ' ');
	major_number = take_number(&reader, 16);
	take_char(&reader, ':');
	minor_number = take_number(&reader, 16);
	take_char(&reader, ' ');
	mapping.ino = take_number(&reader, 10);
	if (reader.failed || mapping.start >= mapping.end || major_number > UINT32_MAX ||
	    minor_number > UINT32_MAX)
		return -EINVAL;
	mapping.dev = makedev((unsigned int)major_number, (unsigned int)minor_number);
	while (byte_reader_left(&reader) > 0 && reader.data[reader.off] == ' ')
		reader.off++;
	decode_path(&reader, &mapping);
	memcpy(ret_mapping, &mapping, offsetof(struct proc_mapping, path) + strlen(mapping.path) + 1);
	return 0;
}

int proc_maps_for_each(const char *text, size_t sz,
		       int (*on_mapping)(void *ctx, const struct proc_mapping *mapping), void *ctx)
{
	struct proc_mapping mapping;

	while (sz > 0) {
		const char *newline = memchr(text, '\n', sz);
		size_t line_sz = newline ? (size_t)(newline - text) : sz;

		if (decode_proc_maps_line(text, line_sz, &mapping) == 0) {
			int stop = on_mapping(ctx, &mapping);

			if (stop)
				return stop;
		}
		if (!newline)
			break;
		text += line_sz + 1;
		sz -= line_sz + 1;
	}
	return 0;
}

static int read_all(int fd, size_t max_sz, char **ret_text, size_t *ret_sz)
{
	size_t cap = 32 << 10, have = 0;
	CLEANUP_FREE char *text = malloc(cap + 1);

	if (!text)
		return -ENOMEM;
	while (have < max_sz) {
		ssize_t got;

		if (have == cap) {
			char *bigger = realloc(text, 2 * cap + 1);

			if (!bigger)
				return -ENOMEM;
			text = bigger;
			cap *= 2;
		}
		got = read(fd, text + have, cap - have);
		if (got < 0 && errno != EINTR)
			return -errno;
		if (got == 0)
			break;
		if (got > 0)
			have += (size_t)got;
	}
	text[have] = '\0';
	*ret_text = steal_ptr(text);
	*ret_sz = have;
	return 0;
}

/* Opening and reading maps takes the process's mmap_lock, which a page fault on a FUSE file can hold for as
 * long as the server likes (mm/filemap.c lock_folio_maybe_drop_mmap drops it at the first try only). */
struct maps_call {
	pid_t pid;
	int result;
	char *text;
	size_t sz;
};

static void run_read_maps(void *block)
{
	struct maps_call *call = block;
	char path[64];
	CLEANUP_FD int fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)call->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		call->result = errno == ENOENT ? -ESRCH : -errno;
	else
		call->result = read_all(fd, PROC_MAPS_TEXT_SZ, &call->text, &call->sz);
}

static void maps_call_free(void *block)
{
	struct maps_call *call = block;

	free(call->text);
	free(call);
}

int read_proc_maps(pid_t pid, char **ret_text, size_t *ret_sz)
{
	struct maps_call *call = calloc(1, sizeof(*call));
	int err;

	if (!call)
		return -ENOMEM;
	call->pid = pid;
	err = deadline_call(deadline_subject_pid(pid), run_read_maps, maps_call_free, call, CLOCK_NS_PER_S);
	if (err == -ETIMEDOUT)
		return err;
	err = err ?: call->result;
	if (!err) {
		*ret_text = steal_ptr(call->text);
		*ret_sz = call->sz;
	}
	maps_call_free(call);
	return err;
}
