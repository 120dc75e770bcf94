/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/bpf_probes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include "base/cleanup.h"

/* A ring of 64 KiB and its pages of administration; the limit is shared by all processes of the user. */
enum { PROBE_RING_MEMLOCK_KIB = 1024 };

static bool is_permission(int err)
{
	return err == -EPERM || err == -EACCES;
}

static void set_by_error(struct feature_result *result, int err)
{
	result->state = err < 0 ? FEATURE_STATE_MISSING : FEATURE_STATE_PRESENT;
	result->denied = is_permission(err);
	if (err < 0)
		snprintf(result->detail, sizeof(result->detail), "%s", strerror(-err));
}

/* ULLONG_MAX: no limit. */
static unsigned long long memlock_kib(void)
{
	struct rlimit limit = {0};

	getrlimit(RLIMIT_MEMLOCK, &limit);
	return limit.rlim_cur == RLIM_INFINITY ? ~0ULL : limit.rlim_cur / 1024;
}

static int open_instructions(enum bpf_prog_type type, const struct bpf_insn *insns, size_t cnt)
{
	int fd = bpf_prog_load(type, "panopy_probe", "Dual BSD/GPL", insns, cnt, NULL);

	return fd < 0 ? -errno : fd;
}

/* r0 = 0; exit */
static int open_program(enum bpf_prog_type type)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};

	return open_instructions(type, insns, sizeof(insns) / sizeof(insns[0]));
}

int probe_open_perf_program(void)
{
	return open_program(BPF_PROG_TYPE_PERF_EVENT);
}

void probe_bpf_load(struct feature_result *ret_result)
{
	CLEANUP_FD int fd = probe_open_perf_program();

	set_by_error(ret_result, fd);
}

void probe_ring_buffer(struct feature_result *ret_result)
{
	/* Ring sizes are whole pages and powers of two; 64 KiB is a page on some arm64 kernels. */
	CLEANUP_FD int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "panopy_probe", 0, 0, 65536, NULL);

	set_by_error(ret_result, fd < 0 ? -errno : 0);
	if (ret_result->denied && memlock_kib() < PROBE_RING_MEMLOCK_KIB)
		snprintf(ret_result->detail, sizeof(ret_result->detail),
			 "the memlock limit of %llu KiB leaves no room: raise it with `ulimit -l 8192`",
			 memlock_kib());
}

/* Attached through bpf(2) alone: no tracefs is involved. */
void probe_process_tracepoints(struct feature_result *ret_result)
{
	static const char *const NAMES[] = {"sched_process_fork", "sched_process_exec", "sched_process_exit"};
	CLEANUP_FD int program_fd = open_program(BPF_PROG_TYPE_RAW_TRACEPOINT);

	set_by_error(ret_result, program_fd);
	for (size_t i = 0; program_fd >= 0 && i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
		int fd = bpf_raw_tracepoint_open(NAMES[i], program_fd);

		if (fd < 0) {
			set_by_error(ret_result, -errno);
			return;
		}
		close(fd);
	}
}

static void probe_helper(struct feature_result *result, enum bpf_func_id helper)
{
	struct feature_result load = {0};
	int answer;

	/* libbpf takes any failure but "unknown func" for a yes. */
	probe_bpf_load(&load);
	if (load.state != FEATURE_STATE_PRESENT) {
		*result = load;
		return;
	}
	answer = libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, helper, NULL);
	result->state = answer == 1 ? FEATURE_STATE_PRESENT : FEATURE_STATE_MISSING;
}

void probe_bpf_loop(struct feature_result *ret_result)
{
	probe_helper(ret_result, BPF_FUNC_loop);
}

void probe_may_goto(struct feature_result *ret_result)
{
	enum { BPF_JCOND_CODE = 0xe0 }; /* Linux 6.9, include/uapi/linux/bpf.h */
	const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
		{.code = BPF_JMP | BPF_JCOND_CODE, .off = 1},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	CLEANUP_FD int fd =
		open_instructions(BPF_PROG_TYPE_PERF_EVENT, insns, sizeof(insns) / sizeof(insns[0]));

	set_by_error(ret_result, fd);
	ret_result->denied = ret_result->denied && fd != -EINVAL;
}

void probe_task_pt_regs(struct feature_result *ret_result)
{
	probe_helper(ret_result, BPF_FUNC_task_pt_regs);
}

/* The whole file of the kernel's BTF; NULL where it cannot be read. */
static char *btf_read(size_t *ret_sz)
{
	CLEANUP_FD int fd = open("/sys/kernel/btf/vmlinux", O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *bytes;

	if (fd < 0 || fstat(fd, &st))
		return NULL;
	bytes = malloc(st.st_size);
	for (*ret_sz = 0; bytes && *ret_sz < (size_t)st.st_size;) {
		ssize_t got = read(fd, bytes + *ret_sz, st.st_size - *ret_sz);

		if (got <= 0)
			break;
		*ret_sz += got;
	}
	return bytes;
}

/* A name among the BTF's strings, ends included: a tenth of the time that parsing all types takes. */
static bool btf_has_name(const char *bytes, size_t sz, const char *name, size_t name_sz)
{
	return memmem(bytes, sz, name, name_sz) != NULL;
}

enum sampler_task_work probe_task_work_kind(void)
{
	static const char PLAIN[] = "\0bpf_task_work_schedule_resume";
	static const char IMPL[] = "\0bpf_task_work_schedule_resume_impl";
	enum sampler_task_work kind = SAMPLER_TASK_WORK_NONE;
	size_t sz;
	char *bytes = btf_read(&sz);

	if (bytes && btf_has_name(bytes, sz, IMPL, sizeof(IMPL)))
		kind = SAMPLER_TASK_WORK_IMPL;
	else if (bytes && btf_has_name(bytes, sz, PLAIN, sizeof(PLAIN)))
		kind = SAMPLER_TASK_WORK_PLAIN;
	free(bytes);
	return kind;
}

void probe_task_work(struct feature_result *ret_result)
{
	ret_result->state = probe_task_work_kind() == SAMPLER_TASK_WORK_NONE ? FEATURE_STATE_MISSING
									     : FEATURE_STATE_PRESENT;
}

/* Version 2 needs the helper; the hierarchies of version 1 are read from the kernel's own structures. */
void probe_cgroup_selection(struct feature_result *ret_result)
{
	probe_helper(ret_result, BPF_FUNC_current_task_under_cgroup);
}

/* bpf_ktime_get_coarse_ns came with the same release as the accounting to memory cgroups (Linux 5.11),
 * which itself cannot be seen from outside. Programs of perf events may not call it; those on sockets may. */
void probe_bpf_memory_accounting(struct feature_result *ret_result)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_ktime_get_coarse_ns},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	CLEANUP_FD int fd =
		open_instructions(BPF_PROG_TYPE_SOCKET_FILTER, insns, sizeof(insns) / sizeof(insns[0]));

	set_by_error(ret_result, fd);
	if (ret_result->state == FEATURE_STATE_PRESENT || ret_result->denied)
		return;
	if (memlock_kib() == ~0ULL) {
		ret_result->state = FEATURE_STATE_PRESENT;
		snprintf(ret_result->detail, sizeof(ret_result->detail), "memlock limit: none");
		return;
	}
	ret_result->state = FEATURE_STATE_LIMITED;
	snprintf(ret_result->detail, sizeof(ret_result->detail),
		 "BPF maps count against the memlock limit, %llu KiB", memlock_kib());
}
