/* SPDX-License-Identifier: Apache-2.0 */
#include "discover/cgroup_hierarchy.h"
#include "discover/python_command.h"
#include "fuzz_driver.h"

static struct cgroup_hierarchies all;

static void check_hierarchy(const struct cgroup_hierarchy *hierarchy, const char *text)
{
	char path[PATH_MAX];
	const char *found;
	size_t sz = 0;

	if (hierarchy->mount[0] != '/' || strlen(hierarchy->mount) >= PATH_MAX ||
	    strlen(hierarchy->root) >= PATH_MAX)
		abort();
	found = cgroup_text_path(text, hierarchy->id, &sz);
	if (found && (found < text || found + sz > text + strlen(text)))
		abort();
	if (found && sz < PATH_MAX) {
		char copy[PATH_MAX];

		memcpy(copy, found, sz);
		copy[sz] = '\0';
		if (!cgroup_path_is_within(found, sz, copy))
			abort();
		cgroup_hierarchy_dir(hierarchy, copy, path);
		cgroup_hierarchy_path(hierarchy, copy, path);
	}
}

static bool is_covered(const char *mount, u64 id)
{
	return id && strlen(mount) % 7 == id % 7;
}

/* The first half is mountinfo, the rest a process's cgroups; all of it is arguments, too. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	size_t half = sz / 2, subject_sz = 0;
	char *mounts = strndup((const char *)data, half);
	char *cgroup = strndup((const char *)data + half, sz - half);
	const char *subject = python_command_subject((const char *)data, sz, &subject_sz);

	if (!mounts || !cgroup)
		abort();
	if (subject && (subject < (const char *)data || subject + subject_sz > (const char *)data + sz))
		abort();
	cgroup_hierarchies_decode(&all, mounts, cgroup, is_covered);
	if (all.cnt > CGROUP_HIERARCHIES_MAX)
		abort();
	for (size_t i = 0; i < all.cnt; i++)
		check_hierarchy(&all.list[i], cgroup);
	free(mounts);
	free(cgroup);
	return 0;
}

#ifndef PANOPY_LIBFUZZER
int main(void)
{
	/* Halves of one size. */
	static const char seed[] =
		"26 25 0:23 / /sys/fs/cgroup/cpu\\040x rw shared:5 master:2 - cgroup cgroup rw,cpu,cpuacct\n"
		"29 25 0:26 /a /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n"
		"12:memory:/m/x\n5:cpu,cpuacct:/docker/0123456789abcdef\n1:name=systemd:/s:colon\n"
		"0::/a/user.slice/user-1000.slice/session-1.scope/and/some/more/to/fill/the/half\n";

	fuzz_run(seed, sizeof(seed) - 1, 50000);
	return 0;
}
#endif
