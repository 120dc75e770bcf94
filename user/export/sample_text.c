/* SPDX-License-Identifier: Apache-2.0 */
#include "export/sample_text.h"

#include <stddef.h>

struct words {
	const char *name;
	const char *text;
};

static const struct words unknown = {"unknown", "unknown"};

static const struct words statuses[SAMPLE_STATUS_COUNT] = {
	[SAMPLE_EXACT] = {"exact", "exact"},
	[SAMPLE_COMPLETED] = {"completed", "completed"},
	[SAMPLE_LATE] = {"late", "late"},
	[SAMPLE_TRUNCATED] = {"truncated", "truncated"},
	[SAMPLE_NONE] = {"none", "no python frame"},
};

static const struct words reasons[SAMPLE_REASON_COUNT] = {
	[SAMPLE_REASON_NONE] = {"none", ""},
	[SAMPLE_REASON_BUDGET] = {"budget", "frame budget"},
	[SAMPLE_REASON_PAGE_FAULT] = {"page_fault", "page fault"},
	[SAMPLE_REASON_BAD_POINTER] = {"bad_pointer", "bad pointer"},
	[SAMPLE_REASON_CYCLE] = {"cycle", "cycle"},
	[SAMPLE_REASON_MID_TRANSITION] = {"mid_transition", "mid-transition"},
	[SAMPLE_REASON_FINALIZING] = {"finalizing", "finalizing"},
	[SAMPLE_REASON_AMBIGUOUS_STATE] = {"ambiguous_state", "ambiguous thread state"},
	[SAMPLE_REASON_NO_FRAMES] = {"no_frames", "no frames"},
	[SAMPLE_REASON_NO_THREAD_STATE] = {"no_thread_state", "no thread state"},
	[SAMPLE_REASON_NOT_INITIALIZED] = {"not_initialized", "not initialized"},
	[SAMPLE_REASON_IN_EXEC] = {"in_exec", "in exec or exit"},
	[SAMPLE_REASON_STATE_FAULT] = {"state_fault", "thread state fault"},
	[SAMPLE_REASON_THREAD_SCAN] = {"thread_scan", "too many threads to search"},
};

static const struct words *find(const struct words *table, size_t cnt, size_t value)
{
	return value < cnt && table[value].name ? &table[value] : &unknown;
}

const char *sample_status_name(enum sample_status status)
{
	return find(statuses, SAMPLE_STATUS_COUNT, (size_t)status)->name;
}

const char *sample_status_text(enum sample_status status)
{
	return find(statuses, SAMPLE_STATUS_COUNT, (size_t)status)->text;
}

const char *sample_reason_name(enum sample_reason reason)
{
	return find(reasons, SAMPLE_REASON_COUNT, (size_t)reason)->name;
}

const char *sample_reason_text(enum sample_reason reason)
{
	return find(reasons, SAMPLE_REASON_COUNT, (size_t)reason)->text;
}
