/* SPDX-License-Identifier: Apache-2.0 */
/* The containers that processes were seen in, each once, with what is known of it. Entries live as long as the
 * table; a container is looked up in its runtime's state when it is first seen, and never again.
 */
#ifndef PANOPY_DISCOVER_CONTAINER_TABLE_H
#define PANOPY_DISCOVER_CONTAINER_TABLE_H

#include "discover/container_id.h"

struct container {
	enum container_runtime runtime;
	const char *id;		   /* never empty */
	const char *outermost;	   /* id of the outermost of nested containers; NULL: in none */
	const char *name;	   /* NULL: nobody says */
	const char *name_source;   /* whose state says it; NULL without a name */
	const char *pod_uid;	   /* NULL: in no pod */
	const char *pod_namespace; /* NULL: not known */
	const char *pod_name;	   /* NULL: not known */
	bool rootless;		   /* of a user's own daemon */
	uid_t user;		   /* that user */
};

/* In place of one that cannot be told: "?". */
extern const struct container CONTAINER_UNKNOWN;

struct container_table;

enum {
	/* Containers kept, 2.5 KB each, and groups remembered. Any other container is not known. */
	CONTAINER_TABLE_MAX = 1 << 16,
};

/* State files are looked for below `root` (it must outlive the table); NULL: nowhere. */
int container_table_new(struct container_table **ret_table, const char *root);
void container_table_free(struct container_table *table);

/* NULL: in no container. Without memory, or past the maximum, &CONTAINER_UNKNOWN. */
const struct container *container_table_find(struct container_table *table, const struct container_id *id);

/* What people know it by: its name, `namespace/pod/name` in Kubernetes, else its id, cut where it is a hash; of a
 * nested one with the short id of the outermost and a slash in front. Any bytes; always terminated. */
void container_format_label(char *buf, size_t buf_sz, const struct container *container);

#endif
