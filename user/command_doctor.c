/* SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "doctor_report.h"
#include "exit_codes.h"
#include "kernel/features.h"
#include "options.h"

int command_doctor(const struct options *options)
{
	bool color = options->color == LOG_COLOR_ALWAYS || (log_use_color() && isatty(STDOUT_FILENO));
	struct features features;
	char message[512];
	int err;

	/* The highest rate that can be asked for. */
	features_probe_all(&features, OPTIONS_RATE_MAX_HZ);
	if (!options->json) {
		doctor_report_print(stdout, &features, color);
	} else {
		err = doctor_report_print_json(stdout, &features);
		if (err) {
			log_error(LOG_TOPIC_MAIN, "the report could not be written: %s", strerror(-err));
			return EXIT_CODE_FAILURE;
		}
	}
	return features_check_essential(&features, message, sizeof(message));
}
