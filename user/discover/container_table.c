/* SPDX-License-Identifier: Apache-2.0 */
/* Two indexes: by the path of the group, so that one more process in it costs one look-up, and by what names the
 * container, because its processes may be in several groups.
 */
#include "discover/container_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Out of memory leaves the element out and its handle's table NULL. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "discover/container_name.h"

const struct container CONTAINER_UNKNOWN = {.id = "?"};

enum { KEY_SZ = 2 * CONTAINER_ID_SZ + 16 };

struct entry {
	struct container container;
	struct container_name found;
	char outermost[CONTAINER_ID_SZ];
	char pod_uid[CONTAINER_ID_SZ];
	char key[KEY_SZ];
	UT_hash_handle hh;
};

struct group {
	const struct container *container; /* NULL: none */
	UT_hash_handle hh;
	char path[];
};

struct container_table {
	const char *root;
	struct entry *entries;
	struct group *groups;
};

int container_table_new(struct container_table **ret_table, const char *root)
{
	struct container_table *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	table->root = root;
	*ret_table = table;
	return 0;
}

static void forget_groups(struct container_table *table)
{
	struct group *group, *next;

	HASH_ITER(hh, table->groups, group, next)
	{
		HASH_DEL(table->groups, group);
		free(group);
	}
}

void container_table_free(struct container_table *table)
{
	struct entry *entry, *next_entry;

	if (!table)
		return;
	HASH_ITER(hh, table->entries, entry, next_entry)
	{
		HASH_DEL(table->entries, entry);
		free(entry);
	}
	forget_groups(table);
	free(table);
}

static const char *or_null(const char *text)
{
	return text[0] ? text : NULL;
}

static void entry_fill(struct entry *entry, const struct container_id *id)
{
	const struct container_name *found = &entry->found;

	memcpy(entry->outermost, id->outermost, sizeof(entry->outermost));
	memcpy(entry->pod_uid, id->pod_uid, sizeof(entry->pod_uid));
	entry->container = (struct container){
		.runtime = found->runtime,
		.id = found->id,
		.outermost = or_null(entry->outermost),
		.name = or_null(found->name),
		.name_source = found->name[0] ? found->source : NULL,
		.pod_uid = or_null(entry->pod_uid),
		.pod_namespace = or_null(found->pod_namespace),
		.pod_name = or_null(found->pod_name),
		.rootless = id->in_user_manager,
		.user = id->manager_uid,
	};
}

/* Ids are unique only among those that one daemon gave. */
static void format_key(char key[KEY_SZ], const struct container_id *id, const char *own)
{
	snprintf(key, KEY_SZ, "%s/%s/%u", own, id->outermost, id->in_user_manager ? id->manager_uid + 1 : 0);
}

static struct entry *find_entry(const struct container_table *table, const char *key)
{
	struct entry *entry;

	HASH_FIND_STR(table->entries, key, entry);
	return entry;
}

static const struct container *entry_add(struct container_table *table, const struct container_id *id)
{
	struct entry *entry = calloc(1, sizeof(*entry)), *known;

	if (!entry)
		return &CONTAINER_UNKNOWN;
	if (table->root) {
		(void)read_container_name(table->root, id, &entry->found);
	} else {
		entry->found.runtime = id->runtime;
		memcpy(entry->found.id, id->id, sizeof(id->id));
	}
	format_key(entry->key, id, entry->found.id);
	known = entry->found.id[0] ? find_entry(table, entry->key) : NULL;
	if (!entry->found.id[0] || known) {
		free(entry);
		return known ? &known->container : NULL;
	}
	if (HASH_COUNT(table->entries) < CONTAINER_TABLE_MAX) {
		entry_fill(entry, id);
		HASH_ADD_STR(table->entries, key, entry);
		if (entry->hh.tbl)
			return &entry->container;
	}
	free(entry);
	return &CONTAINER_UNKNOWN;
}

static const struct container *find_container(struct container_table *table, const struct container_id *id)
{
	char key[KEY_SZ];
	struct entry *entry;

	format_key(key, id, id->id);
	entry = id->id[0] ? find_entry(table, key) : NULL;
	return entry ? &entry->container : entry_add(table, id);
}

const struct container *container_table_find(struct container_table *table, const struct container_id *id)
{
	size_t sz = strlen(id->path);
	const struct container *container;
	struct group *group;

	HASH_FIND(hh, table->groups, id->path, sz, group);
	if (group)
		return group->container;
	container = find_container(table, id);
	/* They only save a search. */
	if (HASH_COUNT(table->groups) >= CONTAINER_TABLE_MAX)
		forget_groups(table);
	group = calloc(1, sizeof(*group) + sz + 1);
	if (!group)
		return container;
	memcpy(group->path, id->path, sz);
	group->container = container;
	HASH_ADD_KEYPTR(hh, table->groups, group->path, sz, group);
	if (!group->hh.tbl)
		free(group);
	return container;
}

void container_format_label(char *buf, size_t buf_sz, const struct container *container)
{
	const char *outer = container->outermost ? container->outermost : "";
	int outer_sz = (int)container_short_id_len(outer), id_sz = (int)container_short_id_len(container->id);

	if (container->name && container->pod_name)
		snprintf(buf, buf_sz, "%.*s%s%s/%s/%s", outer_sz, outer, *outer ? "/" : "",
			 container->pod_namespace ? container->pod_namespace : "?", container->pod_name,
			 container->name);
	else
		snprintf(buf, buf_sz, "%.*s%s%.*s", outer_sz, outer, *outer ? "/" : "",
			 container->name ? CONTAINER_ID_SZ : id_sz,
			 container->name ? container->name : container->id);
}
