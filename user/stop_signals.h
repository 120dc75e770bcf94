/* SPDX-License-Identifier: Apache-2.0 */
/* The signals that end a recording: SIGINT, SIGTERM and SIGHUP. SIGINT and SIGHUP stay ignored where they
 * were when panopy was started (nohup, the background jobs of a script).
 */
#ifndef PANOPY_STOP_SIGNALS_H
#define PANOPY_STOP_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

void stop_signals_set(sigset_t *ret_signals);
/* They and SIGCHLD are read from a descriptor while the recording runs. */
void stop_signals_block(void);
/* While the last samples are taken in and written, SIGINT and SIGTERM abort: the second one. A recording that
 * ended by itself has not had the first one yet. */
void stop_signals_abort(bool had_first);

#endif
