/* SPDX-License-Identifier: Apache-2.0 */
/* In CPython 3.12 one read: the versions. Else two: the heads of the code objects, then of what
 * they point at. A string whose hash was not computed yet would need a third; those code objects (none of
 * them has been looked up by name ever) are read one by one.
 */
#include "symbolize/fingerprint_batch.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fingerprint.h"
#include "sample.h"
#include "symbolize/code_object.h"

enum {
	/* Code objects of one round. */
	ROUND_CODES = 1024,
	TEXTS = CODE_PART_FILENAME - CODE_PART_NAME + 1,
	MAX_SEGMENTS = ROUND_CODES * (TEXTS + 1),
	MAX_BYTES = ROUND_CODES * (TEXTS * LIMIT_UNICODE_SPAN + 256 + LIMIT_FINGERPRINT_LINETABLE_SZ),
};

struct code_head {
	bool is_read;
	u32 firstlineno;
	u64 texts[TEXTS];
	u64 linetable;
	int segments[TEXTS + 1]; /* of the second read */
};

struct fingerprint_batch {
	struct remote_batch *batch;
	struct code_head heads[ROUND_CODES];
};

int fingerprint_batch_new(struct fingerprint_batch **ret_batch)
{
	struct fingerprint_batch *batch = calloc(1, sizeof(*batch));
	int err;

	if (!batch)
		return -ENOMEM;
	err = remote_batch_new(&batch->batch, MAX_SEGMENTS, MAX_BYTES);
	if (err) {
		fingerprint_batch_free(batch);
		return err;
	}
	*ret_batch = batch;
	return 0;
}

void fingerprint_batch_free(struct fingerprint_batch *batch)
{
	if (batch)
		remote_batch_free(batch->batch);
	free(batch);
}

const struct remote_batch_stats *fingerprint_batch_stats(const struct fingerprint_batch *batch)
{
	return remote_batch_stats(batch->batch);
}

/* The `sz` bytes at `off` of a segment; false where they did not come. */
static bool take(const struct remote_batch *batch, int segment, size_t off, void *ret_value, size_t sz)
{
	size_t have = 0;
	const u8 *bytes = segment >= 0 ? remote_batch_bytes(batch, (size_t)segment, &have) : NULL;

	if (have < off || have - off < sz)
		return false;
	memcpy(ret_value, bytes + off, sz);
	return true;
}

static int read_versions(struct fingerprint_batch *batch, struct remote_mem *mem,
			 const struct py_layout *layout, const u64 *codes, size_t cnt, u32 *ret_fingerprints)
{
	int segments[ROUND_CODES], err;

	remote_batch_clear(batch->batch);
	for (size_t i = 0; i < cnt; i++)
		segments[i] = remote_batch_add(batch->batch, codes[i] + layout->code_version, sizeof(u32));
	err = remote_mem_read_batch(mem, batch->batch);
	for (size_t i = 0; i < cnt && !err; i++) {
		if (!take(batch->batch, segments[i], 0, &ret_fingerprints[i], sizeof(u32)))
			ret_fingerprints[i] = 0;
	}
	return err;
}

static int read_heads(struct fingerprint_batch *batch, struct remote_mem *mem, const struct py_layout *layout,
		      const u64 *codes, size_t cnt)
{
	const u16 text_offs[TEXTS] = {layout->code_name, layout->code_qualname, layout->code_filename};
	int segments[ROUND_CODES], err;

	remote_batch_clear(batch->batch);
	for (size_t i = 0; i < cnt; i++)
		segments[i] = remote_batch_add(batch->batch, codes[i], layout->code_sz);
	err = remote_mem_read_batch(mem, batch->batch);
	for (size_t i = 0; i < cnt && !err; i++) {
		struct code_head *head = &batch->heads[i];

		head->is_read = take(batch->batch, segments[i], layout->code_firstlineno, &head->firstlineno,
				     sizeof(head->firstlineno)) &&
				take(batch->batch, segments[i], layout->code_linetable, &head->linetable,
				     sizeof(head->linetable));
		for (int text = 0; text < TEXTS; text++)
			head->is_read &= take(batch->batch, segments[i], text_offs[text], &head->texts[text],
					      sizeof(head->texts[text]));
	}
	return err;
}

/* False: it needs more than was read, or did not come. */
static bool digest_text(const struct remote_batch *batch, int segment, const struct py_layout *layout,
			u64 *seed)
{
	static const u64 no_words[FINGERPRINT_WORDS];
	u64 hash, length;

	if (!take(batch, segment, layout->unicode_hash, &hash, sizeof(hash)) ||
	    !take(batch, segment, layout->unicode_length, &length, sizeof(length)) ||
	    hash == FINGERPRINT_NO_HASH)
		return false;
	*seed = fingerprint_mix(*seed, fingerprint_text_digest(hash, length, no_words));
	return true;
}

static bool digest_linetable(const struct remote_batch *batch, int segment, const struct py_layout *layout,
			     u64 *seed)
{
	u64 words[FINGERPRINT_WORDS] = {0};
	u64 sz;

	if (!take(batch, segment, layout->bytes_size, &sz, sizeof(sz)) ||
	    !take(batch, segment, layout->bytes_data, words, sz < sizeof(words) ? sz : sizeof(words)))
		return false;
	*seed = fingerprint_mix_words(fingerprint_mix(*seed, sz), words);
	return true;
}

static int read_contents(struct fingerprint_batch *batch, struct remote_mem *mem,
			 const struct py_layout *layout, const u64 *codes, size_t cnt, u32 *ret_fingerprints)
{
	size_t table_sz = layout->bytes_data + LIMIT_FINGERPRINT_LINETABLE_SZ;
	int err = read_heads(batch, mem, layout, codes, cnt);

	if (err)
		return err;
	remote_batch_clear(batch->batch);
	for (size_t i = 0; i < cnt; i++) {
		struct code_head *head = &batch->heads[i];

		for (int text = 0; text < TEXTS; text++)
			head->segments[text] =
				remote_batch_add(batch->batch, head->texts[text], layout->unicode_ascii_sz);
		head->segments[TEXTS] = remote_batch_add(batch->batch, head->linetable, table_sz);
	}
	err = remote_mem_read_batch(mem, batch->batch);
	for (size_t i = 0; i < cnt && !err; i++) {
		const struct code_head *head = &batch->heads[i];
		u64 seed = fingerprint_mix(0, head->firstlineno);
		bool is_read = head->is_read;

		for (int text = 0; text < TEXTS && is_read; text++)
			is_read = digest_text(batch->batch, head->segments[text], layout, &seed);
		is_read = is_read && digest_linetable(batch->batch, head->segments[TEXTS], layout, &seed);
		ret_fingerprints[i] = is_read ? fingerprint_finish(seed) : 0;
		if (!is_read && head->is_read &&
		    code_object_fingerprint(mem, layout, codes[i], &ret_fingerprints[i]))
			ret_fingerprints[i] = 0;
	}
	return err;
}

int fingerprint_batch_read(struct fingerprint_batch *batch, struct remote_mem *mem,
			   const struct py_layout *layout, const u64 *codes, size_t cnt,
			   u32 *ret_fingerprints)
{
	bool by_version = layout->traits & PY_TRAIT_CODE_VERSION;

	if (layout->code_sz > LIMIT_CODE_SPAN || layout->unicode_ascii_sz > LIMIT_UNICODE_SPAN)
		return -EINVAL;
	while (cnt) {
		size_t part = cnt < ROUND_CODES ? cnt : ROUND_CODES;
		int err = by_version ? read_versions(batch, mem, layout, codes, part, ret_fingerprints)
				     : read_contents(batch, mem, layout, codes, part, ret_fingerprints);

		if (err)
			return err;
		codes += part;
		ret_fingerprints += part;
		cnt -= part;
	}
	return 0;
}
