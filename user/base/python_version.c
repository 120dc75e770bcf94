/* SPDX-License-Identifier: Apache-2.0 */
#include "base/python_version.h"

#include <stdio.h>

/* CPython Include/patchlevel.h: one byte each for major, minor and micro, four bits of release level,
 * four of serial. */
const char *python_version_format(char *buf, size_t sz, u32 version_hex)
{
	static const char *const LEVELS[16] = {[0xa] = "a", [0xb] = "b", [0xc] = "rc"};
	const char *level = LEVELS[(version_hex >> 4) & 0xf];
	int used;

	if (version_hex == 0) {
		snprintf(buf, sz, "%s", "");
		return buf;
	}
	/* Told by the exports only (py_runtime.h): the rest is not known. No release is 3.x.0 with level 0. */
	if ((version_hex & 0xffff) == 0) {
		snprintf(buf, sz, "%u.%u", version_hex >> 24, (version_hex >> 16) & 0xff);
		return buf;
	}
	used = snprintf(buf, sz, "%u.%u.%u", version_hex >> 24, (version_hex >> 16) & 0xff,
			(version_hex >> 8) & 0xff);
	if (level && used > 0 && (size_t)used < sz)
		snprintf(buf + used, sz - (size_t)used, "%s%u", level, version_hex & 0xf);
	return buf;
}
