/* SPDX-License-Identifier: Apache-2.0 */
/* What `ps --json` and the summary both say of where a process runs. */
#ifndef PANOPY_EXPORT_PROCESS_JSON_H
#define PANOPY_EXPORT_PROCESS_JSON_H

#include <json.h>

#include "discover/process_table.h"

/* Adds uid, user, cgroup, container and pod; `user` is the user's name. */
void process_json_add(struct json_object *object, const struct process *process, const char *user);

#endif
