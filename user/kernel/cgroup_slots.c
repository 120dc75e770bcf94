/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/cgroup_slots.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

int cgroup_slots_put(int selection_cgroups_fd, const struct selection_cgroups *cgroups)
{
	u32 zero = 0;

	return bpf_map_update_elem(selection_cgroups_fd, &zero, cgroups, BPF_ANY) ? -errno : 0;
}

int cgroup_slots_put_dir(int cgroup_dirs_fd, u32 idx, int dir_fd)
{
	return bpf_map_update_elem(cgroup_dirs_fd, &idx, &dir_fd, BPF_ANY) ? -errno : 0;
}

static int find_value(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, "cgroup_subsys_id", BTF_KIND_ENUM);
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, id) : NULL;
	const struct btf_enum *values = type ? btf_enum(type) : NULL;

	for (int i = 0; type && i < btf_vlen(type); i++) {
		const char *known = btf__name_by_offset(btf, values[i].name_off);

		if (known && strcmp(known, name) == 0)
			return values[i].val;
	}
	return -ENOENT;
}

int cgroup_slots_subsys_id(const char *controller)
{
	/* The one whose name in version 1 is another (block/blk-cgroup.c, legacy_name). */
	const char *name = strcmp(controller, "blkio") == 0 ? "io" : controller;
	struct btf *btf = btf__load_vmlinux_btf();
	char value[64];
	int id;

	if (!btf)
		return -errno;
	snprintf(value, sizeof(value), "%s_cgrp_id", name);
	id = find_value(btf, value);
	btf__free(btf);
	return id;
}
