/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/host_probes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/magic.h>

#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "base/text_file.h"
#include "discover/proc_scan.h"

/* Inode numbers of the initial namespaces (Linux include/linux/proc_ns.h). */
#define INITIAL_USER_NS_INO 0xEFFFFFFDu
#define INITIAL_PID_NS_INO  0xEFFFFFFCu

/* Of Linux 5.8 and 5.9; older libc headers lack them. */
enum {
	CAP_NUMBER_PERFMON = 38,
	CAP_NUMBER_BPF = 39,
	CAP_NUMBER_CHECKPOINT_RESTORE = 40,
};

static void set(struct feature_result *result, enum feature_state state, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void set(struct feature_result *result, enum feature_state state, const char *format, ...)
{
	va_list args;

	result->state = state;
	va_start(args, format);
	vsnprintf(result->detail, sizeof(result->detail), format, args);
	va_end(args);
}

/* Without a trailing newline. */
static int read_line(const char *path, char *buf, size_t sz)
{
	ssize_t got = text_file_read(path, buf, sz);

	if (got < 0)
		return (int)got;
	buf[strcspn(buf, "\n")] = '\0';
	return 0;
}

static u64 read_effective_caps(void)
{
	CLEANUP_FILE FILE *file = fopen("/proc/self/status", "re");
	unsigned long long caps = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "CapEff: %llx", &caps) == 1)
			break;
	return caps;
}

static bool is_namespace(const char *path, ino_t inode)
{
	struct stat stat_buf;

	return stat(path, &stat_buf) == 0 && stat_buf.st_ino == inode;
}

/* `substitute`: another capability that the kernel takes instead, or -1. */
static void probe_cap(struct feature_result *result, int cap, int substitute)
{
	u64 caps = read_effective_caps();
	bool has = caps & (1ULL << cap);

	if (!has && substitute >= 0)
		has = caps & (1ULL << substitute);
	if (access("/proc/self/ns", F_OK) < 0)
		set(result, FEATURE_STATE_MISSING,
		    "/proc is not that of this pid namespace, so that nothing is known of it");
	else if (!has)
		set(result, FEATURE_STATE_MISSING, "not in the effective set");
	else if (!is_namespace("/proc/self/ns/user", INITIAL_USER_NS_INO))
		/* bpf(2) and perf ask for capabilities in the initial user namespace. */
		set(result, FEATURE_STATE_MISSING, "only inside a user namespace, where it does not count");
	else
		set(result, FEATURE_STATE_PRESENT, "%s", "");
}

void probe_cap_bpf(struct feature_result *ret_result)
{
	probe_cap(ret_result, CAP_NUMBER_BPF, CAP_SYS_ADMIN);
}

void probe_cap_perfmon(struct feature_result *ret_result)
{
	probe_cap(ret_result, CAP_NUMBER_PERFMON, CAP_SYS_ADMIN);
}

void probe_cap_sys_ptrace(struct feature_result *ret_result)
{
	probe_cap(ret_result, CAP_SYS_PTRACE, -1);
}

void probe_cap_dac_read_search(struct feature_result *ret_result)
{
	probe_cap(ret_result, CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE);
}

void probe_cap_checkpoint_restore(struct feature_result *ret_result)
{
	probe_cap(ret_result, CAP_NUMBER_CHECKPOINT_RESTORE, CAP_SYS_ADMIN);
}

void probe_cap_sys_resource(struct feature_result *ret_result)
{
	probe_cap(ret_result, CAP_SYS_RESOURCE, -1);
}

void probe_host_pid_namespace(struct feature_result *ret_result)
{
	if (is_namespace("/proc/self/ns/pid", INITIAL_PID_NS_INO))
		set(ret_result, FEATURE_STATE_PRESENT, "%s", "");
	else
		set(ret_result, FEATURE_STATE_MISSING,
		    "this is another pid namespace: pids differ from the kernel's");
}

/* Reads address 1 of a process that is not ours: permission is checked before the address, so EFAULT
 * is the good answer (Linux mm/process_vm_access.c). */
void probe_remote_read(struct feature_result *ret_result)
{
	pid_t pid = getppid() > 0 ? getppid() : 1;
	struct iovec remote = {.iov_base = (void *)1, .iov_len = 1};
	char byte;
	struct iovec local = {.iov_base = &byte, .iov_len = 1};
	char scope[16];
	ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
	int err = got < 0 ? errno : 0;

	if (read_line("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope)))
		snprintf(scope, sizeof(scope), "none");
	if (err == 0 || err == EFAULT) {
		set(ret_result, FEATURE_STATE_PRESENT, "Yama scope: %s", scope);
		return;
	}
	set(ret_result, FEATURE_STATE_MISSING, "%s; Yama scope: %s", strerror(err), scope);
}

void probe_map_files(struct feature_result *ret_result)
{
	const char *folder = "/proc/self/map_files";
	DIR *dir = opendir(folder);
	struct dirent *entry = NULL;
	CLEANUP_FD int fd = -1;
	int err = errno;

	while (dir && (entry = readdir(dir)) && entry->d_name[0] == '.')
		;
	if (entry) {
		fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC);
		err = errno;
	}
	if (dir)
		closedir(dir);
	ret_result->denied = fd < 0 && (err == EPERM || err == EACCES);
	if (fd >= 0)
		set(ret_result, FEATURE_STATE_PRESENT, "%s", "");
	else
		set(ret_result, FEATURE_STATE_MISSING, "%s", strerror(err));
}

void probe_lockdown(struct feature_result *ret_result)
{
	char text[128];

	if (read_line("/sys/kernel/security/lockdown", text, sizeof(text)))
		set(ret_result, FEATURE_STATE_PRESENT, "no lockdown");
	else if (strstr(text, "[confidentiality]"))
		set(ret_result, FEATURE_STATE_MISSING, "lockdown is confidentiality");
	else
		set(ret_result, FEATURE_STATE_PRESENT, "lockdown is %s",
		    strstr(text, "[integrity]") ? "integrity" : "none");
}

void probe_proc(struct feature_result *ret_result)
{
	bool mounted = proc_scan_is_possible();

	set(ret_result, mounted ? FEATURE_STATE_PRESENT : FEATURE_STATE_MISSING, "%s",
	    mounted ? "" : "is not mounted");
}

void probe_architecture(struct feature_result *ret_result)
{
	struct utsname name;

	if (uname(&name) != 0)
		snprintf(name.machine, sizeof(name.machine), "unknown");
#if defined(__x86_64__)
	bool fits = strcmp(name.machine, "x86_64") == 0;
#elif defined(__aarch64__)
	bool fits = strcmp(name.machine, "aarch64") == 0;
#else
	bool fits = false;
#endif
	set(ret_result, fits ? FEATURE_STATE_PRESENT : FEATURE_STATE_MISSING, "%s", name.machine);
}

void probe_kernel_btf(struct feature_result *ret_result)
{
	const char *path = "/sys/kernel/btf/vmlinux";

	if (access(path, R_OK) == 0) {
		set(ret_result, FEATURE_STATE_PRESENT, "%s", path);
		return;
	}
	ret_result->denied = errno == EACCES || errno == EPERM;
	set(ret_result, FEATURE_STATE_MISSING, "%s: %s", path, strerror(errno));
}

void probe_bpf_jit(struct feature_result *ret_result)
{
	char text[16];

	if (read_line("/proc/sys/net/core/bpf_jit_enable", text, sizeof(text)))
		set(ret_result, FEATURE_STATE_INFO, "net.core.bpf_jit_enable cannot be read");
	else if (strcmp(text, "0") == 0)
		set(ret_result, FEATURE_STATE_MISSING, "net.core.bpf_jit_enable is 0");
	else
		set(ret_result, FEATURE_STATE_PRESENT, "%s", "");
}

static void probe_mount(struct feature_result *result, const char *path, long magic)
{
	struct statfs info;
	bool mounted = statfs(path, &info) == 0 && (long)info.f_type == magic;

	set(result, FEATURE_STATE_INFO, "%s at %s; panopy does not need it",
	    mounted ? "mounted" : "not mounted", path);
}

void probe_tracefs(struct feature_result *ret_result)
{
	probe_mount(ret_result, "/sys/kernel/tracing", TRACEFS_MAGIC);
}

void probe_bpffs(struct feature_result *ret_result)
{
	probe_mount(ret_result, "/sys/fs/bpf", BPF_FS_MAGIC);
}

void probe_cgroups(struct feature_result *ret_result)
{
	struct statfs info;
	const char *version = "none at /sys/fs/cgroup";

	if (statfs("/sys/fs/cgroup", &info) == 0) {
		if (info.f_type == CGROUP2_SUPER_MAGIC)
			version = "version 2";
		else if (info.f_type == TMPFS_MAGIC)
			version = access("/sys/fs/cgroup/unified", F_OK) == 0 ? "version 1, and 2 beside it"
									      : "version 1";
	}
	set(ret_result, FEATURE_STATE_INFO, "%s", version);
}

void probe_build(struct feature_result *ret_result)
{
	struct utsname name;

	if (uname(&name) != 0)
		snprintf(name.release, sizeof(name.release), "unknown");
	set(ret_result, FEATURE_STATE_INFO, "panopy %s, libbpf %s, kernel %s", PANOPY_VERSION,
	    libbpf_version_string() + 1, name.release);
}
