/* SPDX-License-Identifier: Apache-2.0 */
#include "export/summary_text.h"

const char *summary_text_count(char *buf, size_t sz, u64 count)
{
	char digits[24];
	size_t digits_sz = (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
	size_t out = 0;

	for (size_t i = 0; i < digits_sz && out + 2 < sz; i++) {
		if (i && (digits_sz - i) % 3 == 0)
			buf[out++] = ',';
		buf[out++] = digits[i];
	}
	buf[out] = '\0';
	return buf;
}

void summary_text_heading(FILE *out, bool color, const char *text)
{
	fprintf(out, "\n%s%s%s\n", color ? "\x1b[1m" : "", text, color ? "\x1b[0m" : "");
}
