/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/cpu_list.h"

#include <stdlib.h>

bool cpu_list_has(const char *list, size_t cpu)
{
	while (*list >= '0' && *list <= '9') {
		char *end;
		size_t first = strtoul(list, &end, 10);
		size_t last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (cpu >= first && cpu <= last)
			return true;
		if (*end != ',')
			return false;
		list = end + 1;
	}
	return false;
}
