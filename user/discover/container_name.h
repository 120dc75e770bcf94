/* SPDX-License-Identifier: Apache-2.0 */
/* What a container is called, from the state files that its runtime keeps on this host; no daemon is asked,
 * and nothing that the container itself says (its host name, its environment) counts.
 *
 * Files are read once, whole, at most CONTAINER_STATE_SZ of them, and only where no link leads out of `root`.
 * Those of a user's own daemon are found below that user's home and must be the user's, without links.
 */
#ifndef PANOPY_DISCOVER_CONTAINER_NAME_H
#define PANOPY_DISCOVER_CONTAINER_NAME_H

#include "discover/container_id.h"

enum {
	CONTAINER_STATE_SZ = 8 << 20,
	/* A tree of JSON takes up to thirty times the size of its text. */
	CONTAINER_USER_STATE_SZ = 1 << 20,
};

struct container_name {
	enum container_runtime runtime; /* of `id`; the path's, or what the state says */
	char id[CONTAINER_ID_SZ];
	char name[CONTAINER_ID_SZ];	     /* "": not known */
	char pod_namespace[CONTAINER_ID_SZ]; /* "": not known, or in no pod of Kubernetes */
	char pod_name[CONTAINER_ID_SZ];	     /* the same */
	const char
		*source; /* whose state says it: "docker", "podman", ...; "cgroup" where the id is the name */
};

/* 0, or -ENOENT: no state file knows it (the id and its runtime are filled in), or it is in no container (the id
 * is ""). A container that is nested in another one is never looked up: the host does not know it, and
 * whoever is root in the outer one may have given it any id. */
int read_container_name(const char *root, const struct container_id *id, struct container_name *ret_name);

#endif
