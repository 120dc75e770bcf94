/* SPDX-License-Identifier: Apache-2.0 */
/* What this kernel, these privileges and this build allow: a table of features, each probed by trying it,
 * never by comparing version numbers.
 */
#ifndef PANOPY_KERNEL_FEATURES_H
#define PANOPY_KERNEL_FEATURES_H

#include <stdbool.h>
#include <stddef.h>

#include "exit_codes.h"
#include "shared_types.h"

enum feature_id {
	FEATURE_PROC, /* the first: nothing else is probed without it */
	/* privileges */
	FEATURE_CAP_BPF,
	FEATURE_CAP_PERFMON,
	FEATURE_CAP_SYS_PTRACE,
	FEATURE_CAP_DAC_READ_SEARCH,
	FEATURE_CAP_CHECKPOINT_RESTORE,
	FEATURE_CAP_SYS_RESOURCE,
	FEATURE_HOST_PID_NAMESPACE,
	FEATURE_REMOTE_READ,
	FEATURE_MAP_FILES,
	FEATURE_LOCKDOWN,
	/* essential kernel parts */
	FEATURE_ARCHITECTURE,
	FEATURE_KERNEL_BTF,
	FEATURE_BPF_LOAD,
	FEATURE_PERF_EVENT_PROG,
	FEATURE_CPU_CLOCK,
	FEATURE_RING_BUFFER,
	FEATURE_PROCESS_TRACEPOINTS,
	/* the rest */
	FEATURE_MMAP_RECORDS,
	FEATURE_BPF_JIT,
	FEATURE_BPF_LOOP,
	FEATURE_MAY_GOTO,
	FEATURE_TASK_PT_REGS,
	FEATURE_TASK_WORK,
	FEATURE_CGROUP_SELECTION,
	FEATURE_BPF_MEMORY_ACCOUNTING,
	FEATURE_PERF_PARANOID,
	FEATURE_SAMPLE_RATE_LIMIT,
	FEATURE_CPU_TIME_LIMIT,
	FEATURE_IDLE_WAKEUPS,
	FEATURE_TRACEFS,
	FEATURE_BPFFS,
	FEATURE_CGROUPS,
	FEATURE_BUILD,
	FEATURE_COUNT
};

enum feature_state {
	FEATURE_STATE_UNPROBED = 0,
	FEATURE_STATE_PRESENT,
	FEATURE_STATE_LIMITED, /* there, with a limit that `detail` names */
	FEATURE_STATE_MISSING,
	FEATURE_STATE_INFO, /* neither good nor bad; `detail` says how it is */
};

enum feature_weight {
	FEATURE_ESSENTIAL_HOST,	     /* missing: record exits with EXIT_CODE_FAILURE */
	FEATURE_ESSENTIAL_PRIVILEGE, /* missing: record exits with EXIT_CODE_PRIVILEGE */
	FEATURE_ESSENTIAL_KERNEL,    /* missing: record exits with EXIT_CODE_KERNEL */
	FEATURE_OPTIONAL,
};

enum { FEATURE_DETAIL_SZ = 160 };

struct feature_result {
	enum feature_state state;
	/* MISSING because trying it was not permitted: a privilege, not the kernel, is to blame. */
	bool denied;
	char detail[FEATURE_DETAIL_SZ]; /* what was found; may be empty */
};

struct features {
	struct feature_result results[FEATURE_COUNT];
};

/* What the table says of a feature; fixed texts. */
struct feature_info {
	const char *name; /* identifier in JSON */
	const char *title;
	enum feature_weight weight;
	const char *lost; /* what is lost without it */
	const char *fix;  /* the smallest fix */
};

const struct feature_info *features_info(enum feature_id id);
/* The smallest fix in view of what was found: the privilege where that is what kept a part from being
 * tried. */
const char *features_fix(const struct features *features, enum feature_id id);

/* Probes what `record` cannot do without: some ten system calls and four tiny programs, a few ms. */
void features_probe_essential(struct features *ret_features);
/* Probes everything; loads the kernel's BTF (tens of ms). `rate_hz`: what will be asked of perf. */
void features_probe_all(struct features *ret_features, u32 rate_hz);

/* EXIT_CODE_OK when record can run; else the code of the first weight that something is missing of, and one
 * sentence that names what failed and the smallest fix. Unprobed features are not held against it. */
enum exit_code features_check_essential(const struct features *features, char *ret_message, size_t sz);

#endif
