/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Settings that user space writes before the sampler is loaded. The defaults load as they are. */
#ifndef PANOPY_CONFIG_BPF_H
#define PANOPY_CONFIG_BPF_H

#include <bpf/bpf_helpers.h>

#include "sampler_config.h"

const volatile struct sampler_config cfg SEC(SAMPLER_CONFIG_SECTION) = {
	.hash_key = 0x243f6a8885a308d3ULL,
	.period_ns = 10101010,
	.kernel_frames = LIMIT_SAMPLE_FRAMES,
	.kernel_stack_sz = 16384,
	.wakeup_bytes = 65536,
	.cpu_cnt = 1,
};

#endif
