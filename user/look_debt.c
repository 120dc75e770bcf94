/* SPDX-License-Identifier: Apache-2.0 */
#include "look_debt.h"

#include "base/clock.h"

enum {
	OWED_MAX_NS = 100 * CLOCK_NS_PER_MS,
	/* So much of the time that passes is paid off with. */
	SHARE = 50,
};

static u64 owed(const struct look_debt *debt, pid_t pid, u64 now_ns)
{
	u64 paid = now_ns > debt->at_ns ? (now_ns - debt->at_ns) / SHARE : 0;

	return debt->pid == pid && debt->owed_ns > paid ? debt->owed_ns - paid : 0;
}

bool look_debts_hold(const struct look_debts *debts, pid_t pid, u64 now_ns)
{
	return owed(&debts->slots[(u32)pid % LOOK_DEBT_SLOTS], pid, now_ns) >= OWED_MAX_NS;
}

void look_debts_note(struct look_debts *debts, pid_t pid, u64 took_ns, u64 now_ns)
{
	struct look_debt *debt = &debts->slots[(u32)pid % LOOK_DEBT_SLOTS];

	*debt = (struct look_debt){.pid = pid, .owed_ns = owed(debt, pid, now_ns) + took_ns, .at_ns = now_ns};
}
