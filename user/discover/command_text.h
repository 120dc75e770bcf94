/* SPDX-License-Identifier: Apache-2.0 */
/* A process's arguments as one line that is safe to print. */
#ifndef PANOPY_DISCOVER_COMMAND_TEXT_H
#define PANOPY_DISCOVER_COMMAND_TEXT_H

#include <stddef.h>

enum {
	COMMAND_TEXT_SZ = 1024, /* of the result, terminator included; longer commands end in "..." */
	/* Of /proc/PID/cmdline: more than fits, so that a cut shows. */
	COMMAND_TEXT_INPUT_SZ = COMMAND_TEXT_SZ + 64,
};

/* `cmdline` holds arguments that end in NUL (the last one may not). They are joined by spaces; bytes
 * of no printable_character() become \xHH. */
void command_text_format(const char *cmdline, size_t sz, char ret_text[COMMAND_TEXT_SZ]);

#endif
