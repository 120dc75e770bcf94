/* SPDX-License-Identifier: Apache-2.0 */
/* The cgroups that are selected, on their way from the selection to the kernel side. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "kernel/cgroup_slots.h"
#include "session_internal.h"
#include "stop_signals.h"

enum {
	REFRESH_MS = 100,
	/* A --cgroup that appears is seen within that time; units, containers and pods take a search
	 * (cgroup_selection.c): 200 ms, and 1 s where names of containers are asked for. What runs in a new cgroup
	 * meanwhile is missed. */
	AWAIT_MS = 20,
};

/* The directory may be another cgroup's by now (-ENOENT): the next look will find that one. */
static int put_dir(struct session *session, const struct cgroup_slot *slot, u32 idx)
{
	CLEANUP_FD int fd = open(slot->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || st.st_ino != slot->id)
		return -ENOENT;
	return cgroup_slots_put_dir(bpf_loader_cgroup_dirs_fd(session->loader), idx, fd);
}

/* Slots come and go; a hierarchy stays. */
static int subsys_id(struct session *session, const struct cgroup_hierarchy *hierarchy)
{
	struct known_subsys *known;
	int id;

	for (size_t i = 0; i < session->subsystem_cnt; i++) {
		if (session->subsystems[i].hierarchy_id == hierarchy->id)
			return session->subsystems[i].id;
	}
	id = cgroup_slots_subsys_id(hierarchy->controller);
	if (id < 0 || session->subsystem_cnt == CGROUP_HIERARCHIES_MAX)
		return id;
	known = &session->subsystems[session->subsystem_cnt++];
	*known = (struct known_subsys){.hierarchy_id = hierarchy->id, .id = id};
	return id;
}

static int describe(struct session *session, const struct cgroup_slot *slot,
		    struct selection_cgroup *ret_entry)
{
	struct selection_cgroup entry = {.id = slot->id};
	int id = 0;

	if (slot->rule)
		entry.kind = slot->rule->is_excluded ? SELECTION_KIND_EXCLUDED : slot->rule->kind;
	if (slot->id && slot->hierarchy->is_v2) {
		entry.hierarchy = SELECTION_HIERARCHY_V2;
	} else if (slot->id && slot->hierarchy->controller[0]) {
		entry.hierarchy = SELECTION_HIERARCHY_CONTROLLER;
		id = subsys_id(session, slot->hierarchy);
		entry.number = id < 0 ? 0 : (u32)id;
	} else if (slot->id) {
		entry.hierarchy = SELECTION_HIERARCHY_NAMED;
		entry.number = slot->hierarchy->id;
	}
	if (id < 0)
		entry.id = 0;
	*ret_entry = entry;
	return id < 0 ? id : 0;
}

/* A slot gets its directory, and its rule's kind, while it counts for nothing: or a sample in between could be taken
 * for the old rule in the new cgroup. */
static int replace_slots(struct session *session, const struct cgroup_slot *slots,
			 struct selection_cgroups *cgroups)
{
	int fd = bpf_loader_selection_cgroups_fd(session->loader);
	struct selection_cgroups between = *cgroups;
	int err = 0, first = 0;

	for (u32 i = 0; i < cgroups->cnt; i++) {
		if (memcmp(&cgroups->slots[i], &session->published.slots[i], sizeof(cgroups->slots[i])) != 0)
			between.slots[i].id = 0;
	}
	err = cgroup_slots_put(fd, &between);
	if (err)
		return err;
	for (u32 i = 0; i < cgroups->cnt; i++) {
		struct selection_cgroup *entry = &cgroups->slots[i];

		if (between.slots[i].id || !entry->id || entry->hierarchy != SELECTION_HIERARCHY_V2)
			continue;
		err = put_dir(session, &slots[i], i);
		if (err)
			entry->id = 0;
		if (err != -ENOENT)
			first = first ?: err;
	}
	session->published = *cgroups;
	return cgroup_slots_put(fd, cgroups) ?: first;
}

/* One that fails leaves the others as they should be. */
static int publish(struct session *session)
{
	struct selection_cgroups cgroups = {};
	size_t cnt;
	const struct cgroup_slot *slots = selection_slots(session->options->selection, &cnt);
	int err, first = 0;

	if (!slots)
		return 0;
	cgroups.cnt = (u32)cnt;
	for (u32 i = 0; i < cnt; i++) {
		err = describe(session, &slots[i], &cgroups.slots[i]);
		first = first ?: err;
		log_debug(LOG_TOPIC_KERNEL, "cgroup %u: %s, id %llu", i,
			  slots[i].dir ? slots[i].dir : "not there", (unsigned long long)slots[i].id);
	}
	err = replace_slots(session, slots, &cgroups);
	return first ?: err;
}

static void on_change(void *ctx)
{
	int err = publish(ctx);

	if (err)
		log_warning(LOG_TOPIC_KERNEL,
			    "a cgroup that came cannot be handed to the kernel: %s, ignoring",
			    strerror(-err));
}

int session_publish_selection(struct session *session)
{
	if (session->options->selection)
		selection_on_change(session->options->selection, on_change, session);
	return publish(session);
}

void session_refresh_selection(struct session *session, u64 now)
{
	if (now - session->refreshed_ns < REFRESH_MS * CLOCK_NS_PER_MS)
		return;
	session->refreshed_ns = now;
	selection_refresh(session->options->selection, now, false);
	selection_warn(session->options->selection);
}

/* The signals are blocked, and the loop that reads them does not run yet. */
void session_await_selection(struct session *session)
{
	const struct timespec step = {.tv_nsec = AWAIT_MS * CLOCK_NS_PER_MS};
	sigset_t signals;

	stop_signals_set(&signals);
	if (!selection_is_ready(session->options->selection))
		log_info(LOG_TOPIC_MAIN, "waiting for the cgroup to appear");
	while (!session->stop && !selection_is_ready(session->options->selection)) {
		if (sigtimedwait(&signals, NULL, &step) >= 0)
			session->stop = SESSION_STOP_INTERRUPTED;
		selection_refresh(session->options->selection, clock_monotonic_ns(), true);
	}
}
