/* SPDX-License-Identifier: Apache-2.0 */
#include "walker.h"

#include <bpf/bpf_helpers.h>
#include <stdbool.h>
#include <string.h>

/* In place of config.bpf.h, whose settings are read-only data: user space writes them at load. */
#define PANOPY_CONFIG_BPF_H
#include "sampler_config.h"
static struct sampler_config cfg = {.hash_key = 0x243f6a8885a308d3ULL, .wakeup_bytes = 65536, .cpu_cnt = 1};

#include "../../bpf/stack_take.bpf.h"

SHARED_ASSERT((int)WALKER_REGISTERS == (int)WALK_REGISTERS, "as many registers as the walker looks at");

enum { CODE_RECORD_MAX_SZ = sizeof(((struct walk_scratch *)0)->code_record) };

/* The maps' values and what the helpers need to know: the walker reaches them without a parameter. */
static struct {
	struct walk_scratch scratches[WALKER_CPUS];
	u32 cpu;
	u64 stats[BPF_STAT_COUNT];
	struct sent_bucket sent_codes[SENT_BUCKETS];
	struct thread_slot thread_slot; /* of the one thread */
	walker_read_fn read;
	void *ctx;
	size_t read_cnt;
	size_t code_cnt;
	_Alignas(8) u8 codes[WALKER_CODES][CODE_RECORD_MAX_SZ];
} g_kernel;

long bpf_probe_read_user(void *dst, u32 sz, const void *addr)
{
	g_kernel.read_cnt++;
	if (!g_kernel.read(g_kernel.ctx, (u64)(uintptr_t)addr, dst, sz))
		return 0;
	memset(dst, 0, sz);
	return -14;
}

void *bpf_map_lookup_elem(const void *map, const void *key)
{
	u32 idx = *(const u32 *)key;

	if (map == &scratches)
		return idx < WALKER_CPUS ? &g_kernel.scratches[idx] : NULL;
	if (map == &stats)
		return idx < BPF_STAT_COUNT ? &g_kernel.stats[idx] : NULL;
	if (map == &thread_slots)
		return &g_kernel.thread_slot;
	if (map == &sent_codes)
		return idx < SENT_BUCKETS ? &g_kernel.sent_codes[idx] : NULL;
	if (map == &sample_rings)
		return &sample_rings;
	return NULL;
}

u32 bpf_get_smp_processor_id(void)
{
	return g_kernel.cpu;
}

u64 bpf_ringbuf_query(void *ring, u64 flags)
{
	(void)ring;
	return flags == BPF_RB_RING_SIZE ? 1 << 20 : 0;
}

long bpf_ringbuf_output(void *ring, void *data, u64 sz, u64 flags)
{
	(void)ring;
	(void)flags;
	if (g_kernel.code_cnt == WALKER_CODES || sz > CODE_RECORD_MAX_SZ)
		return -12;
	memcpy(g_kernel.codes[g_kernel.code_cnt++], data, sz);
	return 0;
}

/* As sample_take() of sampler.bpf.c, which also needs the kernel's own types. */
static void begin(struct walk_scratch *s, const struct walker_input *input)
{
	struct walk *w = &s->walk;
	u64 sequence = w->sequence + 1;

	memset(w, 0, sizeof(*w));
	w->sequence = sequence;
	w->scratch_id = input->cpu;
	w->frame_limit = input->kernel_frames ? input->kernel_frames : LIMIT_SAMPLE_FRAMES;
	stack_begin(w, input->layout, input->epoch, input->runtime_addr);
	w->task_id = input->task_id;
	w->id_is_native = !!input->id_is_native;
	w->user_sp = input->user_sp;
	memset(scratch_sample(s), 0, sizeof(struct sample_record));
	scratch_sample(s)->hdr.time_ns = input->time_ns;
}

static void take(struct walk_scratch *s, const struct walker_input *input)
{
	struct walk *w = &s->walk;
	int reason;

	if (!input->keep_slot)
		g_kernel.thread_slot = (struct thread_slot){0};
	if (input->tstate_hint)
		g_kernel.thread_slot = (struct thread_slot){.owner = thread_slot_owner(input->epoch, 1),
							    .tstate = input->tstate_hint};
	reason = stack_walk(s, 1);
	if (walk_is_suspended(w) && input->registers) {
		memcpy(w->registers, input->registers, sizeof(w->registers));
		walk_behind_suspended(s);
	}
	stack_finish(s, reason);
}

void walker_reset(void)
{
	memset(&g_kernel, 0, sizeof(g_kernel));
}

void walker_walk(const struct walker_input *input, struct walker_output *ret_output)
{
	struct walk_scratch *s = &g_kernel.scratches[input->cpu];
	struct walk *w = &s->walk;

	cfg.kernel_frames = input->kernel_frames ? input->kernel_frames : LIMIT_SAMPLE_FRAMES;
	cfg.compare = input->compare;
	g_kernel.cpu = input->cpu;
	g_kernel.read = input->read;
	g_kernel.ctx = input->ctx;
	g_kernel.read_cnt = 0;
	g_kernel.code_cnt = 0;
	memset(g_kernel.stats, 0, sizeof(g_kernel.stats));
	begin(s, input);
	take(s, input);
	*ret_output = (struct walker_output){
		.status = w->status,
		.reason = w->reason,
		.tstate = w->tstate,
		.resume_frame = w->status == SAMPLE_TRUNCATED ? w->frame : 0,
		.identity = stack_identity(w),
		.frame_cnt = w->frame_cnt,
		.visit_cnt = w->visit_cnt,
		.frames = scratch_frame(s, 0),
		.read_cnt = g_kernel.read_cnt,
		.fingerprint_reads = g_kernel.stats[BPF_STAT_FINGERPRINT_READS],
		.compared = g_kernel.stats[BPF_STAT_COMPARED],
		.compared_different = g_kernel.stats[BPF_STAT_COMPARED_DIFFERENT],
		.code_cnt = g_kernel.code_cnt,
	};
	for (size_t i = 0; i < g_kernel.code_cnt; i++)
		ret_output->codes[i] = (const struct code_record *)g_kernel.codes[i];
}
