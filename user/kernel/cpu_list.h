/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's text form of a set of CPUs: "0-3,8,10-11". */
#ifndef PANOPY_KERNEL_CPU_LIST_H
#define PANOPY_KERNEL_CPU_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* Text that makes no sense ends the list. */
bool cpu_list_has(const char *list, size_t cpu);

#endif
