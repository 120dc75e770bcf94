/* SPDX-License-Identifier: Apache-2.0 */
/* What panopy's exit status means; part of its interface, never renumbered. */
#ifndef PANOPY_EXIT_CODES_H
#define PANOPY_EXIT_CODES_H

enum exit_code {
	EXIT_CODE_OK = 0,
	EXIT_CODE_FAILURE = 1,
	EXIT_CODE_USAGE = 2,
	EXIT_CODE_PRIVILEGE = 3, /* a missing privilege */
	EXIT_CODE_NO_PYTHON = 4, /* no Python process to profile */
	EXIT_CODE_KERNEL = 5,	 /* this kernel lacks something essential */
	EXIT_CODE_STRICT = 6,	 /* --strict, and too many samples lost, late, truncated or unnamed */
};

#endif
