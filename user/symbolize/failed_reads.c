/* SPDX-License-Identifier: Apache-2.0 */
/* Fixed tables, in which another key just takes the place: a code object that is forgotten so is read once more, and
 * a process gets some tries more. */
#include "symbolize/failed_reads.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "symbolize/code_store.h"

enum { CODES = 1 << 13, PROCESSES = 1 << 10 };

struct failed_code {
	struct code_key key;
	u64 until_ns;
};

struct failing_process {
	u64 epoch;
	u64 until_ns; /* end of the second in which `cnt` counts */
	u32 cnt;
};

struct failed_reads {
	u64 seed;
	struct failed_code codes[CODES];
	struct failing_process processes[PROCESSES];
};

int failed_reads_new(struct failed_reads **ret_reads)
{
	struct failed_reads *reads = calloc(1, sizeof(*reads));

	if (!reads)
		return -ENOMEM;
	reads->seed = hash_seed();
	*ret_reads = reads;
	return 0;
}

void failed_reads_free(struct failed_reads *reads)
{
	free(reads);
}

static size_t code_idx(const struct failed_reads *reads, const struct code_key *key)
{
	u64 hash = hash_mix(reads->seed, key->epoch);

	return hash_mix(hash_mix(hash, key->code), key->fingerprint) & (CODES - 1);
}

static size_t process_idx(const struct failed_reads *reads, u64 epoch)
{
	return hash_mix(reads->seed, epoch) & (PROCESSES - 1);
}

bool failed_reads_hold(const struct failed_reads *reads, const struct code_key *key, u64 now_ns)
{
	const struct failing_process *process = &reads->processes[process_idx(reads, key->epoch)];
	const struct failed_code *code = &reads->codes[code_idx(reads, key)];

	if (process->epoch == key->epoch && process->cnt >= FAILED_READS_LIMIT && now_ns < process->until_ns)
		return true;
	return code->key.epoch == key->epoch && code->key.code == key->code &&
	       code->key.fingerprint == key->fingerprint && now_ns < code->until_ns;
}

void failed_reads_note(struct failed_reads *reads, const struct code_key *key, u64 now_ns)
{
	struct failing_process *process = &reads->processes[process_idx(reads, key->epoch)];
	u64 until_ns = now_ns + FAILED_READS_HOLD_MS * CLOCK_NS_PER_MS;

	reads->codes[code_idx(reads, key)] = (struct failed_code){*key, until_ns};
	if (process->epoch != key->epoch || now_ns >= process->until_ns)
		*process = (struct failing_process){.epoch = key->epoch, .until_ns = until_ns};
	process->cnt++;
}
