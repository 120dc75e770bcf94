/* SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"

const char *progress_format(char *buf, size_t sz, const struct progress_values *values)
{
	unsigned int seconds = (unsigned int)(values->elapsed_ns / CLOCK_NS_PER_S);
	unsigned int whole = (unsigned int)(values->duration_ns / CLOCK_NS_PER_S);
	char own[32] = "";
	char time[32];

	if (whole)
		snprintf(time, sizeof(time), "%u/%u s", seconds, whole);
	else
		snprintf(time, sizeof(time), "%u s", seconds);
	/* Before that the cost of starting up would look like a rate. */
	if (seconds)
		snprintf(own, sizeof(own), "  own CPU %.1f %%",
			 100.0 * (double)values->own_cpu_ns / (double)values->running_ns);
	snprintf(buf, sz, "%s  %zu process%s  %zu thread%s  %llu samples  %llu lost%s%s", time,
		 values->processes, values->processes == 1 ? "" : "es", values->threads,
		 values->threads == 1 ? "" : "s", (unsigned long long)values->samples,
		 (unsigned long long)values->lost, own, whole ? "" : "  (Ctrl-C ends)");
	return buf;
}

void progress_draw(const struct progress_values *values, bool quiet)
{
	char line[160];

	if (!quiet)
		log_status_line(progress_format(line, sizeof(line), values));
}

void progress_clear(void)
{
	log_status_line(NULL);
}
