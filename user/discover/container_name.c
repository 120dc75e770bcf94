/* SPDX-License-Identifier: Apache-2.0 */
/* Where the state lies and how it looks:
 *   docker      moby daemon/container/container.go (config.v2.json), labels by cri-dockerd
 *   podman      containers/storage containers.go (containers.json; volatile-containers.json: those of --rm, from
 *               Podman 4.4 on, below /run with --transient-store)
 *   cri-o       cri-o internal/annotations, pkg/annotations (userdata/config.json)
 *   containerd  containerd core/runtime/v2/bundle.go, internal/cri/annotations; nerdctl pkg/labels
 *   runc, crun  runc libcontainer/state_linux.go (state.json), crun src/libcrun/status.c (status)
 *
 * Labels come from images, too: those that name a pod count only where the cgroup says that there is one, and
 * only if they name that one.
 */
#define _GNU_SOURCE
#include "discover/container_name.h"

#include <errno.h>
#include <json.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/target_file.h"

enum {
	PATH_SZ = 1024,
	PASSWD_SZ = 1 << 20,
};

struct lookup {
	const char *root;
	const struct container_id *id;
	struct container_name *name;
	const char *home; /* of the user whose daemon it is; NULL: the host's */
};

/* Takes what it finds; false: this container is not in it. */
typedef bool take_state(struct lookup *lookup, struct json_object *state);

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	if (json_object_is_type(object, json_type_object))
		json_object_object_get_ex(object, key, &value);
	return value;
}

/* NULL: not a text of the sizes that names have. */
static const char *text_of(struct json_object *value)
{
	if (!json_object_is_type(value, json_type_string))
		return NULL;
	if (json_object_get_string_len(value) <= 0 || json_object_get_string_len(value) >= CONTAINER_ID_SZ)
		return NULL;
	return json_object_get_string(value);
}

static void put_text(char ret_text[CONTAINER_ID_SZ], const char *text)
{
	if (text)
		snprintf(ret_text, CONTAINER_ID_SZ, "%s", text);
}

/* "key=value" in an array of texts, as libcontainer keeps labels. */
static const char *array_label(struct json_object *labels, const char *key)
{
	size_t cnt = json_object_array_length(labels), key_sz = strlen(key);

	for (size_t i = 0; i < cnt; i++) {
		const char *text = text_of(json_object_array_get_idx(labels, i));

		if (text && strncmp(text, key, key_sz) == 0 && text[key_sz] == '=' && text[key_sz + 1])
			return text + key_sz + 1;
	}
	return NULL;
}

/* The first of up to three keys that is there. */
static const char *label(struct json_object *labels, const char *const keys[3])
{
	for (size_t i = 0; i < 3 && keys[i]; i++) {
		const char *text = json_object_is_type(labels, json_type_array)
					   ? array_label(labels, keys[i])
					   : text_of(member(labels, keys[i]));

		if (text)
			return text;
	}
	return NULL;
}

static void take_labels(struct lookup *lookup, struct json_object *labels)
{
	static const char *const names[3] = {"io.kubernetes.container.name",
					     "io.kubernetes.cri.container-name"};
	static const char *const pods[3] = {"io.kubernetes.pod.name", "io.kubernetes.cri.sandbox-name"};
	static const char *const spaces[3] = {"io.kubernetes.pod.namespace",
					      "io.kubernetes.cri.sandbox-namespace"};
	static const char *const uids[3] = {"io.kubernetes.pod.uid", "io.kubernetes.cri.sandbox-uid"};
	static const char *const others[3] = {"nerdctl/name"};
	struct container_name *name = lookup->name;
	const char *uid = label(labels, uids);

	if (!name->name[0])
		put_text(name->name, label(labels, others));
	if (!lookup->id->pod_uid[0] || (uid && strcmp(uid, lookup->id->pod_uid) != 0))
		return;
	put_text(name->name, label(labels, names));
	put_text(name->pod_name, label(labels, pods));
	put_text(name->pod_namespace, label(labels, spaces));
}

static bool take_docker(struct lookup *lookup, struct json_object *state)
{
	const char *text = text_of(member(state, "Name"));

	if (!text)
		return false;
	put_text(lookup->name->name, text + (text[0] == '/'));
	take_labels(lookup, member(member(state, "Config"), "Labels"));
	return true;
}

/* Of the runtime specification's config.json. */
static bool take_bundle(struct lookup *lookup, struct json_object *state)
{
	take_labels(lookup, member(state, "annotations"));
	return lookup->name->name[0] || lookup->name->pod_name[0];
}

static bool take_podman(struct lookup *lookup, struct json_object *state)
{
	size_t cnt = json_object_is_type(state, json_type_array) ? json_object_array_length(state) : 0;

	for (size_t i = 0; i < cnt; i++) {
		struct json_object *container = json_object_array_get_idx(state, i);
		struct json_object *names = member(container, "names");
		const char *id = text_of(member(container, "id"));

		if (!id || strcmp(id, lookup->name->id) != 0)
			continue;
		if (!json_object_is_type(names, json_type_array) || !json_object_array_length(names))
			return false;
		put_text(lookup->name->name, text_of(json_object_array_get_idx(names, 0)));
		return lookup->name->name[0];
	}
	return false;
}

/* Whether `folder` (not terminated) is where a hierarchy is mounted: runc calls that of version 2 "" and those of
 * version 1 by one controller, of which the folder's name may have several ("cpu,cpuacct"). */
static bool is_mount_of(const char *folder, size_t sz, const char *hierarchy)
{
	static const char TOP[] = "/sys/fs/cgroup", UNIFIED[] = "/sys/fs/cgroup/unified", NAMED[] = "name=";
	char words[NAME_MAX + 3], word[NAME_MAX + 3];

	if (!*hierarchy)
		return (sz == sizeof(TOP) - 1 && !memcmp(folder, TOP, sz)) ||
		       (sz == sizeof(UNIFIED) - 1 && !memcmp(folder, UNIFIED, sz));
	if (sz <= sizeof(TOP) || sz - sizeof(TOP) > NAME_MAX || memcmp(folder, TOP, sizeof(TOP) - 1) != 0 ||
	    folder[sizeof(TOP) - 1] != '/' || memchr(folder + sizeof(TOP), '/', sz - sizeof(TOP)) ||
	    strlen(hierarchy) > NAME_MAX)
		return false;
	if (strncmp(hierarchy, NAMED, sizeof(NAMED) - 1) == 0)
		hierarchy += sizeof(NAMED) - 1;
	snprintf(words, sizeof(words), ",%.*s,", (int)(sz - sizeof(TOP)), folder + sizeof(TOP));
	snprintf(word, sizeof(word), ",%s,", hierarchy);
	return strstr(words, word);
}

/* Whether `text` is `path` below the folder where the hierarchy is mounted. */
static bool is_cgroup(const char *text, const char *hierarchy, const char *path)
{
	size_t sz = text ? strlen(text) : 0, path_sz = strlen(path);

	return sz > path_sz && strcmp(text + sz - path_sz, path) == 0 &&
	       is_mount_of(text, sz - path_sz, hierarchy);
}

/* What was found by the last part of the path alone must be that group's. */
static bool has_cgroup(const struct lookup *lookup, struct json_object *groups)
{
	const char *path = lookup->id->path;

	if (json_object_is_type(groups, json_type_string)) {
		const char *text = text_of(groups);

		return text && strcmp(text, path) == 0;
	}
	if (!json_object_is_type(groups, json_type_object))
		return false;
	json_object_object_foreach(groups, key, value)
	{
		if (is_cgroup(text_of(value), key, path))
			return true;
	}
	return false;
}

static bool take_runc(struct lookup *lookup, struct json_object *state)
{
	if (!lookup->id->id[0] && !has_cgroup(lookup, member(state, "cgroup_paths")))
		return false;
	put_text(lookup->name->name, lookup->name->id);
	take_labels(lookup, member(member(state, "config"), "labels"));
	return true;
}

/* That of containerd's shim, where the id is no name. */
static bool take_shim(struct lookup *lookup, struct json_object *state)
{
	take_labels(lookup, member(member(state, "config"), "labels"));
	return lookup->name->name[0] || lookup->name->pod_name[0];
}

/* In a namespace of containerd's; those whose id is no name may have none. */
static bool take_namespaced(struct lookup *lookup, struct json_object *state)
{
	const char *id = lookup->name->id;

	if (!has_cgroup(lookup, member(state, "cgroup_paths")))
		return false;
	take_labels(lookup, member(member(state, "config"), "labels"));
	if (!lookup->name->name[0] && container_short_id_len(id) == strlen(id))
		put_text(lookup->name->name, id);
	return true;
}

static bool take_crun(struct lookup *lookup, struct json_object *state)
{
	if (!lookup->id->id[0] && !has_cgroup(lookup, member(state, "cgroup-path")))
		return false;
	put_text(lookup->name->name, lookup->name->id);
	return true;
}

#define BIT(kind)      (1u << CONTAINER_RUNTIME_##kind)
#define ANY_KUBERNETES BIT(KUBERNETES)

static const struct state_file {
	unsigned int runtimes;
	const char *before; /* the id */
	const char *after;
	take_state *take;
	const char *source;
} host_files[] = {
	{BIT(DOCKER) | ANY_KUBERNETES, "var/lib/docker/containers/", "/config.v2.json", take_docker,
	 "docker"},
	{BIT(PODMAN), "var/lib/containers/storage/overlay-containers/containers.json", NULL, take_podman,
	 "podman"},
	{BIT(PODMAN), "var/lib/containers/storage/overlay-containers/volatile-containers.json", NULL,
	 take_podman, "podman"},
	{BIT(PODMAN), "run/containers/storage/overlay-containers/volatile-containers.json", NULL, take_podman,
	 "podman"},
	{BIT(PODMAN), "var/lib/containers/storage/vfs-containers/containers.json", NULL, take_podman,
	 "podman"},
	{BIT(PODMAN), "var/lib/containers/storage/vfs-containers/volatile-containers.json", NULL, take_podman,
	 "podman"},
	{BIT(CRIO) | ANY_KUBERNETES, "run/containers/storage/overlay-containers/", "/userdata/config.json",
	 take_bundle, "cri-o"},
	{BIT(CRIO) | ANY_KUBERNETES, "var/lib/containers/storage/overlay-containers/",
	 "/userdata/config.json", take_bundle, "cri-o"},
	{BIT(CONTAINERD) | ANY_KUBERNETES, "run/containerd/io.containerd.runtime.v2.task/k8s.io/",
	 "/config.json", take_bundle, "containerd"},
	{BIT(CONTAINERD) | ANY_KUBERNETES, "run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/",
	 "/config.json", take_bundle, "containerd"},
	{BIT(CONTAINERD), "run/containerd/io.containerd.runtime.v2.task/default/", "/config.json",
	 take_bundle, "containerd"},
	{BIT(CONTAINERD) | ANY_KUBERNETES, "run/containerd/runc/k8s.io/", "/state.json", take_shim,
	 "containerd"},
	{BIT(OCI) | BIT(NONE), "run/crun/", "/status", take_crun, "crun"},
	{BIT(OCI) | BIT(NONE), "run/runc/", "/state.json", take_runc, "runc"},
};

/* Below the home of the user. */
static const struct state_file user_files[] = {
	{BIT(DOCKER), ".local/share/docker/containers/", "/config.v2.json", take_docker, "docker"},
	{BIT(PODMAN), ".local/share/containers/storage/overlay-containers/containers.json", NULL, take_podman,
	 "podman"},
	{BIT(PODMAN), ".local/share/containers/storage/overlay-containers/volatile-containers.json", NULL,
	 take_podman, "podman"},
	{BIT(PODMAN), ".local/share/containers/storage/vfs-containers/containers.json", NULL, take_podman,
	 "podman"},
	{BIT(PODMAN), ".local/share/containers/storage/vfs-containers/volatile-containers.json", NULL,
	 take_podman, "podman"},
};

/* NULL: not there, or not to be trusted. */
static struct json_object *read_state(const struct lookup *lookup, const char *path)
{
	CLEANUP_FREE u8 *text = NULL;
	size_t max_sz = lookup->home ? CONTAINER_USER_STATE_SZ : CONTAINER_STATE_SZ;
	struct target_file *file;
	int err = target_file_open_below(&file, lookup->root, path,
					 lookup->home ? &lookup->id->manager_uid : NULL);

	if (err)
		return NULL;
	err = target_file_read_alloc(file, 0, target_file_id(file)->sz, max_sz, &text);
	target_file_close(file);
	return err ? NULL : json_tokener_parse((const char *)text);
}

static int look_into(struct lookup *lookup, const struct state_file *file)
{
	char path[PATH_SZ];
	struct json_object *state;
	bool found = false;
	int sz = snprintf(path, sizeof(path), "%s%s%s%s%s", lookup->home ? lookup->home : "",
			  lookup->home ? "/" : "", file->before, file->after ? lookup->name->id : "",
			  file->after ? file->after : "");

	if (sz >= (int)sizeof(path))
		return -ENOENT;
	state = read_state(lookup, path);
	if (state)
		found = file->take(lookup, state);
	json_object_put(state);
	if (!found)
		return -ENOENT;
	lookup->name->source = file->source;
	return 0;
}

static int look_into_all(struct lookup *lookup, enum container_runtime runtime,
			 const struct state_file *files, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		if ((files[i].runtimes & 1u << runtime) && look_into(lookup, &files[i]) == 0)
			return 0;
	}
	return -ENOENT;
}

/* Where the daemon's own settings say that its containers are ("graph" before Docker 17.05). */
static int look_where_docker_was_told(struct lookup *lookup)
{
	struct json_object *settings = read_state(lookup, "etc/docker/daemon.json");
	const char *folder = text_of(member(settings, "data-root")) ?: text_of(member(settings, "graph"));
	char before[PATH_SZ];
	struct state_file file = {0, before, "/config.v2.json", take_docker, "docker"};
	int err = -ENOENT;

	if (folder && folder[0] == '/') {
		snprintf(before, sizeof(before), "%s/containers/", folder + 1);
		err = look_into(lookup, &file);
	}
	json_object_put(settings);
	return err;
}

static int look_into_host(struct lookup *lookup, enum container_runtime runtime)
{
	int err = look_into_all(lookup, runtime, host_files, sizeof(host_files) / sizeof(host_files[0]));

	if (err && (BIT(DOCKER) | ANY_KUBERNETES) & 1u << runtime)
		err = look_where_docker_was_told(lookup);
	return err;
}

/* From the host's own list, without asking name services: those may be far away, and slow. */
static int read_home(const char *root, uid_t uid, char ret_home[PATH_SZ])
{
	CLEANUP_FREE u8 *text = NULL;
	struct passwd entry, *found = NULL;
	struct target_file *file;
	char buf[PATH_SZ];
	FILE *list;
	int err = target_file_open_below(&file, root, "etc/passwd", NULL);

	if (err)
		return err;
	err = target_file_read_alloc(file, 0, target_file_id(file)->sz, PASSWD_SZ, &text);
	target_file_close(file);
	if (err)
		return err;
	list = fmemopen(text, strlen((const char *)text), "r");
	if (!list)
		return -ENOMEM;
	while (fgetpwent_r(list, &entry, buf, sizeof(buf), &found) == 0 && entry.pw_uid != uid)
		found = NULL;
	fclose(list);
	if (!found || found->pw_dir[0] != '/')
		return -ENOENT;
	snprintf(ret_home, PATH_SZ, "%s", found->pw_dir + 1);
	return 0;
}

/* NAMESPACE/ID of any client of containerd: its shim's runc keeps it under these two names. */
static int look_into_namespace(struct lookup *lookup)
{
	const char *last = strrchr(lookup->id->path, '/');
	const char *space = last ? memrchr(lookup->id->path, '/', (size_t)(last - lookup->id->path)) : NULL;
	char before[PATH_SZ];
	struct state_file file = {0, before, "/state.json", take_namespaced, "containerd"};

	if (!space || space[1] == '.' || last - space >= CONTAINER_ID_SZ)
		return -ENOENT;
	snprintf(before, sizeof(before), "run/containerd/runc/%.*s/", (int)(last - space - 1), space + 1);
	return look_into(lookup, &file);
}

/* Where the path names no container: an id without a place, or a group that runc or crun was told to use. */
static int look_for_candidate(struct lookup *lookup)
{
	const struct container_id *id = lookup->id;
	const char *last = strrchr(id->path, '/');

	if (id->maybe_id[0]) {
		put_text(lookup->name->id, id->maybe_id);
		lookup->name->runtime = CONTAINER_RUNTIME_DOCKER;
		if (look_into_host(lookup, CONTAINER_RUNTIME_DOCKER) == 0)
			return 0;
	}
	if (last && last[1] && last[1] != '.' && strlen(last + 1) < CONTAINER_ID_SZ) {
		put_text(lookup->name->id, last + 1);
		lookup->name->runtime = CONTAINER_RUNTIME_OCI;
		if (look_into_host(lookup, CONTAINER_RUNTIME_NONE) == 0)
			return 0;
		lookup->name->runtime = CONTAINER_RUNTIME_CONTAINERD;
		if (look_into_namespace(lookup) == 0)
			return 0;
	}
	lookup->name->runtime = CONTAINER_RUNTIME_NONE;
	lookup->name->id[0] = '\0';
	return -ENOENT;
}

static int look_into_home(struct lookup *lookup)
{
	const struct container_id *id = lookup->id;
	/* runc with the cgroupfs driver names the group by the id alone: Podman's, since Docker has a parent. */
	enum container_runtime runtime = id->id[0] ? id->runtime : CONTAINER_RUNTIME_PODMAN;
	char home[PATH_SZ];

	if ((!id->id[0] && !id->maybe_id[0]) || read_home(lookup->root, id->manager_uid, home))
		return -ENOENT;
	lookup->home = home;
	put_text(lookup->name->id, id->id[0] ? id->id : id->maybe_id);
	lookup->name->runtime = runtime;
	if (look_into_all(lookup, runtime, user_files, sizeof(user_files) / sizeof(user_files[0])) == 0)
		return 0;
	lookup->name->runtime = id->runtime;
	put_text(lookup->name->id, id->id);
	return -ENOENT;
}

int read_container_name(const char *root, const struct container_id *id, struct container_name *ret_name)
{
	struct lookup lookup = {.root = root, .id = id, .name = ret_name};

	memset(ret_name, 0, sizeof(*ret_name));
	ret_name->runtime = id->runtime;
	ret_name->source = "";
	put_text(ret_name->id, id->id);
	if (id->runtime == CONTAINER_RUNTIME_NSPAWN || id->runtime == CONTAINER_RUNTIME_LXC) {
		put_text(ret_name->name, id->id);
		ret_name->source = "cgroup";
		return 0;
	}
	if (id->outermost[0])
		return -ENOENT;
	if (id->in_user_manager)
		return look_into_home(&lookup);
	if (!id->id[0])
		return look_for_candidate(&lookup);
	return look_into_host(&lookup, id->runtime);
}
