/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "commands.h"
#include "exit_codes.h"
#include "options.h"

/* Text that went to a full disk or a closed pipe is not a success. */
static int finish_stdout(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	if (errno != EPIPE)
		log_error(LOG_TOPIC_MAIN, "standard output could not be written: %s", strerror(errno));
	return status ? status : EXIT_CODE_FAILURE;
}

static int run(struct options *options)
{
	switch (options->command) {
	case OPTIONS_COMMAND_RECORD:
		return command_record(options);
	case OPTIONS_COMMAND_PS:
		return command_ps(options);
	case OPTIONS_COMMAND_DOCTOR:
		return command_doctor(options);
	case OPTIONS_COMMAND_VERSION:
		printf("panopy %s\n", PANOPY_VERSION);
		break;
	case OPTIONS_COMMAND_COMPLETION:
		options_print_completion(stdout);
		break;
	default:
		options_print_help(stdout, options->help_of);
	}
	return EXIT_CODE_OK;
}

/* Where a standard stream came closed, the next file that is opened would take its number, and the text
 * that is meant for the stream. What stands there now refuses to be read and written, and a command does
 * not inherit it. */
static void hold_standard_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && open("/", O_PATH | O_CLOEXEC) < 0)
			_exit(EXIT_CODE_FAILURE);
	}
}

int main(int argc, char **argv)
{
	char error[OPTIONS_ERROR_SZ];
	struct options options;
	int status = EXIT_CODE_USAGE;
	int err;

	hold_standard_streams();
	err = options_parse(&options, argc, argv, error);
	log_init(options_log_level(&options), options.color);
	if (err == -EINVAL)
		log_error(LOG_TOPIC_MAIN, "%s", error);
	else if (err)
		log_error(LOG_TOPIC_MAIN, "the command line could not be read: %s", strerror(-err));
	else
		status = finish_stdout(run(&options));
	options_release(&options);
	return status;
}
