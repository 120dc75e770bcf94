/* SPDX-License-Identifier: Apache-2.0 */
/* Two levels. A fixed two-way table remembers (epoch, code, fingerprint, instruction) -> frame id, one
 * probe for nearly every frame; behind it the code store has what a name and a line are made of. A
 * remembered frame needs no invalidation: its key says exactly which code object is meant, and frame
 * ids are never reused.
 *
 * Location tables are interned, so that a hundred processes with the same program hold one copy. When
 * their store is full everything is dropped (counted as evicted) and comes back from live processes.
 */
#include "symbolize/code_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/byte_buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "symbolize/code_object.h"
#include "symbolize/code_store.h"
#include "symbolize/failed_reads.h"
#include "symbolize/line_table.h"
#include "symbolize/py_string.h"
#include "symbolize/short_path.h"

#define CODE_INFO_NO_TABLE 0xffffffffu
/* In the memo only: the frame is not shown. */
#define FRAME_ID_HIDDEN 0xffffffffu
/* In the memo only, a bit of code_idx: the frame's line is not known. */
#define MEMO_LINELESS 0x80000000u

enum {
	MAX_CODES_DEFAULT = 1 << 20,
	MAX_TABLE_BYTES_DEFAULT = 32 << 20,
	MEMO_SETS = 1 << 14, /* 1 MiB with two entries of 32 bytes each */
	MEMO_WAYS = 2,
	MAX_CODES = 1 << 30,		     /* below MEMO_LINELESS */
	MAX_TEXT_SZ = LIMIT_NAME_SZ * 2 + 8, /* Latin-1 doubles; the mark of a cut name */
};

struct memo_entry {
	u64 epoch;
	u64 code;
	u32 fingerprint;
	s32 instr_off;
	u32 frame_id;
	u32 code_idx;
};

/* A code object's parts, wherever they lie. */
struct code_view {
	struct code_key key;
	s32 firstlineno;
	u32 flags; /* enum code_record_flag */
	const u8 *parts[CODE_PART_COUNT];
	size_t sz[CODE_PART_COUNT];
	u8 char_sz[CODE_PART_COUNT];
};

struct code_cache {
	struct frame_table *frames;
	struct string_table *tables;
	struct code_store *store;
	struct short_path *paths;
	struct failed_reads *failed;
	struct code_object object; /* scratch */
	struct byte_buf text;	   /* scratch */
	size_t max_table_bytes;
	bool full_paths;
	bool no_lines;
	u64 seed;
	struct code_cache_stats stats;
	struct memo_entry memo[MEMO_SETS][MEMO_WAYS];
};

int code_cache_new(struct code_cache **ret_cache, const struct code_cache_config *config)
{
	struct code_cache *cache = calloc(1, sizeof(*cache));
	int err;

	if (!cache)
		return -ENOMEM;
	cache->frames = config->frames;
	cache->full_paths = config->full_paths;
	cache->no_lines = config->no_lines;
	cache->max_table_bytes = config->max_table_bytes ? config->max_table_bytes : MAX_TABLE_BYTES_DEFAULT;
	cache->seed = hash_seed();
	code_object_init(&cache->object);
	byte_buf_init(&cache->text, MAX_TEXT_SZ);
	err = string_table_new(&cache->tables, cache->max_table_bytes);
	if (!err)
		err = code_store_new(&cache->store, config->max_codes > MAX_CODES ? MAX_CODES
						    : config->max_codes		  ? config->max_codes
										  : MAX_CODES_DEFAULT);
	if (!err)
		err = short_path_new(&cache->paths);
	if (!err)
		err = failed_reads_new(&cache->failed);
	if (err) {
		code_cache_free(cache);
		return err;
	}
	*ret_cache = cache;
	return 0;
}

void code_cache_free(struct code_cache *cache)
{
	if (!cache)
		return;
	failed_reads_free(cache->failed);
	short_path_free(cache->paths);
	code_store_free(cache->store);
	string_table_free(cache->tables);
	byte_buf_release(&cache->text);
	code_object_release(&cache->object);
	free(cache);
}

const struct code_cache_stats *code_cache_stats(const struct code_cache *cache)
{
	return &cache->stats;
}

void code_cache_forget(struct code_cache *cache, u64 epoch)
{
	code_store_forget(cache->store, epoch);
	cache->stats.codes = code_store_count(cache->store);
}

static size_t memo_idx(const struct code_cache *cache, u64 epoch, const struct py_frame *frame, s32 instr_off)
{
	u64 hash =
		hash_mix(epoch ^ cache->seed ^ frame->code, (u64)frame->fingerprint << 32 | (u32)instr_off);

	return hash & (MEMO_SETS - 1);
}

void code_cache_prefetch(const struct code_cache *cache, u64 epoch, const struct py_frame *frames, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		s32 instr_off = cache->no_lines ? 0 : frames[i].instr_off;

		__builtin_prefetch(cache->memo[memo_idx(cache, epoch, &frames[i], instr_off)]);
	}
}

static bool memo_equal(const struct memo_entry *entry, u64 epoch, const struct py_frame *frame, s32 instr_off)
{
	return entry->code == frame->code && entry->epoch == epoch &&
	       entry->fingerprint == frame->fingerprint && entry->instr_off == instr_off;
}

/* The newest entry of a set is its first. */
static void memo_put(struct memo_entry *set, u64 epoch, const struct py_frame *frame, s32 instr_off,
		     u32 frame_id, u32 code_idx)
{
	set[1] = set[0];
	set[0] = (struct memo_entry){
		.epoch = epoch,
		.code = frame->code,
		.fingerprint = frame->fingerprint,
		.instr_off = instr_off,
		.frame_id = frame_id,
		.code_idx = code_idx,
	};
}

/* Decodes one of the strings into cache->text. A cut one ends in "...". */
static int decode_text(struct code_cache *cache, const struct code_view *view, enum code_part part)
{
	int err;

	byte_buf_clear(&cache->text);
	err = py_string_decode(&cache->text, view->parts[part], view->sz[part], view->char_sz[part]);
	if (!err && view->flags & 1u << part)
		err = byte_buf_add_text(&cache->text, "...");
	return err;
}

static bool text_is(const struct code_view *view, enum code_part part, const char *text)
{
	return view->char_sz[part] == 1 && view->sz[part] == strlen(text) &&
	       memcmp(view->parts[part], text, view->sz[part]) == 0;
}

static bool is_static(u64 code, const struct code_source *source)
{
	return code >= source->image_start && code < source->image_end;
}

/* What the interpreter pushes for its own use. CPython 3.13 to 3.15, Python/specialize.c: the static
 * code object _Py_InitCleanup, whose name and file are both "__init__", under an inlined __init__.
 * CPython 3.12 to 3.15, Objects/codeobject.c _Py_MakeShimCode: the trampoline without a file. */
static bool is_shim(const struct code_view *view, const struct code_source *source)
{
	if (is_static(view->key.code, source) || !view->key.fingerprint)
		return text_is(view, CODE_PART_QUALNAME, "__init__") &&
		       text_is(view, CODE_PART_FILENAME, "__init__");
	return !view->sz[CODE_PART_FILENAME] && text_is(view, CODE_PART_QUALNAME, "<interpreter trampoline>");
}

static int intern_names(struct code_cache *cache, const struct code_view *view,
			const struct code_source *source, struct code_info *info)
{
	struct string_table *strings = frame_table_strings(cache->frames);
	enum code_part name = CODE_PART_QUALNAME;
	size_t skip = 0;
	int err;

	if (!view->sz[name])
		name = CODE_PART_NAME;
	err = decode_text(cache, view, name);
	if (!err)
		err = string_table_intern(strings, cache->text.data, cache->text.sz, &info->qualname_id);
	if (!err)
		err = decode_text(cache, view, CODE_PART_FILENAME);
	if (err)
		return err;
	if (!cache->full_paths && cache->text.sz)
		skip = short_path_skip(cache->paths, view->key.epoch, source->pid, cache->text.data,
				       cache->text.sz);
	return string_table_intern(strings, cache->text.sz ? cache->text.data + skip : "",
				   cache->text.sz - skip, &info->file_id);
}

static int intern_table(struct code_cache *cache, const struct code_view *view, u32 *ret_id)
{
	const char *bytes = (const char *)view->parts[CODE_PART_LINETABLE];
	size_t sz = view->sz[CODE_PART_LINETABLE];
	struct string_table *tables;
	int err = string_table_intern(cache->tables, bytes, sz, ret_id);

	if (err != -ENOSPC)
		return err;
	err = string_table_new(&tables, cache->max_table_bytes);
	if (err)
		return err;
	cache->stats.evicted += code_store_clear(cache->store);
	string_table_free(cache->tables);
	cache->tables = tables;
	return string_table_intern(cache->tables, bytes, sz, ret_id);
}

/* Makes an entry of a code object's parts. -ENOSPC: the string table is full (the caller folds). */
static int take_in(struct code_cache *cache, const struct code_view *view, const struct code_source *source,
		   u32 *ret_idx)
{
	struct code_info info = {
		.key = view->key,
		.firstlineno = view->firstlineno,
		.table_id = CODE_INFO_NO_TABLE,
		.hidden = is_shim(view, source),
		.complete = !view->flags,
	};
	size_t evicted = 0;
	int err = intern_names(cache, view, source, &info);

	if (err)
		return err;
	if (!cache->no_lines && intern_table(cache, view, &info.table_id) != 0)
		info.table_id = CODE_INFO_NO_TABLE;
	err = code_store_put(cache->store, &info, ret_idx, &evicted);
	cache->stats.evicted += evicted;
	cache->stats.codes = code_store_count(cache->store);
	return err;
}

/* Checks a record and finds its parts. */
static int validate_record(const struct code_record *record, size_t sz, struct code_view *ret_view)
{
	struct code_view view = {0};
	size_t off = 0, room;

	if (sz < sizeof(*record) || record->hdr.size != sz || record->hdr.kind != RECORD_CODE ||
	    !record->fingerprint || !record->code)
		return -EINVAL;
	room = sz - sizeof(*record);
	for (int part = 0; part < CODE_PART_COUNT; part++) {
		u8 char_sz = record->char_sz[part];

		if (record->sz[part] > room - off || (char_sz != 1 && char_sz != 2 && char_sz != 4))
			return -EINVAL;
		view.parts[part] = record->bytes + off;
		view.sz[part] = record->sz[part];
		view.char_sz[part] = char_sz;
		off += record->sz[part];
	}
	view.key = (struct code_key){record->epoch, record->code, record->fingerprint};
	view.firstlineno = record->firstlineno;
	view.flags = record->flags;
	*ret_view = view;
	return 0;
}

/* Reads the code object from the process; a counted failure otherwise. A fingerprint of 0 is only let
 * through for static code objects (find_code): those cannot be another one, whatever theirs is. */
static int read_anyway(struct code_cache *cache, const struct code_key *key, const struct code_source *source,
		       u32 *ret_idx)
{
	struct code_object *object = &cache->object;
	struct code_view view = {.key = *key};
	u32 expected = key->fingerprint;
	int err = 0;

	cache->stats.remote_reads++;
	if (!expected)
		err = code_object_fingerprint(source->mem, source->layout, key->code, &expected);
	if (!err)
		err = code_object_read(source->mem, source->layout, key->code, expected, object);
	cache->stats.stale += err == -ESTALE;
	if (!err) {
		view.firstlineno = object->firstlineno;
		view.flags = object->flags;
		for (int part = 0; part < CODE_PART_COUNT; part++) {
			view.parts[part] = (const u8 *)object->parts[part].data;
			view.sz[part] = object->parts[part].sz;
			view.char_sz[part] = object->char_sz[part];
		}
		err = take_in(cache, &view, source, ret_idx);
		/* Cut at our own limits: another read would give the same. */
		if (!err)
			code_store_at(cache->store, *ret_idx)->complete = true;
	}
	cache->stats.invalid += err == -EINVAL;
	return err;
}

/* Likewise, unless it failed a moment ago. */
static int read_in(struct code_cache *cache, const struct code_key *key, const struct code_source *source,
		   u32 *ret_idx)
{
	u64 now = clock_monotonic_ns();
	int err;

	if (!source->mem)
		return -ESRCH;
	if (failed_reads_hold(cache->failed, key, now))
		return -ESTALE;
	err = read_anyway(cache, key, source, ret_idx);
	if (err && err != -ENOSPC)
		failed_reads_note(cache->failed, key, now);
	return err;
}

int code_cache_on_record(struct code_cache *cache, const struct code_record *record, size_t sz,
			 const struct code_source *source)
{
	struct code_view view;
	u32 idx;
	int err = validate_record(record, sz, &view);

	if (err) {
		cache->stats.invalid++;
		return err;
	}
	idx = code_store_find(cache->store, &view.key);
	if (idx != CODE_STORE_NONE && code_store_at(cache->store, idx)->complete)
		return 0;
	if (view.flags) {
		/* The process may still live: whole names are better than cut ones. */
		if (read_in(cache, &view.key, source, &idx) == 0) {
			memset(cache->memo, 0, sizeof(cache->memo));
			return 0;
		}
		if (!view.sz[CODE_PART_FILENAME] || !(view.sz[CODE_PART_QUALNAME] + view.sz[CODE_PART_NAME]))
			return 0; /* nothing to show: a miss later, and unnamed unless it can be read then */
	}
	err = take_in(cache, &view, source, &idx);
	cache->stats.invalid += err == -EINVAL;
	return err;
}

/* The line, 0 for code without one; -ENOENT when it is not known. */
static int line_of(const struct code_cache *cache, const struct code_source *source,
		   const struct code_info *info, s32 instr_off, s32 *ret_line)
{
	const char *table;
	size_t sz;

	if (cache->no_lines || instr_off < 0) {
		*ret_line = !cache->no_lines && info->firstlineno > 0 ? info->firstlineno : 0;
		return 0;
	}
	if (info->table_id == CODE_INFO_NO_TABLE)
		return -ENOENT;
	table = string_table_at(cache->tables, info->table_id, &sz);
	return line_table_decode(line_table_form(source->layout), (const u8 *)table, sz, info->firstlineno,
				 instr_off, ret_line)
		       ? -ENOENT
		       : 0;
}

/* -ENOSPC: the frame table is full, and the id is that of such frames. */
static int frame_of(const struct code_cache *cache, const struct code_info *info, s32 line, u32 *ret_id)
{
	struct frame frame = {info->qualname_id, info->file_id, line};

	return frame_table_intern(cache->frames, &frame, ret_id);
}

/* Finds or reads the code object of a frame. A fingerprint of 0 tells nothing apart (it could not be
 * read, or co_version is 0: code objects inside the image, or the counter wrapped), so it will do only
 * for code objects inside the image, which are never freed. */
static int find_code(struct code_cache *cache, const struct code_source *source, const struct py_frame *frame,
		     u32 *ret_idx)
{
	struct code_key key = {source->epoch, frame->code, frame->fingerprint};

	if (!frame->code || (!frame->fingerprint && !is_static(frame->code, source)))
		return -ESTALE;
	*ret_idx = code_store_find(cache->store, &key);
	if (*ret_idx != CODE_STORE_NONE) {
		cache->stats.hits++;
		code_store_touch(cache->store, *ret_idx);
		return 0;
	}
	cache->stats.misses++;
	return read_in(cache, &key, source, ret_idx);
}

static enum frame_name_result name_slowly(struct code_cache *cache, const struct code_source *source,
					  const struct py_frame *frame, s32 instr_off, struct memo_entry *set,
					  u32 *ret_frame_id)
{
	u32 frame_id = FRAME_ID_UNNAMED, idx;
	const struct code_info *info;
	bool lineless;
	s32 line = 0;
	int err = find_code(cache, source, frame, &idx);

	if (err == -ENOSPC) {
		*ret_frame_id = FRAME_ID_FOLDED;
		return FRAME_NAMED;
	}
	if (err) {
		if (!frame->fingerprint && is_static(frame->code, source) &&
		    (source->layout->traits & PY_TRAIT_STATIC_SHIM))
			return FRAME_HIDDEN;
		*ret_frame_id = FRAME_ID_UNNAMED;
		return FRAME_UNNAMED;
	}
	info = code_store_at(cache->store, idx);
	if (info->hidden) {
		memo_put(set, source->epoch, frame, instr_off, FRAME_ID_HIDDEN, idx);
		return FRAME_HIDDEN;
	}
	lineless = line_of(cache, source, info, instr_off, &line) != 0;
	err = frame_of(cache, info, line, &frame_id);
	if (err && err != -ENOSPC) {
		*ret_frame_id = FRAME_ID_UNNAMED;
		return FRAME_UNNAMED;
	}
	memo_put(set, source->epoch, frame, instr_off, frame_id, idx | (lineless ? MEMO_LINELESS : 0));
	*ret_frame_id = frame_id;
	return lineless ? FRAME_LINELESS : FRAME_NAMED;
}

enum frame_name_result code_cache_name(struct code_cache *cache, const struct code_source *source,
				       const struct py_frame *frame, u32 *ret_frame_id)
{
	s32 instr_off = cache->no_lines ? 0 : frame->instr_off;
	struct memo_entry *set = cache->memo[memo_idx(cache, source->epoch, frame, instr_off)];

	for (int way = 0; way < MEMO_WAYS; way++) {
		if (!memo_equal(&set[way], source->epoch, frame, instr_off) || !frame->code)
			continue;
		cache->stats.hits++;
		code_store_touch(cache->store, set[way].code_idx & ~MEMO_LINELESS);
		if (set[way].frame_id == FRAME_ID_HIDDEN)
			return FRAME_HIDDEN;
		*ret_frame_id = set[way].frame_id;
		return set[way].code_idx & MEMO_LINELESS ? FRAME_LINELESS : FRAME_NAMED;
	}
	return name_slowly(cache, source, frame, instr_off, set, ret_frame_id);
}
