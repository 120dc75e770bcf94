/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for large tables that are read and written here and there: in huge pages where the kernel gives them, so
 * that neither each place's first use nor the look-up of its address costs more than the place itself.
 */
#ifndef PANOPY_BASE_HUGE_PAGES_H
#define PANOPY_BASE_HUGE_PAGES_H

#include <stddef.h>

/* All zeros. NULL without memory. */
void *huge_pages_alloc(size_t sz);
/* With the size that was asked for; NULL is fine. */
void huge_pages_free(void *mem, size_t sz);

#endif
