/* SPDX-License-Identifier: Apache-2.0 */
/* Holds a layout that was chosen by the version alone (3.6 to 3.12) against the process that it is for. */
#ifndef PANOPY_RUNTIME_STATE_CHECK_H
#define PANOPY_RUNTIME_STATE_CHECK_H

#include <stdbool.h>

#include "base/remote_mem.h"
#include "py_layout.h"

/* Whether interpreters, thread states, frame and code objects stand where the layout says. Looked at several
 * times, since the process runs. True as well where there is nothing to see yet, or no longer. */
bool state_check(struct remote_mem *mem, const struct py_layout *layout, remote_addr_t runtime_addr);

#endif
