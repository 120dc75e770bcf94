/* SPDX-License-Identifier: Apache-2.0 */
/* A path is read from its root to its end, so that what is found last is the innermost. Where the forms come from:
 *   docker-ID.scope, system.slice:docker:ID, docker/ID   moby daemon/oci_linux.go WithCgroups
 *   cri-containerd-ID.scope, ...:cri-containerd:ID       containerd internal/cri/server/podsandbox getCgroupsPath
 *   crio-ID.scope, crio-conmon-ID.scope                  cri-o internal/config/cgmgr
 *   libpod-ID.scope, libpod_parent/, libpod-payload-ID   podman libpod/container_internal_linux.go
 *   kubepods/QOS/podUID, kubepods-QOS-podUID.slice       kubernetes pkg/kubelet/cm/cgroup_manager_linux.go
 *   machine-NAME.scope, systemd-nspawn@NAME.service      systemd src/machine/machine-dbus.c, src/nspawn
 *   lxc.payload.NAME, lxc.monitor.NAME, lxc/NAME         lxc src/lxc/cgroups/cgfsng.c
 *   ecs/TASK/ID, ecs/TASK/TASK-DIGITS                    Amazon ECS on EC2 and on Fargate
 */
#define _GNU_SOURCE
#include "discover/container_id.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
	HASH_LEN = 64,
	UUID_LEN = 36,
	POD_HASH_LEN = 32, /* of a static pod's file */
	FARGATE_TASK_LEN = 32,
	MACHINE_NAME_LEN = 64, /* HOST_NAME_MAX */
};

/* Not NUL-terminated. */
struct part {
	const char *text;
	size_t sz;
};

struct path_scan {
	struct container_id *id;
	struct part parent; /* "" at the root and behind ".." */
	struct part next;   /* "" at the end */
	bool below_ecs;
	unsigned int container_cnt;
};

static const char *const runtime_texts[CONTAINER_RUNTIME_COUNT] = {
	[CONTAINER_RUNTIME_NONE] = "",
	[CONTAINER_RUNTIME_DOCKER] = "docker",
	[CONTAINER_RUNTIME_CONTAINERD] = "containerd",
	[CONTAINER_RUNTIME_CRIO] = "cri-o",
	[CONTAINER_RUNTIME_PODMAN] = "podman",
	[CONTAINER_RUNTIME_NSPAWN] = "systemd-nspawn",
	[CONTAINER_RUNTIME_LXC] = "lxc",
	[CONTAINER_RUNTIME_OCI] = "oci",
	[CONTAINER_RUNTIME_KUBERNETES] = "kubernetes",
};

/* PREFIX-ID.scope, PREFIX-ID and SLICE:PREFIX:ID. */
static const struct {
	const char *prefix;
	enum container_runtime runtime;
} prefixes[] = {
	{"docker", CONTAINER_RUNTIME_DOCKER},	   {"cri-containerd", CONTAINER_RUNTIME_CONTAINERD},
	{"nerdctl", CONTAINER_RUNTIME_CONTAINERD}, {"crio", CONTAINER_RUNTIME_CRIO},
	{"libpod", CONTAINER_RUNTIME_PODMAN},	   {"libpod-payload", CONTAINER_RUNTIME_PODMAN},
	{"runc", CONTAINER_RUNTIME_OCI},	   {"crun", CONTAINER_RUNTIME_OCI},
	{"youki", CONTAINER_RUNTIME_OCI},
};

/* Groups whose members that are named like a hash are containers. */
static const struct {
	const char *name;
	enum container_runtime runtime;
} parents[] = {
	{"docker", CONTAINER_RUNTIME_DOCKER},
	{"actions_job", CONTAINER_RUNTIME_DOCKER}, /* GitHub's runners */
	{"k8s.io", CONTAINER_RUNTIME_CONTAINERD},  /* containerd's namespaces */
	{"default", CONTAINER_RUNTIME_CONTAINERD},
};

const char *container_runtime_text(enum container_runtime runtime)
{
	return runtime_texts[runtime];
}

static bool part_is(struct part part, const char *text)
{
	return part.sz == strlen(text) && memcmp(part.text, text, part.sz) == 0;
}

static bool part_skip(struct part *part, const char *prefix)
{
	size_t sz = strlen(prefix);

	if (part->sz < sz || memcmp(part->text, prefix, sz) != 0)
		return false;
	part->text += sz;
	part->sz -= sz;
	return true;
}

static bool part_cut(struct part *part, const char *suffix)
{
	size_t sz = strlen(suffix);

	if (part->sz < sz || memcmp(part->text + part->sz - sz, suffix, sz) != 0)
		return false;
	part->sz -= sz;
	return true;
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_name_char(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || strchr("-_.+", c);
}

static bool part_is_all(struct part part, bool (*is_right)(char c))
{
	for (size_t i = 0; i < part.sz; i++) {
		if (!part.text[i] || !is_right(part.text[i]))
			return false;
	}
	return part.sz > 0;
}

static bool is_hash(struct part part, size_t len)
{
	return part.sz == len && part_is_all(part, is_hex);
}

static bool is_name(struct part part, size_t max_len)
{
	return part.sz <= max_len && part_is_all(part, is_name_char);
}

size_t container_short_id_len(const char *id)
{
	size_t len = strlen(id);

	return is_hash((struct part){id, len}, HASH_LEN) ? CONTAINER_SHORT_ID_LEN : len;
}

/* Cut at CONTAINER_ID_SZ, which no component of the kernel's reaches. */
static void put_part(char *ret_text, struct part part)
{
	size_t sz = part.sz < CONTAINER_ID_SZ ? part.sz : CONTAINER_ID_SZ - 1;

	if (sz)
		memcpy(ret_text, part.text, sz);
	ret_text[sz] = '\0';
}

static int hex_value(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* Undoes systemd's \xNN (src/basic/unit-name.c unit_name_unescape) into `ret_text`. */
static struct part unescape(struct part part, char ret_text[CONTAINER_ID_SZ])
{
	size_t out = 0;

	for (size_t i = 0; i < part.sz && out < CONTAINER_ID_SZ; i++) {
		int high = -1, low = -1;

		if (part.text[i] == '\\' && part.sz - i >= 4 && part.text[i + 1] == 'x') {
			high = hex_value(part.text[i + 2]);
			low = hex_value(part.text[i + 3]);
		}
		if (high >= 0 && low >= 0) {
			ret_text[out++] = (char)(high << 4 | low);
			i += 3;
		} else {
			ret_text[out++] = part.text[i];
		}
	}
	return (struct part){ret_text, out};
}

static void enter_container(struct path_scan *scan, enum container_runtime runtime, struct part name)
{
	struct container_id *id = scan->id;

	if (scan->container_cnt++ == 1)
		memcpy(id->outermost, id->id, sizeof(id->outermost));
	/* Podman's cgroupfs driver: POD/libpod-ID */
	if (scan->container_cnt == 1 && runtime == CONTAINER_RUNTIME_PODMAN && id->maybe_id[0] &&
	    part_is(scan->parent, id->maybe_id))
		memcpy(id->pod_uid, id->maybe_id, sizeof(id->pod_uid));
	id->runtime = runtime;
	put_part(id->id, name);
	id->maybe_id[0] = '\0';
	scan->below_ecs = false;
}

static bool is_id_of(enum container_runtime runtime, struct part id)
{
	return runtime == CONTAINER_RUNTIME_OCI ? is_name(id, CONTAINER_ID_SZ - 1) : is_hash(id, HASH_LEN);
}

/* docker-ID.scope, docker-ID */
static bool scan_prefixed(struct path_scan *scan, struct part part)
{
	bool is_scope = part_cut(&part, ".scope");

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		enum container_runtime runtime = prefixes[i].runtime;
		struct part id = part;

		if (!part_skip(&id, prefixes[i].prefix) || !part_skip(&id, "-"))
			continue;
		if ((runtime == CONTAINER_RUNTIME_OCI && !is_scope) || !is_id_of(runtime, id))
			continue;
		enter_container(scan, runtime, id);
		return true;
	}
	return false;
}

static void take_pod(struct path_scan *scan, struct part part);

/* SLICE:PREFIX:ID: a path for the systemd driver that a cgroupfs driver took as it was. */
static bool scan_colons(struct path_scan *scan, struct part part)
{
	const char *first = memchr(part.text, ':', part.sz);
	const char *second = first ? memchr(first + 1, ':', (size_t)(part.text + part.sz - first - 1)) : NULL;
	struct part slice, prefix, id;

	if (!second)
		return false;
	slice = (struct part){part.text, (size_t)(first - part.text)};
	prefix = (struct part){first + 1, (size_t)(second - first - 1)};
	id = (struct part){second + 1, (size_t)(part.text + part.sz - second - 1)};
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		if (!part_is(prefix, prefixes[i].prefix) || !is_id_of(prefixes[i].runtime, id))
			continue;
		take_pod(scan, slice);
		enter_container(scan, prefixes[i].runtime, id);
		return true;
	}
	return false;
}

/* 8-4-4-4-12, with '_' where it is part of a slice's name. */
static bool is_uuid(struct part part)
{
	if (part.sz != UUID_LEN)
		return false;
	for (size_t i = 0; i < UUID_LEN; i++) {
		bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (is_dash ? part.text[i] != '-' && part.text[i] != '_' : !is_hex(part.text[i]))
			return false;
	}
	return true;
}

static bool put_pod(struct path_scan *scan, struct part uid)
{
	char *text = scan->id->pod_uid;

	if (!is_uuid(uid) && !is_hash(uid, POD_HASH_LEN))
		return false;
	put_part(text, uid);
	for (size_t i = 0; text[i]; i++) {
		if (text[i] == '_')
			text[i] = '-';
	}
	return true;
}

/* podUID, kubepods-podUID.slice, kubepods-burstable-podUID.slice, with more in front in nested clusters;
 * X-libpod_pod_HASH.slice is podman's. Returns whether its members may be containers by their name alone. */
static bool find_pod(struct path_scan *scan, struct part part)
{
	struct part uid = part;
	const char *found;

	if (part_skip(&uid, "pod") && put_pod(scan, uid))
		return true;
	if (!part_cut(&part, ".slice"))
		return false;
	found = memmem(part.text, part.sz, "libpod_pod_", 11);
	uid = found ? (struct part){found + 11, (size_t)(part.text + part.sz - found - 11)}
		    : (struct part){0};
	if (is_hash(uid, HASH_LEN)) {
		put_part(scan->id->pod_uid, uid);
		return false;
	}
	found = memmem(part.text, part.sz, "kubepods-", 9);
	uid = found ? (struct part){found + 8, (size_t)(part.text + part.sz - found - 8)} : (struct part){0};
	found = uid.sz ? memmem(uid.text, uid.sz, "-pod", 4) : NULL;
	return found && put_pod(scan, (struct part){found + 4, (size_t)(uid.text + uid.sz - found - 4)});
}

/* Inside a container, pods are that container's own: anybody's UID may stand there. */
static void take_pod(struct path_scan *scan, struct part part)
{
	if (!scan->container_cnt)
		(void)find_pod(scan, part);
}

static bool is_pod(struct part part)
{
	struct container_id unused;
	struct path_scan scan = {.id = &unused};

	return part.sz > 0 && find_pod(&scan, part);
}

/* Fargate's TASK/TASK-DIGITS. */
static bool is_fargate(const struct path_scan *scan, struct part part)
{
	struct part task = scan->parent;

	if (!is_hash(task, FARGATE_TASK_LEN) || part.sz < task.sz + 2 ||
	    memcmp(part.text, task.text, task.sz) != 0 || part.text[task.sz] != '-')
		return false;
	return part_is_all((struct part){part.text + task.sz + 1, part.sz - task.sz - 1}, is_digit);
}

/* A name that is nothing but an id: its place must say that it is one. */
static bool scan_bare(struct path_scan *scan, struct part part)
{
	if (scan->below_ecs && is_fargate(scan, part)) {
		enter_container(scan, CONTAINER_RUNTIME_DOCKER, part);
		return true;
	}
	if (!is_hash(part, HASH_LEN))
		return false;
	for (size_t i = 0; i < sizeof(parents) / sizeof(parents[0]); i++) {
		if (part_is(scan->parent, parents[i].name)) {
			enter_container(scan, parents[i].runtime, part);
			return true;
		}
	}
	if (is_pod(scan->parent)) {
		enter_container(scan, CONTAINER_RUNTIME_KUBERNETES, part);
		return true;
	}
	if (scan->below_ecs) {
		enter_container(scan, CONTAINER_RUNTIME_DOCKER, part);
		return true;
	}
	put_part(scan->id->maybe_id, part);
	return false;
}

/* machine-NAME.scope may be a virtual machine's (libvirt: qemu-1-NAME) or libvirt's LXC (lxc-1-NAME). */
static bool scan_machine(struct path_scan *scan, struct part part)
{
	enum container_runtime runtime = CONTAINER_RUNTIME_NSPAWN;
	char text[CONTAINER_ID_SZ];
	struct part name = part;

	if (!(part_skip(&name, "machine-") && part_cut(&name, ".scope"))) {
		name = part;
		if (!(part_skip(&name, "systemd-nspawn@") && part_cut(&name, ".service")))
			return false;
	}
	name = unescape(name, text);
	if (!is_name(name, MACHINE_NAME_LEN) || part_is(scan->next, "supervisor"))
		return false;
	part = name;
	if (part_skip(&part, "qemu-"))
		return false;
	if (part_skip(&part, "lxc-") && part.sz && is_digit(part.text[0])) {
		while (part.sz && is_digit(part.text[0]))
			part = (struct part){part.text + 1, part.sz - 1};
		if (part_skip(&part, "-") && part.sz) {
			name = part;
			runtime = CONTAINER_RUNTIME_LXC;
		}
	}
	enter_container(scan, runtime, name);
	return true;
}

/* lxc.payload.NAME, and lxc.payload/NAME and lxc/NAME of older releases. */
static bool scan_lxc(struct path_scan *scan, struct part part)
{
	struct part name = part;

	if (!part_skip(&name, "lxc.payload.") && !part_is(scan->parent, "lxc.payload") &&
	    !part_is(scan->parent, "lxc"))
		return false;
	if (!is_name(name, CONTAINER_ID_SZ - 1) || part_is(name, "lxc.pivot"))
		return false;
	enter_container(scan, CONTAINER_RUNTIME_LXC, name);
	return true;
}

static bool is_unit(struct part part)
{
	return part_cut(&part, ".service") || part_cut(&part, ".scope") || part_cut(&part, ".socket") ||
	       part_cut(&part, ".mount") || part_cut(&part, ".swap");
}

static bool take_manager(struct container_id *id, struct part part)
{
	char text[16], *end;
	unsigned long uid;

	if (!part_skip(&part, "user@") || !part_cut(&part, ".service") || part.sz == 0 ||
	    part.sz >= sizeof(text) || !part_is_all(part, is_digit))
		return false;
	memcpy(text, part.text, part.sz);
	text[part.sz] = '\0';
	errno = 0;
	uid = strtoul(text, &end, 10);
	if (errno || *end || uid >= UINT_MAX)
		return false;
	id->in_user_manager = true;
	id->manager_uid = (uid_t)uid;
	return true;
}

/* Inside a container, units are that container's own. */
static void scan_unit(struct path_scan *scan, struct part part)
{
	struct container_id *id = scan->id;

	/* What would collide with a file of the kernel's has a '_' in front (systemd cg_escape). */
	part_skip(&part, "_");
	if (scan->container_cnt || !is_unit(part))
		return;
	if (!id->unit[0]) {
		put_part(id->unit, part);
		take_manager(id, part);
	} else if (id->in_user_manager && !id->user_unit[0]) {
		put_part(id->user_unit, part);
	}
}

static void scan_part(struct path_scan *scan, struct part part)
{
	scan_unit(scan, part);
	if (scan_prefixed(scan, part) || scan_colons(scan, part) || scan_machine(scan, part) ||
	    scan_lxc(scan, part) || scan_bare(scan, part))
		return;
	take_pod(scan, part);
}

static struct part next_part(const char *text, const char *end)
{
	const char *begin = text, *slash;

	while (begin < end && *begin == '/')
		begin++;
	slash = begin < end ? memchr(begin, '/', (size_t)(end - begin)) : NULL;
	return (struct part){begin, (size_t)((slash ? slash : end) - begin)};
}

/* Returns how many containers are nested. */
static unsigned int scan_path(const char *path, size_t sz, struct container_id *ret_id)
{
	struct path_scan scan = {.id = ret_id};
	const char *end = path + sz;
	struct part part = next_part(path, end);

	memset(ret_id, 0, sizeof(*ret_id));
	if (sz >= CONTAINER_PATH_SZ)
		sz = CONTAINER_PATH_SZ - 1;
	memcpy(ret_id->path, path, sz);
	while (part.sz) {
		scan.next = next_part(part.text + part.sz, end);
		if (part_is(part, "..")) {
			part = (struct part){0};
		} else {
			scan_part(&scan, part);
		}
		scan.below_ecs = scan.below_ecs || part_is(part, "ecs");
		scan.parent = part;
		part = scan.next;
	}
	return scan.container_cnt;
}

void decode_cgroup_path(const char *path, size_t sz, struct container_id *ret_id)
{
	scan_path(path, sz, ret_id);
}

/* Whether "cpu" is one of "cpu,cpuacct". */
static bool has_controller(struct part list, const char *name)
{
	while (list.sz) {
		const char *comma = memchr(list.text, ',', list.sz);
		size_t sz = comma ? (size_t)(comma - list.text) : list.sz;

		if (part_is((struct part){list.text, sz}, name))
			return true;
		list.text += comma ? sz + 1 : sz;
		list.sz -= comma ? sz + 1 : sz;
	}
	return false;
}

struct cgroup_line {
	struct part controllers; /* "": v2 */
	struct part path;
};

/* "5:cpu,cpuacct:/path"; a path may hold colons, and of a removed group it ends with " (deleted)". */
static bool decode_line(struct part line, struct cgroup_line *ret_line)
{
	const char *end = line.text + line.sz;
	const char *first = memchr(line.text, ':', line.sz);
	const char *second = first ? memchr(first + 1, ':', (size_t)(end - first - 1)) : NULL;
	struct part path;

	if (!second || !part_is_all((struct part){line.text, (size_t)(first - line.text)}, is_digit))
		return false;
	path = (struct part){second + 1, (size_t)(end - second - 1)};
	if (path.sz == 0 || path.text[0] != '/' || memchr(path.text, '\0', path.sz))
		return false;
	part_cut(&path, " (deleted)");
	ret_line->controllers = (struct part){first + 1, (size_t)(second - first - 1)};
	ret_line->path = path;
	return true;
}

/* The smaller, the better. */
static int line_rank(const struct cgroup_line *line)
{
	static const char *const order[] = {"cpu", "cpuacct", "name=systemd"};
	int cnt = (int)(sizeof(order) / sizeof(order[0]));
	int rank = 0;

	while (line->controllers.sz && rank < cnt && !has_controller(line->controllers, order[rank]))
		rank++;
	if (line->controllers.sz)
		rank++;
	return part_is(line->path, "/") ? rank + cnt + 2 : rank;
}

/* On v1, logins and services often have a group of their own in systemd's hierarchy alone. */
static void take_units(struct container_id *id, const struct container_id *systemd)
{
	if (id->id[0] || id->unit[0])
		return;
	memcpy(id->unit, systemd->unit, sizeof(id->unit));
	memcpy(id->user_unit, systemd->user_unit, sizeof(id->user_unit));
	id->in_user_manager = systemd->in_user_manager;
	id->manager_uid = systemd->manager_uid;
}

struct line_choice {
	bool any;
	unsigned int container_cnt;
	int rank;
	struct container_id systemd; /* of its v1 hierarchy */
};

static void scan_line(struct line_choice *best, const struct cgroup_line *line, struct container_id *id)
{
	struct container_id found;
	unsigned int cnt = scan_path(line->path.text, line->path.sz, &found);
	int rank = line_rank(line);

	if (part_is(line->controllers, "name=systemd"))
		best->systemd = found;
	if (best->any && (cnt < best->container_cnt || (cnt == best->container_cnt && rank >= best->rank)))
		return;
	*id = found;
	best->any = true;
	best->container_cnt = cnt;
	best->rank = rank;
}

int decode_proc_cgroup(const char *text, size_t sz, struct container_id *ret_id)
{
	const char *end = text + sz;
	struct line_choice best = {0};

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		struct part part = {text, (size_t)((newline ? newline : end) - text)};
		struct cgroup_line line;

		if (decode_line(part, &line))
			scan_line(&best, &line, ret_id);
		text = newline ? newline + 1 : end;
	}
	if (!best.any)
		return -EINVAL;
	take_units(ret_id, &best.systemd);
	return 0;
}
