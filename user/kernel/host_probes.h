/* SPDX-License-Identifier: Apache-2.0 */
/* Probes that read /proc and /sys: privileges, namespaces, mounts. One per feature of the same name in
 * kernel/features.h; none keeps anything open.
 */
#ifndef PANOPY_KERNEL_HOST_PROBES_H
#define PANOPY_KERNEL_HOST_PROBES_H

#include "kernel/features.h"

void probe_cap_bpf(struct feature_result *ret_result);
void probe_cap_perfmon(struct feature_result *ret_result);
void probe_cap_sys_ptrace(struct feature_result *ret_result);
void probe_cap_dac_read_search(struct feature_result *ret_result);
void probe_cap_checkpoint_restore(struct feature_result *ret_result);
void probe_cap_sys_resource(struct feature_result *ret_result);
void probe_host_pid_namespace(struct feature_result *ret_result);
void probe_remote_read(struct feature_result *ret_result);
void probe_map_files(struct feature_result *ret_result);
void probe_lockdown(struct feature_result *ret_result);
void probe_proc(struct feature_result *ret_result);
void probe_architecture(struct feature_result *ret_result);
void probe_kernel_btf(struct feature_result *ret_result);
void probe_bpf_jit(struct feature_result *ret_result);
void probe_tracefs(struct feature_result *ret_result);
void probe_bpffs(struct feature_result *ret_result);
void probe_cgroups(struct feature_result *ret_result);
void probe_build(struct feature_result *ret_result);

#endif
