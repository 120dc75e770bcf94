/* SPDX-License-Identifier: Apache-2.0 */
/* Has the kernel side send a stack whole again. */
#ifndef PANOPY_KERNEL_SENT_STACKS_H
#define PANOPY_KERNEL_SENT_STACKS_H

#include "shared_types.h"

/* Empties the identity's slot, whatever it holds. */
int sent_stacks_clear(int sent_stacks_fd, u64 identity);

#endif
