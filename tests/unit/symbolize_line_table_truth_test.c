/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the location tables of whole modules of every interpreter that is here and compares every
 * instruction's line with what the interpreter itself says (line_table_dump.py).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpreters.h"
#include "symbolize/line_table.h"

enum {
	/* The modules of the list have 6,000 and more; fewer means that the dump broke off. */
	MIN_CODES = 3000,
};

struct result {
	size_t codes;
	size_t offsets;
	size_t wrong;
};

static enum line_table_form g_form;

static size_t decode_hex(const char *text, u8 *bytes)
{
	size_t sz = 0;
	unsigned byte;

	while (sscanf(text + sz * 2, "%2x", &byte) == 1)
		bytes[sz++] = (u8)byte;
	return sz;
}

static void check_offset(const u8 *table, size_t sz, s32 firstlineno, s32 off, s32 want,
			 struct result *result)
{
	s32 line = -1;
	int err = line_table_decode(g_form, table, sz, firstlineno, off, &line);

	result->offsets++;
	if (!err && line == want)
		return;
	if (result->wrong++ < 5)
		printf("  first line %d, offset %d: decoded %d (error %d), should be %d\n", firstlineno, off,
		       line, err, want);
}

/* One line of the dump. */
static void check_code(char *text, struct result *result)
{
	char *state, *first = strtok_r(text, " \n", &state), *hex = strtok_r(NULL, " \n", &state);
	s32 firstlineno, start, end = 0, line;
	u8 *table;
	size_t sz;

	if (!first || !hex)
		return;
	firstlineno = (s32)strtol(first, NULL, 10);
	table = malloc(strlen(hex) + 1);
	if (!table)
		abort();
	sz = decode_hex(hex, table);
	for (char *range = strtok_r(NULL, " \n", &state); range; range = strtok_r(NULL, " \n", &state)) {
		if (sscanf(range, "%d-%d=%d", &start, &end, &line) != 3)
			abort();
		for (s32 off = start; off < end; off += 2)
			check_offset(table, sz, firstlineno, off, line, result);
	}
	check_offset(table, sz, firstlineno, -2, firstlineno, result);
	if (g_form != LINE_TABLE_LNOTAB && line_table_decode(g_form, table, sz, firstlineno, end, &line) == 0)
		result->wrong++;
	result->codes++;
	free(table);
}

static enum line_table_form form_of(const char *version)
{
	int minor = atoi(version + strlen("3."));

	return minor >= 11 ? LINE_TABLE_LOCATIONS : minor == 10 ? LINE_TABLE_RANGES : LINE_TABLE_LNOTAB;
}

static int check_interpreter(const char *version, char *root, char *command)
{
	char *args[] = {"-I", "-", NULL}, *argv[10];
	struct result result = {0};
	struct child dump;
	char *line = NULL;
	size_t cap = 0;
	int status;

	g_form = form_of(version);
	interpreter_argv(argv, root, command, args);
	if (child_start(&dump, argv, PANOPY_SOURCE_DIR "/tests/unit/line_table_dump.py"))
		return 1;
	while (getline(&line, &cap, dump.from_child) > 0)
		check_code(line, &result);
	free(line);
	status = child_end(&dump);
	if (status == INTERPRETERS_SKIPPED) {
		printf("skipped: %s %s has no ctypes to ask it by\n", version, command);
		return 0;
	}
	printf("%s %s: %zu code objects, %zu offsets, %zu wrong\n", version, command, result.codes,
	       result.offsets, result.wrong);
	return status || result.wrong || result.codes < MIN_CODES;
}

int main(void)
{
	return interpreters_check(check_interpreter);
}
