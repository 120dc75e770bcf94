/* SPDX-License-Identifier: Apache-2.0 */
/* The content fingerprint that tells two code objects at one address apart but in CPython 3.12
 * (co_version does that there). Pointers prove nothing there: strings and tables are recycled
 * along with the code object. So contents are hashed: first line, cached hash and length of the three
 * strings (their first bytes where the hash is not cached yet), size and first bytes of the location
 * table. 32 bits: two code objects made in turn at one address agree by chance once in 2^32.
 */
#ifndef PANOPY_FINGERPRINT_H
#define PANOPY_FINGERPRINT_H

#include "shared_limits.h"
#include "shared_types.h"

/* PyASCIIObject.hash while it has not been computed. */
#define FINGERPRINT_NO_HASH 0xffffffffffffffffULL

static inline u64 fingerprint_mix(u64 seed, u64 word)
{
	seed ^= word;
	seed *= 0x9e3779b97f4a7c15ULL;
	return seed ^ (seed >> 29);
}

/* 0 is kept for "not read". */
static inline u32 fingerprint_finish(u64 seed)
{
	u32 folded = (u32)(seed ^ (seed >> 32));

	return folded ? folded : 1;
}

/* Folds `FINGERPRINT_WORDS` words; bytes past the end of the data must be zero. */
enum { FINGERPRINT_WORDS = LIMIT_FINGERPRINT_LINETABLE_SZ / 8 };

static inline u64 fingerprint_mix_words(u64 seed, const u64 words[FINGERPRINT_WORDS])
{
	for (int i = 0; i < FINGERPRINT_WORDS; i++)
		seed = fingerprint_mix(seed, words[i]);
	return seed;
}

/* One string: its cached hash and length, and only where that hash is FINGERPRINT_NO_HASH the first
 * bytes of its characters (`words`, else not looked at). Never 0, which is kept for "not read": the
 * cached hash of the empty string is 0, and so is its length. */
static inline u64 fingerprint_text_digest(u64 hash, u64 length, const u64 words[FINGERPRINT_WORDS])
{
	u64 digest = fingerprint_mix(fingerprint_mix(0, hash), length);

	if (hash == FINGERPRINT_NO_HASH)
		digest = fingerprint_mix_words(digest, words);
	return digest ? digest : 1;
}

/* The order: fingerprint_mix(0, firstlineno), then mix the digests of name, qualname and filename, then
 * mix the size of the location table and mix_words its first 64 bytes. */

#endif
