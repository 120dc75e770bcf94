/* SPDX-License-Identifier: Apache-2.0 */
#include "export/process_json.h"

#include "base/printable.h"

enum { TEXT_SZ = 4 * CONTAINER_PATH_SZ }; /* every byte escaped */

static void add_text(struct json_object *object, const char *key, const char *text)
{
	char buf[TEXT_SZ];

	json_object_object_add(object, key,
			       text ? json_object_new_string(printable_text(buf, sizeof(buf), text)) : NULL);
}

static struct json_object *container_to_json(const struct container *container)
{
	struct json_object *object = json_object_new_object();

	add_text(object, "id", container->id);
	add_text(object, "name", container->name);
	add_text(object, "named_by", container->name_source);
	add_text(object, "runtime", container_runtime_text(container->runtime));
	add_text(object, "outermost_id", container->outermost);
	return object;
}

static struct json_object *pod_to_json(const struct container *container)
{
	struct json_object *object = json_object_new_object();

	add_text(object, "uid", container->pod_uid);
	add_text(object, "namespace", container->pod_namespace);
	add_text(object, "name", container->pod_name);
	return object;
}

void process_json_add(struct json_object *object, const struct process *process, const char *user)
{
	const struct container *container = process->container;

	json_object_object_add(object, "uid", json_object_new_int64(process->uid));
	add_text(object, "user", user);
	add_text(object, "cgroup", process->cgroup);
	json_object_object_add(object, "container", container ? container_to_json(container) : NULL);
	json_object_object_add(object, "pod",
			       container && container->pod_uid ? pod_to_json(container) : NULL);
}
