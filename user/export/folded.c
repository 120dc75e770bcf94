/* SPDX-License-Identifier: Apache-2.0 */
/* Each distinct frame text is rendered and escaped once and gets a text id; a line is an array of
 * these. Lines with equal arrays are one (two files can look the same once their paths are shortened),
 * and sorting compares texts only where ids differ, so memory grows with the stacks and not with the
 * length of their text.
 */
#include "export/folded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/byte_buf.h"
#include "base/hash.h"
#include "base/id_map.h"
#include "export/escape.h"
#include "export/root_label.h"
#include "export/sample_text.h"

enum {
	MAX_TEXT_SZ = 1 << 20, /* one frame: two names of 32 KiB, four times as long when escaped */
	MAX_ROOT_TEXTS = 4,    /* process, thread, status marker, and the folded marker at the end */
};

#define MAX_TEXTS_BYTES (1ULL << 32)
#define NO_TEXT		0xffffffffu

struct line {
	size_t start; /* index of its first text id */
	u32 cnt;
	u64 samples;
};

struct folded {
	const struct exporter_input *input;
	struct root_labels *labels; /* NULL where processes and threads stand at the root */
	struct string_table *texts;
	u32 *frame_texts;   /* frame id -> text id, NO_TEXT until it is rendered */
	u32 *process_texts; /* the same by process id, of what stands at its stacks' root */
	size_t process_cnt;
	struct byte_buf scratch;
	u32 *ids; /* of all lines, one behind the other */
	size_t id_cnt, id_cap;
	struct line *lines;
	size_t line_cnt, line_cap;
	struct id_map line_ids; /* hash of a line's ids -> line */
	u64 seed;
};

static int intern_scratch(struct folded *folded, u32 *ret_id)
{
	return string_table_intern(folded->texts, folded->scratch.data, folded->scratch.sz, ret_id);
}

static int intern_literal(struct folded *folded, const char *text, u32 *ret_id)
{
	return string_table_intern(folded->texts, text, strlen(text), ret_id);
}

/* `PREFIXname (number)` */
static int intern_root(struct folded *folded, const char *prefix, const char *name, u64 number, u32 *ret_id)
{
	struct byte_buf *buf = &folded->scratch;
	int err;

	byte_buf_clear(buf);
	err = byte_buf_add_text(buf, prefix);
	if (!err)
		err = escape_add(buf, name, strlen(name));
	if (!err)
		err = byte_buf_add_text(buf, " (");
	if (!err)
		err = byte_buf_add_number(buf, number);
	if (!err)
		err = byte_buf_add_char(buf, ')');
	return err ? err : intern_scratch(folded, ret_id);
}

static int intern_label(struct folded *folded, u32 process_id, u32 *ret_id)
{
	const char *label = root_labels_at(folded->labels, process_id);
	int err;

	byte_buf_clear(&folded->scratch);
	err = escape_add(&folded->scratch, label, strlen(label));
	return err ? err : intern_scratch(folded, ret_id);
}

/* `qualname (file:line)`, `qualname (file)` without a line, `qualname` without a file. */
static int render_frame(struct folded *folded, const struct frame *frame)
{
	const struct string_table *strings = frame_table_strings(profile_frames(folded->input->profile));
	struct byte_buf *buf = &folded->scratch;
	size_t name_sz, file_sz;
	const char *name = string_table_at(strings, frame->qualname_id, &name_sz);
	const char *file = string_table_at(strings, frame->file_id, &file_sz);
	int err = escape_add(buf, name, name_sz);

	if (err || (!file_sz && frame->line <= 0))
		return err;
	err = byte_buf_add_text(buf, " (");
	if (!err)
		err = escape_add(buf, file, file_sz);
	if (!err && frame->line > 0)
		err = byte_buf_add_char(buf, ':');
	if (!err && frame->line > 0)
		err = byte_buf_add_number(buf, (u64)frame->line);
	return err ? err : byte_buf_add_char(buf, ')');
}

static int frame_text(struct folded *folded, u32 frame_id, u32 *ret_id)
{
	const struct frame_table *frames = profile_frames(folded->input->profile);
	u32 *text_id;
	int err = 0;

	if (frame_id >= frame_table_count(frames))
		frame_id = FRAME_ID_FOLDED;
	text_id = &folded->frame_texts[frame_id];
	if (*text_id == NO_TEXT) {
		byte_buf_clear(&folded->scratch);
		if (frame_id == FRAME_ID_UNNAMED)
			err = byte_buf_add_text(&folded->scratch, "[unnamed]");
		else if (frame_id == FRAME_ID_FOLDED)
			err = byte_buf_add_text(&folded->scratch, "[folded]");
		else
			err = render_frame(folded, frame_table_at(frames, frame_id));
		if (!err)
			err = intern_scratch(folded, text_id);
	}
	if (!err)
		*ret_id = *text_id;
	return err;
}

/* `[late]`, `[truncated: page fault]`, `[no python frame: in exec]`; a stack that is exact has none. */
static int intern_marker(struct folded *folded, const struct profile_stack *stack, u32 *ret_id)
{
	struct byte_buf *buf = &folded->scratch;
	const char *reason = sample_reason_text(stack->reason);
	int err;

	/* The ordinary case of a Python thread without frames needs no reason. Of a late stack it is why the
	 * kernel side had not read it whole, where nothing is missing now. */
	if (stack->status == SAMPLE_LATE ||
	    (stack->status == SAMPLE_NONE && stack->reason == SAMPLE_REASON_NO_FRAMES))
		reason = "";
	byte_buf_clear(buf);
	err = byte_buf_add_char(buf, '[');
	if (!err)
		err = byte_buf_add_text(buf, sample_status_text(stack->status));
	if (!err && *reason)
		err = byte_buf_add_text(buf, ": ");
	if (!err)
		err = byte_buf_add_text(buf, reason);
	if (!err)
		err = byte_buf_add_char(buf, ']');
	return err ? err : intern_scratch(folded, ret_id);
}

static int intern_process(struct folded *folded, u32 process_id, u32 *ret_id)
{
	const struct process *process = process_table_at(folded->input->processes, process_id);

	if (folded->labels)
		return intern_label(folded, process_id, ret_id);
	return intern_root(folded, "", process ? process->comm : "?", process ? (u64)process->pid : 0,
			   ret_id);
}

static int process_text(struct folded *folded, u32 process_id, u32 *ret_id)
{
	u32 *text_id;
	int err = 0;

	if (process_id >= folded->process_cnt)
		return intern_process(folded, process_id, ret_id);
	text_id = &folded->process_texts[process_id];
	if (*text_id == NO_TEXT)
		err = intern_process(folded, process_id, text_id);
	*ret_id = *text_id;
	return err;
}

/* The frames of ours above the stack; returns how many through *cnt. */
static int root_texts(struct folded *folded, const struct profile_stack *stack, u32 *ids, size_t *cnt)
{
	enum exporter_per per = folded->input->per;
	int err = 0;

	if (per != EXPORTER_PER_NONE)
		err = process_text(folded, stack->process_id, &ids[(*cnt)++]);
	if (!err && per == EXPORTER_PER_THREAD)
		err = intern_root(folded, "thread ", stack->thread_name, stack->tid, &ids[(*cnt)++]);
	if (!err && stack->status != SAMPLE_EXACT && stack->status != SAMPLE_COMPLETED)
		err = intern_marker(folded, stack, &ids[(*cnt)++]);
	return err;
}

static int reserve(void **array, size_t need, size_t *cap, size_t element_sz)
{
	size_t new_cap = *cap ? *cap : 1024;
	void *grown;

	if (need <= *cap)
		return 0;
	while (new_cap < need)
		new_cap *= 2;
	grown = reallocarray(*array, new_cap, element_sz);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*cap = new_cap;
	return 0;
}

/* The text ids of a stack, written behind those of the lines so far. */
static int stack_texts(struct folded *folded, const struct profile_stack *stack, size_t *ret_cnt)
{
	size_t cnt = 0;
	u32 *ids;
	int err = reserve((void **)&folded->ids, folded->id_cnt + stack->frame_cnt + MAX_ROOT_TEXTS,
			  &folded->id_cap, sizeof(*folded->ids));

	if (err)
		return err;
	ids = folded->ids + folded->id_cnt;
	err = root_texts(folded, stack, ids, &cnt);
	for (size_t i = 0; i < stack->frame_cnt && !err; i++)
		err = frame_text(folded, stack->frame_ids[i], &ids[cnt++]);
	if (!err && stack->folded)
		err = intern_literal(folded, "[folded]", &ids[cnt++]);
	/* An empty line could not be read back. */
	if (!err && !cnt)
		err = intern_literal(folded, "[no python frame]", &ids[cnt++]);
	if (!err)
		*ret_cnt = cnt;
	return err;
}

static int add_line(struct folded *folded, u64 key, size_t cnt, u64 samples)
{
	int err = reserve((void **)&folded->lines, folded->line_cnt + 1, &folded->line_cap,
			  sizeof(*folded->lines));

	if (!err)
		err = id_map_put(&folded->line_ids, key, (u32)folded->line_cnt);
	if (err)
		return err;
	folded->lines[folded->line_cnt++] =
		(struct line){.start = folded->id_cnt, .cnt = (u32)cnt, .samples = samples};
	folded->id_cnt += cnt;
	return 0;
}

static int on_stack(void *ctx, const struct profile_stack *stack)
{
	struct folded *folded = ctx;
	const u32 *ids;
	size_t cnt;
	u64 key;
	int err = stack_texts(folded, stack, &cnt);

	if (err)
		return err;
	ids = folded->ids + folded->id_cnt;
	key = hash_bytes(folded->seed, ids, cnt * sizeof(*ids));
	for (;; key = hash_mix(key, folded->seed)) {
		u32 idx = id_map_find(&folded->line_ids, key);
		struct line *line;

		if (idx == ID_MAP_NONE)
			return add_line(folded, key, cnt, stack->samples);
		line = &folded->lines[idx];
		if (line->cnt == cnt && memcmp(folded->ids + line->start, ids, cnt * sizeof(*ids)) == 0) {
			line->samples += stack->samples;
			return 0;
		}
	}
}

/* Compares two texts that differ, each followed by its terminator as it will stand in the file. */
static int compare_texts(const char *a, size_t a_sz, char a_end, const char *b, size_t b_sz, char b_end)
{
	size_t common = a_sz < b_sz ? a_sz : b_sz;
	int order = memcmp(a, b, common);

	if (order)
		return order;
	return (int)(unsigned char)(a_sz > common ? a[common] : a_end) -
	       (int)(unsigned char)(b_sz > common ? b[common] : b_end);
}

/* By the bytes of the stacks: ';' behind a frame, nothing behind the last. */
static int compare_lines(const void *left, const void *right, void *ctx)
{
	const struct folded *folded = ctx;
	const struct line *a = left, *b = right;
	const u32 *a_ids = folded->ids + a->start, *b_ids = folded->ids + b->start;
	u32 common = a->cnt < b->cnt ? a->cnt : b->cnt;

	for (u32 i = 0; i < common; i++) {
		size_t a_sz, b_sz;
		const char *a_text, *b_text;

		if (a_ids[i] == b_ids[i])
			continue;
		a_text = string_table_at(folded->texts, a_ids[i], &a_sz);
		b_text = string_table_at(folded->texts, b_ids[i], &b_sz);
		return compare_texts(a_text, a_sz, i + 1 < a->cnt ? ';' : '\0', b_text, b_sz,
				     i + 1 < b->cnt ? ';' : '\0');
	}
	return a->cnt < b->cnt ? -1 : a->cnt > b->cnt;
}

static int write_line(struct folded *folded, const struct line *line, struct atomic_file *file)
{
	struct byte_buf *buf = &folded->scratch;
	int err = 0;

	for (u32 i = 0; i < line->cnt && !err; i++) {
		size_t sz;
		const char *text = string_table_at(folded->texts, folded->ids[line->start + i], &sz);

		if (i)
			err = atomic_file_write(file, ";", 1);
		if (!err)
			err = atomic_file_write(file, text, sz);
	}
	byte_buf_clear(buf);
	if (!err)
		err = byte_buf_add_char(buf, ' ');
	if (!err)
		err = byte_buf_add_number(buf, line->samples);
	if (!err)
		err = byte_buf_add_char(buf, '\n');
	return err ? err : atomic_file_write(file, buf->data, buf->sz);
}

static int labels_for(struct folded *folded, const struct exporter_input *input)
{
	switch (input->per) {
	case EXPORTER_PER_CONTAINER:
		return root_labels_new(&folded->labels, input->processes, ROOT_LABEL_CONTAINER);
	case EXPORTER_PER_CGROUP:
		return root_labels_new(&folded->labels, input->processes, ROOT_LABEL_CGROUP);
	case EXPORTER_PER_USER:
		return root_labels_new(&folded->labels, input->processes, ROOT_LABEL_USER);
	default:
		return 0;
	}
}

static u32 *no_texts(size_t cnt)
{
	u32 *texts = malloc((cnt ? cnt : 1) * sizeof(*texts));

	for (size_t i = 0; texts && i < cnt; i++)
		texts[i] = NO_TEXT;
	return texts;
}

static int folded_init(struct folded *folded, const struct exporter_input *input)
{
	size_t frame_cnt = frame_table_count(profile_frames(input->profile));
	int err;

	*folded = (struct folded){.input = input, .seed = hash_seed()};
	byte_buf_init(&folded->scratch, MAX_TEXT_SZ);
	id_map_init(&folded->line_ids, ID_MAP_NONE);
	folded->process_cnt = process_table_count(input->processes);
	folded->frame_texts = no_texts(frame_cnt);
	folded->process_texts = no_texts(folded->process_cnt);
	if (!folded->frame_texts || !folded->process_texts)
		return -ENOMEM;
	err = labels_for(folded, input);
	return err ? err : string_table_new(&folded->texts, MAX_TEXTS_BYTES);
}

static void folded_release(struct folded *folded)
{
	root_labels_free(folded->labels);
	string_table_free(folded->texts);
	byte_buf_release(&folded->scratch);
	id_map_release(&folded->line_ids);
	free(folded->frame_texts);
	free(folded->process_texts);
	free(folded->ids);
	free(folded->lines);
}

/* Every line, in the order of the file. */
static int collect_lines(struct folded *folded)
{
	int err = profile_for_each_stack(folded->input->profile, on_stack, folded);

	if (!err && folded->line_cnt)
		qsort_r(folded->lines, folded->line_cnt, sizeof(*folded->lines), compare_lines, folded);
	return err;
}

static int write_folded(const struct exporter_input *input, struct atomic_file *file)
{
	struct folded folded;
	int err = folded_init(&folded, input);

	if (!err)
		err = collect_lines(&folded);
	for (size_t i = 0; i < folded.line_cnt && !err; i++)
		err = write_line(&folded, &folded.lines[i], file);
	folded_release(&folded);
	return err;
}

/* How many texts at a line's root name its part. */
static u32 part_depth(const struct folded *folded)
{
	return folded->input->per == EXPORTER_PER_THREAD ? 2 : 1;
}

static bool is_same_part(const struct folded *folded, const struct line *a, const struct line *b)
{
	return memcmp(folded->ids + a->start, folded->ids + b->start,
		      part_depth(folded) * sizeof(*folded->ids)) == 0;
}

static int next_part(struct folded *folded, const struct line *line, struct split_dir *dir,
		     struct atomic_file **ret_file)
{
	struct byte_buf *buf = &folded->scratch;
	int err = 0;

	byte_buf_clear(buf);
	for (u32 i = 0; i < part_depth(folded) && !err; i++) {
		size_t sz;
		const char *text = string_table_at(folded->texts, folded->ids[line->start + i], &sz);

		if (i)
			err = byte_buf_add_char(buf, ' ');
		if (!err)
			err = byte_buf_add(buf, text, sz);
	}
	return err ? err : split_dir_next(dir, buf->data, buf->sz, ret_file);
}

/* Lines are sorted by their texts, so those of one part lie together. */
static int split_folded(const struct exporter_input *input, struct split_dir *dir)
{
	struct atomic_file *file = NULL;
	const struct line *last = NULL;
	struct folded folded;
	int err = folded_init(&folded, input);

	if (!err)
		err = collect_lines(&folded);
	for (size_t i = 0; i < folded.line_cnt && !err; i++) {
		const struct line *line = &folded.lines[i];

		if (!last || !is_same_part(&folded, last, line))
			err = next_part(&folded, line, dir, &file);
		if (!err)
			err = write_line(&folded, line, file);
		last = line;
	}
	folded_release(&folded);
	return err;
}

const struct exporter_ops folded_exporter = {
	.name = "folded",
	.suffix = "folded",
	.write = write_folded,
	.split = split_folded,
};
