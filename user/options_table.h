/* SPDX-License-Identifier: Apache-2.0 */
/* The one table of options; shared by the parser, the help texts and the completion, and by nobody
 * else.
 */
#ifndef PANOPY_OPTIONS_TABLE_H
#define PANOPY_OPTIONS_TABLE_H

#include "options.h"

enum option_argument {
	OPTION_ARGUMENT_NONE,
	OPTION_ARGUMENT_REQUIRED,
	OPTION_ARGUMENT_OPTIONAL, /* only as --name=VALUE */
};

enum option_completion {
	OPTION_COMPLETION_NONE,
	OPTION_COMPLETION_FILE,
	OPTION_COMPLETION_PID,
	OPTION_COMPLETION_WORDS, /* `value` holds them, separated by | */
};

struct option_spec {
	const char *name;  /* without the dashes */
	char letter;	   /* 0: none */
	unsigned int cmds; /* set of OPTION_CMD() */
	enum option_argument argument;
	enum option_completion completion;
	const char *value; /* what the argument is called in the help */
	const char *help;
	/* 0, or -EINVAL/-ENOMEM with a sentence in `error` (OPTIONS_ERROR_SZ) unless -ENOMEM. `value` is
	 * NULL when there is none; `given` is the option as the user spelled it. */
	int (*apply)(struct options *options, const char *given, const char *value, char *error);
};

#define OPTION_CMD(command) (1u << (command))

enum {
	OPTION_CMDS_RECORD = OPTION_CMD(OPTIONS_COMMAND_RECORD),
	OPTION_CMDS_LISTS = OPTION_CMD(OPTIONS_COMMAND_PS) | OPTION_CMD(OPTIONS_COMMAND_DOCTOR),
	OPTION_CMDS_SELECT = OPTION_CMDS_RECORD | OPTION_CMD(OPTIONS_COMMAND_PS),
	OPTION_CMDS_ALL = OPTION_CMDS_RECORD | OPTION_CMDS_LISTS,
	/* Also without a command. */
	OPTION_CMDS_TOP = OPTION_CMD(OPTIONS_COMMAND_HELP),
};

struct command_spec {
	const char *name;
	enum options_command command;
	const char *synopsis; /* what follows "panopy NAME" */
	const char *help;     /* one line */
	const char *about;    /* the paragraphs of its own help */
};

/* Both end with an entry whose name is NULL. */
extern const struct option_spec OPTION_TABLE[];
extern const struct command_spec COMMAND_TABLE[];

#endif
