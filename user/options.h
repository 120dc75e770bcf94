/* SPDX-License-Identifier: Apache-2.0 */
/* The command line. One table drives parsing, the help texts and the shell completion; no other module
 * parses command line text. The result is const after options_parse().
 */
#ifndef PANOPY_OPTIONS_H
#define PANOPY_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/log.h"
#include "shared_types.h"

enum options_command {
	OPTIONS_COMMAND_HELP, /* print the help of `help_of` and exit 0 */
	OPTIONS_COMMAND_VERSION,
	OPTIONS_COMMAND_COMPLETION, /* print the bash completion */
	OPTIONS_COMMAND_RECORD,
	OPTIONS_COMMAND_PS,
	OPTIONS_COMMAND_DOCTOR,
	OPTIONS_COMMAND_COUNT
};

enum options_per {
	OPTIONS_PER_PROCESS,   /* root frame `comm (pid)` */
	OPTIONS_PER_THREAD,    /* that and `thread NAME (tid)` */
	OPTIONS_PER_CONTAINER, /* its name or id, `host` outside of any: equal programs in it merge */
	OPTIONS_PER_CGROUP,    /* its path; the same */
	OPTIONS_PER_USER,      /* its name; the same */
	OPTIONS_PER_NONE,      /* no root frame of ours: equal programs merge */
};

enum {
	OPTIONS_RATE_DEFAULT_HZ = 99,
	/* Past this the interrupts alone cost a CPU more than a profile is worth: 50 us between ticks. */
	OPTIONS_RATE_MAX_HZ = 20000,
	/* Pids named on one command line. More is a list that some script got wrong. */
	OPTIONS_MAX_PIDS = 4096,
};

struct selection;

struct options {
	enum options_command command;
	enum options_command help_of; /* HELP: RECORD, PS, DOCTOR, or HELP for the whole */

	/* record, ps */
	pid_t *pids; /* unique, in the order given; pid_cnt 0: every Python process */
	size_t pid_cnt;
	char **argv;	 /* `-- command args`, NULL-terminated; NULL when not given. Not owned. */
	u64 duration_ns; /* 0: until Ctrl-C */
	u64 period_ns;	 /* CPU time between two samples of a CPU: 50,000 to 1,000,000,000 */
	u32 rate_hz;	 /* the same, rounded to Hz; at least 1 */
	char *output;	 /* "-" for stdout; NULL with --split alone; owned */
	char *split;	 /* folder of one file for each value of `per`, or NULL; owned */
	bool output_is_default;
	enum options_per per;
	bool full_paths;
	bool lines;		     /* --no-lines turns it off */
	bool subprocesses;	     /* --no-subprocesses turns it off */
	struct selection *selection; /* what else was asked for; NULL: nothing. Owned */
	bool wait;		     /* for a cgroup of it to appear */
	char *summary;		     /* path, "-" for stdout, or NULL */
	bool strict;
	double strict_percent; /* 0 to 100; bad samples up to this share are allowed */
	u32 kernel_frames;     /* of one stack, read in the interrupt; 0: as many as there is room for */
	bool stats;
	u64 stats_interval_ns; /* 0: at the end only */

	/* ps, doctor */
	bool json;

	/* all */
	bool quiet;
	unsigned int verbosity; /* times -v was given */
	enum log_color color;
	int argc; /* the whole command line as it was given, for the record's metadata */
	char **full_argv;
};

enum { OPTIONS_ERROR_SZ = 512 };

/* 0, or -EINVAL with one sentence for the user in `ret_error`, or -ENOMEM. `argv` must outlive the
 * result. options_release() takes what options_parse() filled, failed or not. */
int options_parse(struct options *ret_options, int argc, char **argv, char ret_error[OPTIONS_ERROR_SZ]);
void options_release(struct options *options);

/* The log level that -q and -v ask for. */
enum log_level options_log_level(const struct options *options);

void options_print_help(FILE *out, enum options_command help_of);
void options_print_completion(FILE *out);

#endif
