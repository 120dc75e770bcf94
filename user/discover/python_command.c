/* SPDX-License-Identifier: Apache-2.0 */
/* Options as in CPython's Python/getopt.c: SHORT_OPTS "+bBc:dEhiIJm:OPqRsStuvVW:xX:?" and the long ones of which only
 * --check-hash-based-pycs takes a value. -c and -m end them. */
#include "discover/python_command.h"

#include <stdbool.h>
#include <string.h>

struct words {
	const char *next;
	const char *end;
};

static const char *word_take(struct words *words, size_t *ret_sz)
{
	const char *word = words->next;

	if (word >= words->end)
		return NULL;
	*ret_sz = strnlen(word, (size_t)(words->end - word));
	words->next = word + *ret_sz + 1;
	return word;
}

static bool is_interpreter(const char *word, size_t sz)
{
	for (const char *p = word; p < word + sz; p++) {
		if (*p == '/') {
			sz -= (size_t)(p + 1 - word);
			word = p + 1;
		}
	}
	return sz >= 6 && (strncmp(word, "python", 6) == 0 || strncmp(word, "Python", 6) == 0);
}

enum word_kind { WORD_SUBJECT, WORD_OPTION, WORD_MODULE_NEXT, WORD_NONE };

/* What an argument that begins with a dash is; *ret_rest: what is written right behind -m, or NULL. */
static enum word_kind option_kind(struct words *words, const char *word, size_t sz, const char **ret_rest)
{
	static const char PYCS[] = "--check-hash-based-pycs";
	size_t ignored;

	*ret_rest = NULL;
	if (sz > 1 && word[1] == '-') {
		if (sz == sizeof(PYCS) - 1 && memcmp(word, PYCS, sz) == 0)
			word_take(words, &ignored);
		return WORD_OPTION;
	}
	for (size_t i = 1; i < sz; i++) {
		if (word[i] == 'c')
			return WORD_NONE;
		if (word[i] == 'm') {
			*ret_rest = i + 1 < sz ? word + i + 1 : NULL;
			return WORD_MODULE_NEXT;
		}
		if (word[i] == 'W' || word[i] == 'X') {
			if (i + 1 == sz)
				word_take(words, &ignored);
			return WORD_OPTION;
		}
	}
	return sz == 1 ? WORD_NONE : WORD_OPTION; /* "-": standard input */
}

const char *python_command_subject(const char *cmdline, size_t sz, size_t *ret_sz)
{
	struct words words = {.next = cmdline, .end = cmdline + sz};
	size_t first_sz, word_sz;
	const char *first = word_take(&words, &first_sz);
	const char *word, *rest;

	if (!first)
		return NULL;
	*ret_sz = first_sz;
	if (!is_interpreter(first, first_sz))
		return first;
	while ((word = word_take(&words, &word_sz))) {
		enum word_kind kind =
			word_sz && word[0] == '-' ? option_kind(&words, word, word_sz, &rest) : WORD_SUBJECT;

		if (kind == WORD_OPTION)
			continue;
		if (kind == WORD_MODULE_NEXT) {
			if (rest)
				word_sz -= (size_t)(rest - word);
			else
				rest = word_take(&words, &word_sz);
			word = rest;
		}
		if (kind == WORD_NONE || !word || !word_sz)
			return first;
		*ret_sz = word_sz;
		return word;
	}
	return first;
}
