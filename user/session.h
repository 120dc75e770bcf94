/* SPDX-License-Identifier: Apache-2.0 */
/* One recording: owns every stage, builds them in order, runs the loop, hands out the result. */
#ifndef PANOPY_SESSION_H
#define PANOPY_SESSION_H

#include "export/summary.h"
#include "options.h"

struct session;

struct session_config {
	const struct options *options;
	pid_t child;	 /* `-- CMD`: started and waiting; 0 without */
	int child_go_fd; /* a byte written here lets it run; -1 without */
	u64 begun_ns;	 /* CLOCK_MONOTONIC: when panopy was started */
};

enum session_stop {
	SESSION_STOP_NONE = 0,
	SESSION_STOP_DURATION,
	SESSION_STOP_INTERRUPTED,
	SESSION_STOP_TARGETS_ENDED,
	SESSION_STOP_COMMAND_ENDED,
};

/* Loads and attaches everything. On failure one sentence for the user is in ret_message and the exit
 * code in *ret_exit_code. */
int session_open(struct session **ret_session, const struct session_config *config, char *ret_message,
		 size_t message_sz, int *ret_exit_code);
void session_close(struct session *session);

/* Until the duration is over, a signal comes, or the targets have ended. */
enum session_stop session_run(struct session *session);
/* Stops the timers and takes in what is still on its way. */
void session_finish(struct session *session);

/* Wait status of the child; false while it runs. */
bool session_child_status(const struct session *session, int *ret_status);

/* Everything that is known; pointers stay valid until session_close(). */
void session_summarize(struct session *session, struct summary *ret_summary);

#endif
