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

enum {
	REFRESH_MS = 100,
	/* What runs in a new cgroup within that time may be missed: it is 20 ms at most. */
	AWAIT_MS = 20,
};

/* The directory may be another cgroup's by now: the next look will find that one. */
static int put_dir(struct session *session, const struct cgroup_slot *slot, u32 idx)
{
	CLEANUP_FD int fd = open(slot->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || st.st_ino != slot->id)
		return 0;
	return cgroup_slots_put_dir(bpf_loader_cgroup_dirs_fd(session->loader), idx, fd);
}

static int subsys_id(struct session *session, const struct cgroup_slot *slot, u32 idx)
{
	s32 *known = &session->subsys_ids[idx];
	int id;

	if (!*known) {
		id = cgroup_slots_subsys_id(slot->hierarchy->controller);
		if (id < 0)
			return id;
		*known = id + 1;
	}
	return *known - 1;
}

static int fill_slot(struct session *session, const struct cgroup_slot *slot, u32 idx,
		     struct selection_cgroup *ret_entry)
{
	struct selection_cgroup entry = {
		.kind = slot->rule->is_excluded ? SELECTION_KIND_EXCLUDED : slot->rule->kind,
		.id = slot->id,
	};
	int id, err = 0;

	if (slot->id && slot->hierarchy->is_v2) {
		entry.hierarchy = SELECTION_HIERARCHY_V2;
		err = put_dir(session, slot, idx);
	} else if (slot->id && slot->hierarchy->controller[0]) {
		entry.hierarchy = SELECTION_HIERARCHY_CONTROLLER;
		id = subsys_id(session, slot, idx);
		entry.number = id < 0 ? 0 : (u32)id;
		err = id < 0 ? id : 0;
	} else if (slot->id) {
		entry.hierarchy = SELECTION_HIERARCHY_NAMED;
		entry.number = slot->hierarchy->id;
	}
	*ret_entry = entry;
	return err;
}

static int publish(struct session *session)
{
	struct selection_cgroups cgroups = {};
	size_t cnt;
	const struct cgroup_slot *slots = selection_slots(session->options->selection, &cnt);
	int err = 0;

	if (!slots)
		return 0;
	cgroups.cnt = (u32)cnt;
	for (u32 i = 0; !err && i < cnt; i++) {
		err = fill_slot(session, &slots[i], i, &cgroups.slots[i]);
		log_debug(LOG_TOPIC_KERNEL, "cgroup %u: %s, id %llu", i,
			  slots[i].dir ? slots[i].dir : "not there", (unsigned long long)slots[i].id);
	}
	return err ?: cgroup_slots_put(bpf_loader_selection_cgroups_fd(session->loader), &cgroups);
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
	selection_refresh(session->options->selection, now);
}

/* The signals are blocked, and the loop that reads them does not run yet. */
void session_await_selection(struct session *session)
{
	const struct timespec step = {.tv_nsec = AWAIT_MS * CLOCK_NS_PER_MS};
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	if (!selection_is_ready(session->options->selection))
		log_info(LOG_TOPIC_MAIN, "waiting for the cgroup to appear");
	while (!session->stop && !selection_is_ready(session->options->selection)) {
		if (sigtimedwait(&signals, NULL, &step) >= 0)
			session->stop = SESSION_STOP_INTERRUPTED;
		selection_refresh(session->options->selection, clock_monotonic_ns());
	}
}
