/* SPDX-License-Identifier: Apache-2.0 */
/* Nearly valid code records into a small code cache, in exactly-sized buffers, and frames named from
 * them: bounds must hold and every frame gets an id that the frame table has.
 */
#include <stdio.h>
#include <string.h>

#include "fuzz_random.h"
#include "symbolize/code_cache.h"

enum { MAX_BYTES = 300, MAX_CODES = 16 };

static struct code_record *make_record(size_t *ret_sz)
{
	size_t byte_cnt = fuzz_random() % MAX_BYTES, left = byte_cnt,
	       sz = sizeof(struct code_record) + byte_cnt;
	struct code_record *record = calloc(1, sz);

	if (!record)
		abort();
	record->hdr = (struct record_header){.size = (u32)sz, .kind = RECORD_CODE};
	record->epoch = fuzz_random() % 3;
	record->code = 0x1000 + fuzz_random() % 32 * 16;
	record->fingerprint = fuzz_random() % 4;
	record->firstlineno = (s32)fuzz_random();
	record->flags = fuzz_random() % 4 ? 0 : fuzz_random();
	for (int part = 0; part < CODE_PART_COUNT; part++) {
		record->sz[part] = fuzz_random() % 8 ? (u32)(fuzz_random() % (left + 1)) : fuzz_random();
		left -= record->sz[part] <= left ? record->sz[part] : left;
		record->char_sz[part] = fuzz_random() % 16 ? (u8)(1u << fuzz_random() % 3) : 3;
	}
	fuzz_fill(record->bytes, byte_cnt);
	if (fuzz_random() % 2)
		for (size_t i = 0; i < byte_cnt; i++)
			record->bytes[i] = "/a.zip<py>\0;"[fuzz_random() % 12];
	if (!(fuzz_random() % 16))
		fuzz_mutate((u8 *)record, sz);
	*ret_sz = sz;
	return record;
}

static int name_frames(struct code_cache *cache, const struct code_source *source, struct frame_table *frames)
{
	for (int i = 0; i < 4; i++) {
		struct py_frame frame = {
			.code = 0x1000 + fuzz_random() % 32 * 16,
			.instr_off = (s32)(fuzz_random() % 64) - 2,
			.fingerprint = fuzz_random() % 4,
		};
		u32 id = 0xdeadbeef;
		enum frame_name_result result = code_cache_name(cache, source, &frame, &id);

		if (result != FRAME_HIDDEN && id >= frame_table_count(frames))
			return 1;
		if (result == FRAME_UNNAMED && id != FRAME_ID_UNNAMED)
			return 1;
	}
	return code_cache_stats(cache)->codes > MAX_CODES;
}

int main(int argc, char **argv)
{
	static const struct py_layout layout = {.version = 0x030d0000, .traits = PY_TRAIT_CODE_VERSION};
	struct frame_table *frames;
	struct code_cache *cache;
	int failed = 0;

	if (frame_table_new(&frames, 2000) ||
	    code_cache_new(&cache, &(struct code_cache_config){.frames = frames,
							       .max_codes = MAX_CODES,
							       .max_table_bytes = 4096}))
		return 1;
	for (long i = fuzz_rounds(argc, argv, 30000); i > 0 && !failed; i--) {
		struct code_source source = {
			.epoch = fuzz_random() % 3,
			.layout = &layout,
			.image_start = 0x1000,
			.image_end = 0x1040,
		};
		size_t sz;
		struct code_record *record = make_record(&sz);

		code_cache_on_record(cache, record, sz, &source);
		free(record);
		failed = name_frames(cache, &source, frames);
		if (!(fuzz_random() % 64))
			code_cache_forget(cache, fuzz_random() % 3);
		if (failed)
			fprintf(stderr, "round %ld from the end: a bound or an id is wrong\n", i);
	}
	/* Records must get in at all, or nothing was tested. */
	failed |= !code_cache_stats(cache)->hits || !code_cache_stats(cache)->evicted;
	code_cache_free(cache);
	frame_table_free(frames);
	return failed;
}
