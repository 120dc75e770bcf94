/* SPDX-License-Identifier: Apache-2.0 */
#include "export/root_label.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char HOST[] = "host";

struct named {
	const struct container *container;
	char *label;
};

struct root_labels {
	struct process_table *processes;
	enum root_label_kind kind;
	struct named *names; /* of containers, by address */
	size_t cnt;
};

static int compare_addresses(const void *left, const void *right)
{
	const struct named *a = left, *b = right;

	return a->container < b->container ? -1 : a->container > b->container;
}

static int compare_labels(const void *left, const void *right)
{
	const struct named *a = left, *b = right;

	return strcmp(a->label, b->label);
}

/* Each container once. */
static int collect(struct root_labels *labels)
{
	size_t process_cnt = process_table_count(labels->processes), cnt = 0;
	char label[ROOT_LABEL_SZ];

	labels->names = calloc(process_cnt + 1, sizeof(*labels->names));
	if (!labels->names)
		return -ENOMEM;
	for (size_t id = 0; id < process_cnt; id++) {
		const struct container *container = process_table_at(labels->processes, (u32)id)->container;

		if (container)
			labels->names[cnt++].container = container;
	}
	qsort(labels->names, cnt, sizeof(*labels->names), compare_addresses);
	for (size_t i = 0; i < cnt; i++) {
		struct named *named = &labels->names[labels->cnt];

		if (labels->cnt && labels->names[i].container == named[-1].container)
			continue;
		named->container = labels->names[i].container;
		container_format_label(label, sizeof(label), named->container);
		named->label = strdup(label);
		if (!named->label)
			return -ENOMEM;
		labels->cnt++;
	}
	return 0;
}

static int add_id(struct named *named, size_t id_len)
{
	const struct container *container = named->container;
	char owner[32] = "", *longer;

	if (container->rootless)
		snprintf(owner, sizeof(owner), ", user %u", (unsigned int)container->user);
	if (asprintf(&longer, "%s (%.*s%s)", named->label, (int)id_len, container->id, owner) < 0)
		return -ENOMEM;
	free(named->label);
	named->label = longer;
	return 0;
}

static int tell_apart(struct root_labels *labels, bool by_whole_id)
{
	int err = 0;

	qsort(labels->names, labels->cnt, sizeof(*labels->names), compare_labels);
	for (size_t begin = 0, end; begin < labels->cnt && !err; begin = end) {
		const char *label = labels->names[begin].label;

		for (end = begin + 1; end < labels->cnt && strcmp(labels->names[end].label, label) == 0;)
			end++;
		if (end - begin == 1 && strcmp(label, HOST) != 0)
			continue;
		for (size_t i = begin; i < end && !err; i++) {
			const char *id = labels->names[i].container->id;

			err = add_id(&labels->names[i],
				     by_whole_id ? strlen(id) : container_short_id_len(id));
		}
	}
	return err;
}

int root_labels_new(struct root_labels **ret_labels, struct process_table *processes,
		    enum root_label_kind kind)
{
	struct root_labels *labels = calloc(1, sizeof(*labels));
	int err = 0;

	if (!labels)
		return -ENOMEM;
	labels->processes = processes;
	labels->kind = kind;
	if (kind == ROOT_LABEL_CONTAINER)
		err = collect(labels);
	/* Whoever can choose a name may be able to choose the beginning of an id. */
	if (!err && labels->cnt)
		err = tell_apart(labels, false) ?: tell_apart(labels, true);
	if (!err && labels->cnt)
		qsort(labels->names, labels->cnt, sizeof(*labels->names), compare_addresses);
	if (err) {
		root_labels_free(labels);
		return err;
	}
	*ret_labels = labels;
	return 0;
}

void root_labels_free(struct root_labels *labels)
{
	if (!labels)
		return;
	for (size_t i = 0; i < labels->cnt; i++)
		free(labels->names[i].label);
	free(labels->names);
	free(labels);
}

static const char *container_label(const struct root_labels *labels, const struct container *container)
{
	const struct named wanted = {.container = container};
	const struct named *named;

	if (!container)
		return HOST;
	if (!labels->cnt)
		return "?";
	named = bsearch(&wanted, labels->names, labels->cnt, sizeof(wanted), compare_addresses);
	return named ? named->label : "?";
}

const char *root_labels_at(const struct root_labels *labels, u32 process_id)
{
	const struct process *process = process_table_at(labels->processes, process_id);

	if (!process)
		return "?";
	switch (labels->kind) {
	case ROOT_LABEL_CONTAINER:
		return container_label(labels, process->container);
	case ROOT_LABEL_CGROUP:
		return process->cgroup ? process->cgroup : "?";
	case ROOT_LABEL_USER:
		return process_table_user_name(labels->processes, process->uid);
	}
	return "?";
}
