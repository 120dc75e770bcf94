/* SPDX-License-Identifier: Apache-2.0 */
#include "options_table.h"

#include <string.h>

enum {
	HELP_WIDTH = 80,
	HELP_COLUMN = 28, /* where the explanations begin */
};

/* Words of `text`, wrapped, from `column` on each line; the first line is at `column` already. */
static void print_wrapped(FILE *out, const char *text, int column)
{
	int at = column;

	while (*text) {
		int sz = (int)strcspn(text, " ");

		if (at > column && at + 1 + sz > HELP_WIDTH) {
			fprintf(out, "\n%*s", column, "");
			at = column;
		}
		at += fprintf(out, "%s%.*s", at > column ? " " : "", sz, text);
		text += sz;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

static void print_option(FILE *out, const struct option_spec *spec)
{
	int at;

	at = spec->letter ? fprintf(out, "  -%c, --%s", spec->letter, spec->name)
			  : fprintf(out, "      --%s", spec->name);
	if (spec->argument == OPTION_ARGUMENT_REQUIRED)
		at += fprintf(out, " %s", spec->value);
	else if (spec->argument == OPTION_ARGUMENT_OPTIONAL)
		at += fprintf(out, "[=%s]", spec->value);
	if (at + 2 > HELP_COLUMN)
		fprintf(out, "\n%*s", HELP_COLUMN, "");
	else
		fprintf(out, "%*s", HELP_COLUMN - at, "");
	print_wrapped(out, spec->help, HELP_COLUMN);
}

static void print_options(FILE *out, enum options_command command)
{
	fprintf(out, "\nOptions:\n");
	for (const struct option_spec *spec = OPTION_TABLE; spec->name; spec++)
		if (spec->cmds & OPTION_CMD(command))
			print_option(out, spec);
}

static void print_exit_codes(FILE *out)
{
	fprintf(out, "\nExit status: 0 ok, 1 other failure, 2 usage, 3 missing privilege,\n"
		     "4 no Python process, 5 the kernel lacks something essential, 6 --strict;\n"
		     "with a COMMAND: its own status.\n");
}

static void print_examples(FILE *out)
{
	fprintf(out, "\nExamples:\n"
		     "  sudo panopy record -d 10 -o host.folded    every Python process, ten seconds\n"
		     "  sudo panopy record -p 1234,1300            two processes and their children\n"
		     "  sudo panopy record -- python3 app.py       a program from its start\n"
		     "  sudo panopy record --unit foo.service --name worker\n"
		     "                                             one service's workers\n");
}

static void print_top(FILE *out)
{
	fprintf(out, "Usage: panopy COMMAND [OPTION]...\n\n"
		     "Profiles the Python processes of this host from the kernel, without touching them.\n\n"
		     "Commands:\n");
	for (const struct command_spec *spec = COMMAND_TABLE; spec->name; spec++)
		fprintf(out, "  %-10s%s\n", spec->name, spec->help);
	print_options(out, OPTIONS_COMMAND_HELP);
	print_examples(out);
	fprintf(out, "\nEach command explains its options: panopy record --help.\n");
}

void options_print_help(FILE *out, enum options_command help_of)
{
	const struct command_spec *spec = COMMAND_TABLE;

	while (spec->name && spec->command != help_of)
		spec++;
	if (!spec->name) {
		print_top(out);
		return;
	}
	fprintf(out, "Usage: panopy %s %s\n\n", spec->name, spec->synopsis);
	print_wrapped(out, spec->about, 0);
	print_options(out, spec->command);
	if (spec->command == OPTIONS_COMMAND_RECORD) {
		print_exit_codes(out);
		print_examples(out);
	}
}

/* -x|--xyz) patterns that stand for one option in the shell's case. */
static void print_case_pattern(FILE *out, const struct option_spec *spec)
{
	if (spec->letter)
		fprintf(out, "    -%c | --%s)", spec->letter, spec->name);
	else
		fprintf(out, "    --%s)", spec->name);
}

static void print_value_completion(FILE *out, const struct option_spec *spec)
{
	if (spec->argument != OPTION_ARGUMENT_REQUIRED)
		return;
	print_case_pattern(out, spec);
	switch (spec->completion) {
	case OPTION_COMPLETION_FILE:
		fprintf(out, "\n        compopt -o filenames\n"
			     "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n");
		break;
	case OPTION_COMPLETION_PID:
		fprintf(out, "\n        mapfile -t COMPREPLY < <(compgen -W \"$(cd /proc && echo [0-9]*)\" "
			     "-- \"$cur\")\n");
		break;
	case OPTION_COMPLETION_WORDS:
		fprintf(out, "\n        mapfile -t COMPREPLY < <(compgen -W \"");
		for (const char *p = spec->value; *p; p++)
			fputc(*p == '|' ? ' ' : *p, out);
		fprintf(out, "\" -- \"$cur\")\n");
		break;
	case OPTION_COMPLETION_NONE:
		fprintf(out, "\n        COMPREPLY=()\n");
		break;
	}
	fprintf(out, "        return\n        ;;\n");
}

static void print_option_words(FILE *out, enum options_command command)
{
	const char *separator = "";

	for (const struct option_spec *spec = OPTION_TABLE; spec->name; spec++) {
		if (!(spec->cmds & OPTION_CMD(command)))
			continue;
		fprintf(out, "%s--%s", separator, spec->name);
		separator = " ";
	}
}

void options_print_completion(FILE *out)
{
	fprintf(out,
		"# SPDX-License-Identifier: Apache-2.0\n"
		"# bash completion for panopy; written by `panopy --bash-completion`.\n"
		"# shellcheck shell=bash\n\n"
		"_panopy()\n{\n"
		"    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command= i\n\n"
		"    COMPREPLY=()\n"
		"    # --option=value comes as three words.\n"
		"    [[ $cur == = ]] && cur=\n"
		"    [[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
		"    for ((i = 1; i < COMP_CWORD; i++)); do\n"
		"        case ${COMP_WORDS[i]} in\n"
		"        --)\n"
		"            if declare -F _command_offset >/dev/null; then\n"
		"                _command_offset $((i + 1))\n"
		"            elif ((i + 1 == COMP_CWORD)); then\n"
		"                mapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n"
		"            else\n"
		"                compopt -o filenames\n"
		"                mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
		"            fi\n"
		"            return\n"
		"            ;;\n");
	for (const struct command_spec *spec = COMMAND_TABLE; spec->name; spec++)
		fprintf(out, "        %s) command=${command:-%s} ;;\n", spec->name, spec->name);
	fprintf(out, "        esac\n    done\n\n    case $prev in\n");
	for (const struct option_spec *spec = OPTION_TABLE; spec->name; spec++)
		print_value_completion(out, spec);
	fprintf(out, "    esac\n\n    case $command in\n");
	for (const struct command_spec *spec = COMMAND_TABLE; spec->name; spec++) {
		fprintf(out, "    %s) mapfile -t COMPREPLY < <(compgen -W \"", spec->name);
		print_option_words(out, spec->command);
		fprintf(out, "\" -- \"$cur\") ;;\n");
	}
	fprintf(out, "    *) mapfile -t COMPREPLY < <(compgen -W \"");
	for (const struct command_spec *spec = COMMAND_TABLE; spec->name; spec++)
		fprintf(out, "%s ", spec->name);
	print_option_words(out, OPTIONS_COMMAND_HELP);
	fprintf(out, "\" -- \"$cur\") ;;\n    esac\n}\n\ncomplete -F _panopy panopy\n");
}
