/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/features.h"

#include <stdio.h>
#include <string.h>

#include "kernel/bpf_probes.h"
#include "kernel/host_probes.h"
#include "kernel/perf_probes.h"

struct entry {
	struct feature_info info;
	void (*probe)(struct feature_result *ret_result); /* NULL: probe() knows */
};

#define RUN_WITH_SUDO "run panopy with sudo"

static const struct entry ENTRIES[FEATURE_COUNT] = {
	[FEATURE_PROC] =
		{
			.info = {"proc", "/proc", FEATURE_ESSENTIAL_HOST, "processes cannot be seen",
				 "mount -t proc proc /proc"},
			.probe = probe_proc,
		},
	[FEATURE_CAP_BPF] =
		{
			.info = {"cap_bpf", "CAP_BPF", FEATURE_ESSENTIAL_PRIVILEGE, "nothing can be recorded",
				 RUN_WITH_SUDO},
			.probe = probe_cap_bpf,
		},
	[FEATURE_CAP_PERFMON] =
		{
			.info = {"cap_perfmon", "CAP_PERFMON", FEATURE_ESSENTIAL_PRIVILEGE,
				 "nothing can be recorded", RUN_WITH_SUDO},
			.probe = probe_cap_perfmon,
		},
	[FEATURE_CAP_SYS_PTRACE] =
		{
			.info = {"cap_sys_ptrace", "CAP_SYS_PTRACE", FEATURE_OPTIONAL,
				 "processes of other users are not found", RUN_WITH_SUDO},
			.probe = probe_cap_sys_ptrace,
		},
	[FEATURE_CAP_DAC_READ_SEARCH] =
		{
			.info = {"cap_dac_read_search", "CAP_DAC_READ_SEARCH", FEATURE_OPTIONAL,
				 "interpreter files that only their user may read are refused",
				 RUN_WITH_SUDO},
			.probe = probe_cap_dac_read_search,
		},
	[FEATURE_CAP_CHECKPOINT_RESTORE] =
		{
			.info = {"cap_checkpoint_restore", "CAP_CHECKPOINT_RESTORE", FEATURE_OPTIONAL,
				 "map_files cannot be opened", RUN_WITH_SUDO},
			.probe = probe_cap_checkpoint_restore,
		},
	[FEATURE_CAP_SYS_RESOURCE] =
		{
			.info = {"cap_sys_resource", "CAP_SYS_RESOURCE", FEATURE_OPTIONAL,
				 "the memlock limit cannot be raised; matters before Linux 5.11 only",
				 "add the capability, or raise the limit with ulimit -l"},
			.probe = probe_cap_sys_resource,
		},
	[FEATURE_HOST_PID_NAMESPACE] =
		{
			.info = {"host_pid_namespace", "the host's pid namespace",
				 FEATURE_ESSENTIAL_PRIVILEGE, "processes cannot be told apart",
				 "run panopy on the host, or its container with --pid=host"},
			.probe = probe_host_pid_namespace,
		},
	[FEATURE_REMOTE_READ] =
		{
			{"remote_read", "reading other processes' memory", FEATURE_OPTIONAL,
			 "what the kernel side could not read stays truncated or unnamed",
			 "add CAP_SYS_PTRACE; with Yama: sysctl kernel.yama.ptrace_scope=1 (3 needs a "
			 "reboot)"},
			.probe = probe_remote_read,
		},
	[FEATURE_MAP_FILES] =
		{
			.info = {"map_files", "/proc/PID/map_files", FEATURE_OPTIONAL,
				 "deleted or replaced interpreter files are refused",
				 "add CAP_CHECKPOINT_RESTORE"},
			.probe = probe_map_files,
		},
	[FEATURE_LOCKDOWN] =
		{
			.info = {"lockdown", "kernel lockdown allows reading", FEATURE_OPTIONAL,
				 "BPF programs may not read kernel memory",
				 "boot with lockdown=integrity or none"},
			.probe = probe_lockdown,
		},
	[FEATURE_ARCHITECTURE] =
		{
			.info = {"architecture", "architecture", FEATURE_ESSENTIAL_KERNEL,
				 "nothing can be recorded", "use an x86_64 or aarch64 kernel and its panopy"},
			.probe = probe_architecture,
		},
	[FEATURE_KERNEL_BTF] =
		{
			.info = {"kernel_btf", "the kernel's BTF", FEATURE_ESSENTIAL_KERNEL,
				 "BPF programs cannot be fitted to this kernel",
				 "use a kernel built with CONFIG_DEBUG_INFO_BTF=y, and mount /sys"},
			.probe = probe_kernel_btf,
		},
	[FEATURE_BPF_LOAD] =
		{
			.info = {"bpf_load", "loading BPF programs", FEATURE_ESSENTIAL_KERNEL,
				 "nothing can be recorded", "use a kernel built with CONFIG_BPF_SYSCALL=y"},
			.probe = probe_bpf_load,
		},
	[FEATURE_PERF_EVENT_PROG] =
		{
			.info = {"perf_event_prog", "BPF programs on perf events", FEATURE_ESSENTIAL_KERNEL,
				 "nothing can be sampled", "use a kernel built with CONFIG_BPF_EVENTS=y"},
			.probe = probe_perf_event_prog,
		},
	[FEATURE_CPU_CLOCK] =
		{
			.info = {"cpu_clock", "the cpu-clock perf event on every process",
				 FEATURE_ESSENTIAL_KERNEL, "nothing can be sampled",
				 "use a kernel built with CONFIG_PERF_EVENTS=y"},
			.probe = probe_cpu_clock,
		},
	[FEATURE_RING_BUFFER] =
		{
			.info = {"ring_buffer", "BPF ring buffers", FEATURE_ESSENTIAL_KERNEL,
				 "samples cannot be handed over", "use Linux 5.8 or newer"},
			.probe = probe_ring_buffer,
		},
	[FEATURE_PROCESS_TRACEPOINTS] =
		{
			.info = {"process_tracepoints", "fork, exec and exit tracepoints",
				 FEATURE_ESSENTIAL_KERNEL, "processes cannot be followed",
				 "use a kernel built with CONFIG_TRACEPOINTS=y"},
			.probe = probe_process_tracepoints,
		},
	[FEATURE_MMAP_RECORDS] =
		{
			.info = {"mmap_records", "mapping records of perf", FEATURE_OPTIONAL,
				 "an interpreter that is mapped late is found later",
				 "raise kernel.perf_event_mlock_kb"},
			.probe = probe_mmap_records,
		},
	[FEATURE_BPF_JIT] =
		{
			.info = {"bpf_jit", "compiled BPF programs", FEATURE_OPTIONAL,
				 "sampling costs several times as much", "sysctl net.core.bpf_jit_enable=1"},
			.probe = probe_bpf_jit,
		},
	[FEATURE_BPF_LOOP] =
		{
			.info = {"bpf_loop", "bpf_loop (Linux 5.17)", FEATURE_OPTIONAL,
				 "the start takes a tenth of a second longer", "use Linux 5.17 or newer"},
			.probe = probe_bpf_loop,
		},
	[FEATURE_MAY_GOTO] =
		{
			.info = {"may_goto", "may_goto loops (Linux 6.9)", FEATURE_OPTIONAL,
				 "the start takes a tenth of a second longer", "use Linux 6.9 or newer"},
			.probe = probe_may_goto,
		},
	[FEATURE_TASK_PT_REGS] =
		{
			.info = {"task_pt_regs", "bpf_task_pt_regs (Linux 5.15)", FEATURE_OPTIONAL,
				 "a check of samples taken inside system calls is left out",
				 "use a newer kernel"},
			.probe = probe_task_pt_regs,
		},
	[FEATURE_TASK_WORK] =
		{
			.info = {"task_work", "BPF task work (Linux 6.18)", FEATURE_OPTIONAL,
				 "stacks whose memory is not resident are completed late",
				 "use a newer kernel"},
			.probe = probe_task_work,
		},
	[FEATURE_CGROUP_SELECTION] =
		{
			.info = {"cgroup_selection", "selection by cgroup in the kernel", FEATURE_OPTIONAL,
				 "--cgroup, --unit, --container and --pod cannot be used",
				 "use a kernel built with CONFIG_CGROUPS=y"},
			.probe = probe_cgroup_selection,
		},
	[FEATURE_BPF_MEMORY_ACCOUNTING] =
		{
			.info = {"bpf_memory", "room for BPF maps", FEATURE_OPTIONAL,
				 "buffers are smaller, and a busy host may fill them",
				 "ulimit -l unlimited, or use Linux 5.11 or newer"},
			.probe = probe_bpf_memory_accounting,
		},
	[FEATURE_PERF_PARANOID] =
		{
			.info = {"perf_event_paranoid", "perf_event_paranoid", FEATURE_OPTIONAL, "", ""},
			.probe = probe_perf_paranoid,
		},
	[FEATURE_SAMPLE_RATE_LIMIT] =
		{
			.info = {"max_sample_rate", "perf_event_max_sample_rate", FEATURE_OPTIONAL,
				 "the kernel throttles higher rates; the ticks count as not delivered",
				 "sysctl kernel.perf_event_max_sample_rate=100000"},
		},
	[FEATURE_CPU_TIME_LIMIT] =
		{
			.info = {"cpu_time_max_percent", "perf_cpu_time_max_percent", FEATURE_OPTIONAL, "",
				 ""},
			.probe = probe_cpu_time_limit,
		},
	[FEATURE_IDLE_WAKEUPS] =
		{
			.info = {"idle_wakeups", "wake-ups of idle CPUs", FEATURE_OPTIONAL, "", ""},
			.probe = probe_idle_wakeups,
		},
	[FEATURE_TRACEFS] =
		{
			.info = {"tracefs", "tracefs", FEATURE_OPTIONAL, "", ""},
			.probe = probe_tracefs,
		},
	[FEATURE_BPFFS] =
		{
			.info = {"bpffs", "bpffs", FEATURE_OPTIONAL, "", ""},
			.probe = probe_bpffs,
		},
	[FEATURE_CGROUPS] =
		{
			.info = {"cgroups", "cgroups", FEATURE_OPTIONAL, "", ""},
			.probe = probe_cgroups,
		},
	[FEATURE_BUILD] =
		{
			.info = {"build", "this build", FEATURE_OPTIONAL, "", ""},
			.probe = probe_build,
		},
};

const struct feature_info *features_info(enum feature_id id)
{
	return &ENTRIES[id].info;
}

const char *features_fix(const struct features *features, enum feature_id id)
{
	return features->results[id].denied ? RUN_WITH_SUDO : ENTRIES[id].info.fix;
}

static void probe(struct features *features, enum feature_id id, u32 rate_hz)
{
	struct feature_result *result = &features->results[id];

	/* Capabilities and namespaces are read there, and would seem to be missing. */
	if (features->results[FEATURE_PROC].state == FEATURE_STATE_MISSING)
		return;
	if (id == FEATURE_SAMPLE_RATE_LIMIT)
		probe_sample_rate_limit(result, rate_hz);
	else
		ENTRIES[id].probe(result);
}

void features_probe_essential(struct features *ret_features)
{
	*ret_features = (struct features){0};
	for (int id = 0; id < FEATURE_COUNT; id++)
		if (ENTRIES[id].info.weight != FEATURE_OPTIONAL)
			probe(ret_features, id, 0);
}

void features_probe_all(struct features *ret_features, u32 rate_hz)
{
	*ret_features = (struct features){0};
	for (int id = 0; id < FEATURE_COUNT; id++)
		probe(ret_features, id, rate_hz);
}

/* The titles of everything missing of that weight: a user wants to fix them in one go. The return value
 * is the first of them, FEATURE_COUNT when there is none. */
static enum feature_id list_missing(const struct features *features, enum feature_weight weight, char *buf,
				    size_t sz)
{
	enum feature_id first = FEATURE_COUNT;
	size_t used = 0;

	buf[0] = '\0';
	for (int id = 0; id < FEATURE_COUNT; id++) {
		if (ENTRIES[id].info.weight != weight || features->results[id].state != FEATURE_STATE_MISSING)
			continue;
		if (first == FEATURE_COUNT)
			first = id;
		used += (size_t)snprintf(buf + used, sz - used, "%s%s", used ? ", " : "",
					 ENTRIES[id].info.title);
		if (used >= sz)
			break;
	}
	return first;
}

enum exit_code features_check_essential(const struct features *features, char *ret_message, size_t sz)
{
	const struct feature_result *result;
	char missing[256];
	enum feature_id id;

	id = list_missing(features, FEATURE_ESSENTIAL_HOST, missing, sizeof(missing));
	if (id != FEATURE_COUNT) {
		snprintf(ret_message, sz, "%s %s: %s", missing, features->results[id].detail,
			 ENTRIES[id].info.fix);
		return EXIT_CODE_FAILURE;
	}
	id = list_missing(features, FEATURE_ESSENTIAL_PRIVILEGE, missing, sizeof(missing));
	if (id != FEATURE_COUNT) {
		snprintf(ret_message, sz, "missing privilege: %s (%s): %s", missing,
			 features->results[id].detail, ENTRIES[id].info.fix);
		return EXIT_CODE_PRIVILEGE;
	}
	id = list_missing(features, FEATURE_ESSENTIAL_KERNEL, missing, sizeof(missing));
	if (id == FEATURE_COUNT)
		return EXIT_CODE_OK;
	result = &features->results[id];
	if (result->denied) {
		/* All capabilities are there, and still it was refused. */
		snprintf(ret_message, sz, "not permitted: %s (%s)%s", missing, result->detail,
			 strstr(result->detail, "memlock") ? ""
							   : ": a seccomp filter or security module of this "
							     "container or host forbids it, so "
							     "run panopy outside of it");
		return EXIT_CODE_PRIVILEGE;
	}
	snprintf(ret_message, sz, "this kernel lacks: %s%s%s%s: %s", missing, result->detail[0] ? " (" : "",
		 result->detail, result->detail[0] ? ")" : "", ENTRIES[id].info.fix);
	return EXIT_CODE_KERNEL;
}
