/* SPDX-License-Identifier: Apache-2.0 */
/* The parser: long options by any unambiguous beginning, `--name=VALUE` or `--name VALUE`, letters that
 * may be joined (-qv, -p12). getopt_long is not used because its messages cannot say which options an
 * ambiguous or misspelled one may have meant, nor end in what to type instead.
 */
#include "options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/edit_distance.h"
#include "options_table.h"
#include "selection.h"

#define FAIL(error, ...) (snprintf(error, OPTIONS_ERROR_SZ, __VA_ARGS__), -EINVAL)

struct parser {
	struct options *options;
	char *error;
	int argc;
	char **argv;
	int next;	     /* index of the first word not yet looked at */
	const char *command; /* its name, or NULL before one was given */
};

/* --help and the like were given: what the rest of the line says no longer matters. */
static bool is_informational(const struct options *options)
{
	return options->command == OPTIONS_COMMAND_VERSION ||
	       options->command == OPTIONS_COMMAND_COMPLETION || options->help_of != OPTIONS_COMMAND_COUNT;
}

static bool is_accepted(const struct parser *parser, const struct option_spec *spec)
{
	return spec->cmds & OPTION_CMD(parser->options->command);
}

static const char *help_command(const struct parser *parser, char *buf, size_t sz)
{
	snprintf(buf, sz, "panopy%s%s --help", parser->command ? " " : "",
		 parser->command ? parser->command : "");
	return buf;
}

/* A spelling this far off is no longer taken for the same word. */
enum { MAX_EDITS = 2 };

static int fail_unknown_option(const struct parser *parser, const char *name)
{
	const struct option_spec *nearest = NULL;
	size_t nearest_distance = MAX_EDITS + 1;
	char help[64];

	for (const struct option_spec *spec = OPTION_TABLE; spec->name; spec++) {
		size_t distance = edit_distance(name, spec->name);

		if (is_accepted(parser, spec) && distance < nearest_distance) {
			nearest = spec;
			nearest_distance = distance;
		}
	}
	if (nearest)
		return FAIL(parser->error, "there is no option --%s: did you mean --%s?", name,
			    nearest->name);
	for (const struct option_spec *spec = OPTION_TABLE; spec->name; spec++)
		if (strcmp(name, spec->name) == 0 && !parser->command)
			return FAIL(parser->error,
				    "--%s stands before the command: write it after, as in "
				    "panopy record --%s",
				    name, name);
	return FAIL(parser->error, "there is no option --%s: %s lists them all", name,
		    help_command(parser, help, sizeof(help)));
}

/* Exact name first, then the only one that begins so. */
static int find_long(const struct parser *parser, const char *name, const struct option_spec **ret_spec)
{
	const struct option_spec *found = NULL;
	size_t sz = strlen(name);

	for (const struct option_spec *spec = OPTION_TABLE; spec->name; spec++) {
		if (is_accepted(parser, spec) && strcmp(spec->name, name) == 0) {
			*ret_spec = spec;
			return 0;
		}
	}
	for (const struct option_spec *spec = OPTION_TABLE; spec->name; spec++) {
		if (!is_accepted(parser, spec) || strncmp(spec->name, name, sz) != 0)
			continue;
		if (found)
			return FAIL(parser->error, "--%s can mean --%s or --%s: write it out", name,
				    found->name, spec->name);
		found = spec;
	}
	if (!found || sz == 0)
		return fail_unknown_option(parser, name);
	*ret_spec = found;
	return 0;
}

static int apply(struct parser *parser, const struct option_spec *spec, const char *given,
		 const char *attached)
{
	const char *value = attached;

	if (spec->argument == OPTION_ARGUMENT_REQUIRED && !value) {
		if (parser->next >= parser->argc || strcmp(parser->argv[parser->next], "--") == 0)
			return FAIL(parser->error, "%s needs a value: write %s %s", given, given,
				    spec->value);
		value = parser->argv[parser->next++];
	}
	return spec->apply(parser->options, given, value, parser->error);
}

static int parse_long(struct parser *parser, const char *word)
{
	const struct option_spec *spec;
	const char *equals = strchr(word, '=');
	char name[64];
	char given[80];
	int err;

	snprintf(name, sizeof(name), "%.*s", equals ? (int)(equals - word) : (int)strlen(word), word);
	err = find_long(parser, name, &spec);
	if (err)
		return err;
	snprintf(given, sizeof(given), "--%s", spec->name);
	if (equals && spec->argument == OPTION_ARGUMENT_NONE)
		return FAIL(parser->error, "%s takes no value: drop '%s'", given, equals);
	return apply(parser, spec, given, equals ? equals + 1 : NULL);
}

static int parse_letters(struct parser *parser, const char *letters)
{
	for (const char *p = letters; *p; p++) {
		const struct option_spec *spec = OPTION_TABLE;
		char given[3] = {'-', *p, '\0'};
		bool takes_value;
		char help[64];
		int err;

		while (spec->name && (spec->letter != *p || !is_accepted(parser, spec)))
			spec++;
		if (!spec->name)
			return FAIL(parser->error, "there is no option %s: %s lists them all", given,
				    help_command(parser, help, sizeof(help)));
		takes_value = spec->argument == OPTION_ARGUMENT_REQUIRED;
		err = apply(parser, spec, given, takes_value && p[1] ? p + 1 : NULL);
		if (err || takes_value || is_informational(parser->options))
			return err;
	}
	return 0;
}

/* A number behind an option whose value may be left out: meant as that value, but it takes it after '='. */
static const struct option_spec *spec_before_number(const struct parser *parser, const char *word)
{
	const char *before = parser->argv[parser->next - 2];

	if (*word < '0' || *word > '9' || strncmp(before, "--", 2) != 0)
		return NULL;
	for (const struct option_spec *spec = OPTION_TABLE; spec->name; spec++) {
		if (spec->argument == OPTION_ARGUMENT_OPTIONAL && is_accepted(parser, spec) &&
		    strcmp(spec->name, before + 2) == 0)
			return spec;
	}
	return NULL;
}

static int parse_word(struct parser *parser, const char *word)
{
	struct options *options = parser->options;
	const struct option_spec *spec;

	if (!parser->command) {
		for (const struct command_spec *spec = COMMAND_TABLE; spec->name; spec++) {
			if (strcmp(spec->name, word) == 0) {
				parser->command = spec->name;
				options->command = spec->command;
				return 0;
			}
		}
		return FAIL(parser->error, "there is no command '%s': write panopy record, ps or doctor",
			    word);
	}
	spec = spec_before_number(parser, word);
	if (spec)
		return FAIL(parser->error, "--%s takes its value after '=': write --%s=%s", spec->name,
			    spec->name, word);
	if (options->command == OPTIONS_COMMAND_RECORD)
		return FAIL(parser->error, "'%s' is no option: to run a command, write panopy record -- %s",
			    word, word);
	return FAIL(parser->error, "%s takes no argument: drop '%s'", parser->command, word);
}

static int parse_command_after_dashes(struct parser *parser)
{
	if (parser->options->command != OPTIONS_COMMAND_RECORD)
		return FAIL(parser->error, "only record runs a command: write panopy record -- COMMAND");
	if (parser->next >= parser->argc)
		return FAIL(parser->error,
			    "-- needs a command after it: write panopy record -- python3 app.py");
	parser->options->argv = &parser->argv[parser->next];
	parser->next = parser->argc;
	return 0;
}

static int parse_words(struct parser *parser)
{
	int err = 0;

	while (!err && parser->next < parser->argc && !is_informational(parser->options)) {
		const char *word = parser->argv[parser->next++];

		if (strcmp(word, "--") == 0)
			err = parse_command_after_dashes(parser);
		else if (strncmp(word, "--", 2) == 0)
			err = parse_long(parser, word + 2);
		else if (word[0] == '-' && word[1])
			err = parse_letters(parser, word + 1);
		else
			err = parse_word(parser, word);
	}
	return err;
}

/* What the options say together. */
static int validate(const struct options *options, char *error)
{
	if (options->quiet && options->verbosity)
		return FAIL(error, "-q and -v contradict each other: drop one");
	if (options->quiet && options->stats)
		return FAIL(error, "-q and --stats contradict each other: drop one (--summary has the "
				   "statistics in any case)");
	if (options->command == OPTIONS_COMMAND_PS && !options->subprocesses && !options->pid_cnt)
		return FAIL(error, "--no-subprocesses needs --pid: without it every process is listed");
	if (options->command != OPTIONS_COMMAND_RECORD)
		return 0;
	if (options->wait && !selection_has_cgroups(options->selection))
		return FAIL(error,
			    "--wait needs --cgroup, --unit, --container or --pod: name what to wait for");
	if (options->pid_cnt && options->argv)
		return FAIL(error, "--pid and a command cannot go together: drop one, or leave out both to "
				   "profile every process");
	if (!options->subprocesses && !options->pid_cnt && !options->argv)
		return FAIL(error, "--no-subprocesses needs --pid or a command: without them every process "
				   "is profiled");
	if (options->split && options->per == OPTIONS_PER_NONE)
		return FAIL(error, "--split needs to know what to split by: give --per process, thread, "
				   "container, cgroup or user");
	if (options->summary && options->output && strcmp(options->summary, options->output) == 0)
		return FAIL(error, "--output and --summary both write to '%s': give one of them another path",
			    options->output);
	return 0;
}

/* The host's name with everything that is awkward in a file name replaced. */
static void read_host(char *buf, size_t sz)
{
	if (gethostname(buf, sz) != 0)
		buf[0] = '\0';
	buf[sz - 1] = '\0';
	for (char *p = buf; *p; p++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", *p))
			*p = '_';
	if (!buf[0])
		snprintf(buf, sz, "host");
}

static int set_default_output(struct options *options)
{
	char host[65];
	char stamp[32];

	read_host(host, sizeof(host));
	clock_format_stamp(stamp, sizeof(stamp), clock_real_ns());
	if (asprintf(&options->output, "panopy-%s-%s.folded", host, stamp) < 0) {
		options->output = NULL;
		return -ENOMEM;
	}
	options->output_is_default = true;
	return 0;
}

int options_parse(struct options *ret_options, int argc, char **argv, char ret_error[OPTIONS_ERROR_SZ])
{
	struct options *options = ret_options;
	struct parser parser = {
		.options = options, .error = ret_error, .argc = argc, .argv = argv, .next = 1};
	int err;

	*options = (struct options){
		.command = OPTIONS_COMMAND_HELP,
		.help_of = OPTIONS_COMMAND_COUNT,
		.period_ns = CLOCK_NS_PER_S / OPTIONS_RATE_DEFAULT_HZ,
		.rate_hz = OPTIONS_RATE_DEFAULT_HZ,
		.lines = true,
		.subprocesses = true,
		.argc = argc,
		.full_argv = argv,
	};
	err = parse_words(&parser);
	if (err)
		return err;
	if (options->command == OPTIONS_COMMAND_HELP && options->help_of == OPTIONS_COMMAND_COUNT)
		return FAIL(ret_error, "no command given: write panopy record, ps or doctor");
	err = validate(options, ret_error);
	if (!err && options->command == OPTIONS_COMMAND_RECORD && !options->output && !options->split)
		err = set_default_output(options);
	return err;
}

void options_release(struct options *options)
{
	free(options->pids);
	selection_free(options->selection);
	free(options->output);
	free(options->split);
	free(options->summary);
	*options = (struct options){0};
}

enum log_level options_log_level(const struct options *options)
{
	if (options->quiet)
		return LOG_LEVEL_ERROR;
	if (options->verbosity == 0)
		return LOG_LEVEL_INFO;
	return options->verbosity == 1 ? LOG_LEVEL_DEBUG : LOG_LEVEL_TRACE;
}
