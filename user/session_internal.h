/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording is made of; for session.c (the loop), session_samples.c (from records to the profile)
 * and session_build.c (building and tearing down) only.
 */
#ifndef PANOPY_SESSION_INTERNAL_H
#define PANOPY_SESSION_INTERNAL_H

#include "aggregate/known_stacks.h"
#include "awaited_stack.h"
#include "deferred_repeats.h"
#include "kernel/bpf_loader.h"
#include "kernel/mapping_events.h"
#include "kernel/perf_timers.h"
#include "kernel/ring_reader.h"
#include "late_stack.h"
#include "session.h"
#include "target_table.h"

enum {
	MAX_COMPLETED_FRAMES = 100000,
	MAX_STACK_FRAMES = AWAITED_STACK_FRAMES + MAX_COMPLETED_FRAMES,
};

/* The kernel's cgroup_subsys_id of a hierarchy's controller. */
struct known_subsys {
	u32 hierarchy_id;
	int id;
};

struct session {
	const struct options *options;
	struct bpf_loader *loader;
	struct perf_timers *timers;
	struct ring_reader *rings;
	size_t event_ring;
	struct mapping_events *mappings;
	struct target_table *targets;
	struct late_stacks *late;
	struct awaited_stacks *awaited;
	struct code_cache *codes;
	struct profile *profile;
	struct known_stacks *stacks;
	struct deferred_repeats *deferred;
	u32 *frame_ids; /* of the sample at hand */
	int epoll_fd;
	int signal_fd;
	pid_t child;
	int child_status;
	bool child_ended;
	bool rescan;
	u64 events_dropped; /* as last read */
	bool listens_anew;  /* the mapping events of a CPU could not be opened: again in a second */
	bool has_warned_of_cpus;
	bool undecided;	     /* processes are looked at again soon */
	u64 mappings_due_ns; /* when mappings may wake the loop again; 0: they may */
	u64 looks_until_ns;  /* when looking at processes has to let other work be done */
	bool looks_wait;     /* more wait to be looked at */
	bool scans;	     /* looks at all processes */
	u64 scanned_ns;	     /* when it last had */
	u64 turn_ns;	     /* when it last let other work be done */
	enum session_stop stop;
	u64 begun_ns;	/* panopy was started */
	u64 started_ns; /* the timers were started; 0: not yet */
	u64 start_real_ns;
	u64 stopped_ns;
	u64 startup_user_ns; /* own CPU time until every process that was there had been looked at */
	u64 startup_system_ns;
	u64 second_ns;	  /* the last time the once-a-second work was done */
	u64 refreshed_ns; /* the last time that the cgroups of the selection were looked at */
	struct selection_cgroups published; /* what the kernel side has of the selection */
	struct known_subsys subsystems[CGROUP_HIERARCHIES_MAX];
	size_t subsystem_cnt;
	u64 stats_ns; /* the last time that --stats was printed */
	u64 losses[SUMMARY_LOSS_COUNT];
	struct remote_mem_stats remote_reads;
};

/* Looks for processes that are there already (target_table.h says how), and does what else is due in between. */
int session_scan(struct session *session, pid_t *ret_missing);
/* Between two looks of a scan; false: the recording ends. */
bool session_goes_on(void *session);

/* Takes in one record of a sample ring, `sz` bytes as it came. */
void session_on_record(struct session *session, const void *data, size_t sz);
/* Each time that the rings were read: what refers to a stack that was not known by then is tried again, and
 * lost if it was before. */
void session_settle_repeats(struct session *session);

/* Samples from before `time_ns` do not await their stack any longer: they are counted as cut short. */
void session_expire_awaited(struct session *session, u64 time_ns);

/* Waits until a cgroup of each kind that is selected is there, or a signal ends it. */
void session_await_selection(struct session *session);
/* Hands the cgroups that are selected to the kernel side, now and whenever they change. */
int session_publish_selection(struct session *session);
/* Looks whether they changed, every 100 ms. */
void session_refresh_selection(struct session *session, u64 now);

/* Panopy's own CPU time so far, its workers' included; the sum. */
u64 session_own_cpu_ns(u64 *ret_user_ns, u64 *ret_system_ns);
/* What the recording says of itself while it runs: the progress line, and --stats=SECONDS. */
void session_draw_progress(struct session *session, u64 now);
void session_print_stats(struct session *session, u64 now);

#endif
