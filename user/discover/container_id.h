/* SPDX-License-Identifier: Apache-2.0 */
/* Which container a process runs in, from the text of /proc/PID/cgroup alone (v1, v2 and hybrid). Pure.
 *
 * A path proves as much as the right to make cgroups where it lies: what stands below `outermost` was named by a
 * container's own root user, and what stands below user@UID.service by that user. Neither may be taken for a
 * container of the host that has the same id.
 */
#ifndef PANOPY_DISCOVER_CONTAINER_ID_H
#define PANOPY_DISCOVER_CONTAINER_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "shared_types.h"

enum {
	/* PATH_MAX: kernel/cgroup/cgroup.c proc_cgroup_show prints no longer one (Linux 6.1). */
	CONTAINER_PATH_SZ = 4096,
	/* NAME_MAX: one component of a path. */
	CONTAINER_ID_SZ = 256,
	/* A line of each of 15 hierarchies of ordinary length, or of a few of the longest. */
	CONTAINER_TEXT_SZ = 64 * 1024,
	/* What `docker ps` and `crictl ps` print of an id. */
	CONTAINER_SHORT_ID_LEN = 12,
};

enum container_runtime {
	CONTAINER_RUNTIME_NONE,
	CONTAINER_RUNTIME_DOCKER,
	CONTAINER_RUNTIME_CONTAINERD,
	CONTAINER_RUNTIME_CRIO,
	CONTAINER_RUNTIME_PODMAN,
	CONTAINER_RUNTIME_NSPAWN,
	CONTAINER_RUNTIME_LXC,
	CONTAINER_RUNTIME_OCI,	      /* runc, crun or youki without anything above it */
	CONTAINER_RUNTIME_KUBERNETES, /* a pod's container, of a runtime that the path does not name */
	CONTAINER_RUNTIME_COUNT,
};

struct container_id {
	enum container_runtime runtime;
	char id[CONTAINER_ID_SZ]; /* of the innermost container; a name for nspawn, LXC and OCI; "": none */
	char outermost[CONTAINER_ID_SZ]; /* the id of the outermost one where several are nested, else "" */
	/* Of the pod that the outermost container is in; with dashes; a static pod's or podman's is hexadecimal;
	 * "": none. */
	char pod_uid[CONTAINER_ID_SZ];
	/* A component like an id whose place says nothing: a container only if a runtime's state knows it. */
	char maybe_id[CONTAINER_ID_SZ];
	char unit[CONTAINER_ID_SZ];	 /* the host's systemd unit; "": none */
	char user_unit[CONTAINER_ID_SZ]; /* the one below user@UID.service; "": none */
	bool in_user_manager;		 /* below user@UID.service */
	uid_t manager_uid;		 /* that UID */
	char path[CONTAINER_PATH_SZ];	 /* as /proc prints it, relative to our cgroup namespace */
};

/* "docker", "containerd", ...; "" for none. */
const char *container_runtime_text(enum container_runtime runtime);

/* The characters of `id` that a table shows: CONTAINER_SHORT_ID_LEN of a hash, all of a name. */
size_t container_short_id_len(const char *id);

/* One cgroup's path; `ret_id->path` is it, cut at the size. */
void decode_cgroup_path(const char *path, size_t sz, struct container_id *ret_id);

/* A whole file. The path is that of the line with the most nested containers; among equals the order is v2, the
 * v1 hierarchies of cpu, cpuacct, systemd, then any other, with those at "/" last. -EINVAL: no line of this
 * format. */
int decode_proc_cgroup(const char *text, size_t sz, struct container_id *ret_id);

#endif
