/* SPDX-License-Identifier: Apache-2.0 */
/* What the sampler knows of the cgroups that are selected. */
#ifndef PANOPY_KERNEL_CGROUP_SLOTS_H
#define PANOPY_KERNEL_CGROUP_SLOTS_H

#include "selection_config.h"

/* All slots, as they are from now on. */
int cgroup_slots_put(int selection_cgroups_fd, const struct selection_cgroups *cgroups);
/* The directory of a slot of version 2. */
int cgroup_slots_put_dir(int cgroup_dirs_fd, u32 idx, int dir_fd);

/* The kernel's cgroup_subsys_id of a version 1 controller, by the name that /proc/PID/cgroup has; -ENOENT: it
 * knows none. Reads the kernel's BTF. */
int cgroup_slots_subsys_id(const char *controller);

#endif
