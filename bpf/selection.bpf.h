/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Whether the interrupted thread is one that is to be sampled: by its user and by its cgroups, as they are at
 * this tick. Settings that select nothing are known to the verifier, which then leaves all of this out.
 *
 * Version 2 by the helper that is made for it. Version 1 by the task's own css_set: each hierarchy with a
 * controller has its cgroup behind subsys[controller], and one that has only a name stands in the list of
 * links. The way up is each cgroup's own css and its parent (include/linux/cgroup-defs.h, the same from Linux
 * 5.10 to 6.18, where the arrays of ancestors changed in 6.1).
 */
#ifndef PANOPY_SELECTION_BPF_H
#define PANOPY_SELECTION_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "config.bpf.h"
#include "selection_config.h"

/* One value. Written by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct selection_cgroups);
} selection_cgroups SEC(".maps");

/* Directories of the slots of version 2. Written by user space; made only where one is used. */
struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, LIMIT_SELECTION_CGROUPS);
	__type(key, u32);
	__type(value, u32);
} cgroup_dirs SEC(".maps");

static __always_inline struct cgroup *cgroup_of_controller(struct css_set *css_set, u32 subsys_id)
{
	struct cgroup_subsys_state *css = NULL;

	bpf_probe_read_kernel(&css, sizeof(css), (void *)&css_set->subsys[0] + subsys_id * sizeof(css));
	return BPF_CORE_READ(css, cgroup);
}

/* The links of a css_set are made with it and freed with it (kernel/cgroup/cgroup.c, find_css_set and
 * put_css_set_locked), and the task holds it as long as it points to it: when it still does after the walk,
 * the links were valid. */
static __always_inline struct cgroup *cgroup_of_named(struct css_set *css_set, int hierarchy_id)
{
	const size_t link_off = bpf_core_field_offset(struct cgrp_cset_link, cgrp_link);
	struct list_head *head = &css_set->cgrp_links;
	struct list_head *at = BPF_CORE_READ(head, next);

	for (int i = 0; i < LIMIT_SELECTION_HIERARCHIES && at && at != head; i++) {
		struct cgrp_cset_link *link = (void *)at - link_off;
		struct cgroup *cgroup = BPF_CORE_READ(link, cgrp);

		if (BPF_CORE_READ(cgroup, root, hierarchy_id) == hierarchy_id)
			return cgroup;
		at = BPF_CORE_READ(at, next);
	}
	return NULL;
}

static __always_inline int cgroup_descends_from(struct cgroup *cgroup, u64 id)
{
	for (int i = 0; i < LIMIT_SELECTION_DEPTH && cgroup; i++) {
		struct cgroup_subsys_state *parent;

		if (BPF_CORE_READ(cgroup, kn, id) == id)
			return 1;
		parent = BPF_CORE_READ(cgroup, self.parent);
		cgroup = parent ? BPF_CORE_READ(parent, cgroup) : NULL;
	}
	return 0;
}

/* Whether the current task is in the cgroup of version 1 or below. A function of its own: the verifier walks
 * through it once. */
__noinline int selection_holds_v1(u64 id, u32 hierarchy, u32 number)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct css_set *css_set;
	struct cgroup *cgroup;
	int holds;

	/* Checked here, too: before Linux 6.8 the verifier walks through it even if nothing calls it, and a kernel
	 * without cgroups does not have these types. */
	if (!cfg.selection.uses_v1)
		return 0;
	css_set = BPF_CORE_READ(task, cgroups);
	if (hierarchy == SELECTION_HIERARCHY_CONTROLLER)
		cgroup = cgroup_of_controller(css_set, number);
	else
		cgroup = cgroup_of_named(css_set, number);
	holds = cgroup_descends_from(cgroup, id);
	/* Moved meanwhile: from now on it is elsewhere. */
	return holds && BPF_CORE_READ(task, cgroups) == css_set;
}

static __always_inline int selection_holds(const struct selection_cgroup *slot, u32 idx)
{
	if (!slot->id)
		return 0;
	if (cfg.selection.uses_v2 && slot->hierarchy == SELECTION_HIERARCHY_V2)
		return bpf_current_task_under_cgroup(&cgroup_dirs, idx) == 1;
	if (cfg.selection.uses_v1)
		return selection_holds_v1(slot->id, slot->hierarchy, slot->number);
	return 0;
}

__noinline int selection_admits_cgroups(void)
{
	u32 zero = 0, met = 0;
	struct selection_cgroups *cgroups = bpf_map_lookup_elem(&selection_cgroups, &zero);

	if (!cgroups)
		return 0;
	for (u32 i = 0; i < LIMIT_SELECTION_CGROUPS; i++) {
		const struct selection_cgroup *slot = &cgroups->slots[i];
		u32 kind = 1u << (slot->kind & 31);

		if (i >= cgroups->cnt)
			break;
		if ((met & kind) || !selection_holds(slot, i))
			continue;
		if (slot->kind == SELECTION_KIND_EXCLUDED)
			return 0;
		met |= kind;
	}
	return (met & cfg.selection.cgroup_kinds) == cfg.selection.cgroup_kinds;
}

__noinline int selection_admits_user(void)
{
	u32 uid = (u32)bpf_get_current_uid_gid();
	u32 cnt = cfg.selection.user_cnt;
	int admitted = !cnt;

	for (u32 i = 0; i < LIMIT_SELECTION_USERS; i++) {
		if (i >= cnt + cfg.selection.excluded_user_cnt)
			break;
		if (cfg.selection.users[i] != uid)
			continue;
		if (i >= cnt)
			return 0;
		admitted = 1;
	}
	return admitted;
}

static __always_inline int selection_admits(void)
{
	if ((cfg.selection.user_cnt || cfg.selection.excluded_user_cnt) && !selection_admits_user())
		return 0;
	if (cfg.selection.cgroup_kinds || cfg.selection.excludes_cgroups)
		return selection_admits_cgroups();
	return 1;
}

#endif
