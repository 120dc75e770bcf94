/* SPDX-License-Identifier: Apache-2.0 */
#include "discover/command_text.h"

#include <string.h>

#include "base/printable.h"
#include "shared_types.h"

static size_t escape_byte(u8 byte, char out[4])
{
	static const char digits[] = "0123456789abcdef";

	out[0] = '\\';
	out[1] = 'x';
	out[2] = digits[byte >> 4];
	out[3] = digits[byte & 15];
	return 4;
}

/* One character of the input into `out`; returns how many bytes it took of the input. */
static size_t format_char(const u8 *bytes, size_t left, char out[4], size_t *ret_out_sz)
{
	size_t sz = printable_character((const char *)bytes, left);

	if (bytes[0] == '\0') {
		out[0] = ' ';
		*ret_out_sz = 1;
		return 1;
	}
	if (!sz) {
		*ret_out_sz = escape_byte(bytes[0], out);
		return 1;
	}
	memcpy(out, bytes, sz);
	*ret_out_sz = sz;
	return sz;
}

void command_text_format(const char *cmdline, size_t sz, char ret_text[COMMAND_TEXT_SZ])
{
	static const char dots[] = "...";
	const u8 *bytes = (const u8 *)cmdline;
	size_t have = 0, cut_at = 0;

	/* setproctitle-like programs pad their title with NULs. */
	while (sz > 0 && bytes[sz - 1] == '\0')
		sz--;
	while (sz > 0) {
		char out[4];
		size_t out_sz, used = format_char(bytes, sz, out, &out_sz);

		if (have + out_sz > COMMAND_TEXT_SZ - 1) {
			memcpy(ret_text + cut_at, dots, sizeof(dots));
			return;
		}
		memcpy(ret_text + have, out, out_sz);
		have += out_sz;
		if (have <= COMMAND_TEXT_SZ - sizeof(dots))
			cut_at = have;
		bytes += used;
		sz -= used;
	}
	ret_text[have] = '\0';
}
