/* SPDX-License-Identifier: Apache-2.0 */
#include "stop_signals.h"

#include <stddef.h>

#include "base/atomic_file.h"

static bool is_ignored(int number)
{
	struct sigaction action;

	return !sigaction(number, NULL, &action) && action.sa_handler == SIG_IGN;
}

void stop_signals_set(sigset_t *ret_signals)
{
	sigemptyset(ret_signals);
	sigaddset(ret_signals, SIGTERM);
	if (!is_ignored(SIGINT))
		sigaddset(ret_signals, SIGINT);
	if (!is_ignored(SIGHUP))
		sigaddset(ret_signals, SIGHUP);
}

void stop_signals_block(void)
{
	sigset_t signals;

	stop_signals_set(&signals);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, NULL);
}

static void on_abort(int number)
{
	atomic_file_abort();
	raise(number);
}

static void catch_signals(void (*handler)(int), int flags)
{
	const struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	sigaction(SIGTERM, &action, NULL);
	if (!is_ignored(SIGINT))
		sigaction(SIGINT, &action, NULL);
}

/* It asks for what is being done already. */
static void on_first(int number)
{
	(void)number;
	catch_signals(on_abort, SA_RESETHAND);
}

void stop_signals_abort(bool had_first)
{
	sigset_t signals;

	if (had_first)
		catch_signals(on_abort, SA_RESETHAND);
	else
		catch_signals(on_first, SA_RESTART);
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_UNBLOCK, &signals, NULL);
}
