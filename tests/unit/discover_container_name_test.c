/* SPDX-License-Identifier: Apache-2.0 */
/* State files as the runtimes write them, cut down to the members around those that are read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "discover/container_name.h"
#include "discover/container_table.h"
#include "temp_folder.h"

#define A    "3f2a9c0d5b7e41688a1c2d3e4f5061728394a5b6c7d8e9f00112233445566778"
#define B    "b0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecf"
#define C    "c0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedf"
#define POD  "2f0e5f0c-1234-4b1c-9d1e-0a1b2c3d4e5f"
#define PODS "kubepods/burstable/pod" POD "/"

static char root[] = "/tmp/panopy-state-XXXXXX";

static int make_root(void **state)
{
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	return temp_folder_remove(root);
}

/* With the folders above it. */
static void path_below(char ret_path[512], const char *name)
{
	int sz = snprintf(ret_path, 512, "%s/%s", root, name);

	assert_true(sz < 512);
	for (char *slash = ret_path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		assert_true(mkdir(ret_path, 0755) == 0 || errno == EEXIST);
		*slash = '/';
	}
}

static void put(const char *name, const char *text)
{
	char path[512];
	FILE *file;

	path_below(path, name);
	unlink(path);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static int look_up(const char *cgroup, struct container_name *ret_name)
{
	struct container_id id;

	decode_cgroup_path(cgroup, strlen(cgroup), &id);
	return read_container_name(root, &id, ret_name);
}

static void is_called(const char *cgroup, const char *name, const char *source)
{
	struct container_name found;

	assert_int_equal(look_up(cgroup, &found), 0);
	assert_string_equal(found.name, name);
	assert_string_equal(found.source, source);
	assert_true(found.id[0] && found.runtime != CONTAINER_RUNTIME_NONE);
}

static void is_in_pod(const char *cgroup, const char *space, const char *pod, const char *name)
{
	struct container_name found;

	assert_int_equal(look_up(cgroup, &found), 0);
	assert_string_equal(found.pod_namespace, space);
	assert_string_equal(found.pod_name, pod);
	assert_string_equal(found.name, name);
}

static void is_unknown(const char *cgroup)
{
	struct container_name found;

	assert_int_equal(look_up(cgroup, &found), -ENOENT);
	assert_string_equal(found.name, "");
}

#define DOCKER_FILE "var/lib/docker/containers/" A "/config.v2.json"

static void test_docker(void **state)
{
	static const char labels[] =
		"{\"ID\":\"" A
		"\",\"Created\":\"2024-05-01T10:00:00Z\",\"Config\":{\"Hostname\":\"x\",\"Labels\":{"
		"\"io.kubernetes.container.name\":\"app\",\"io.kubernetes.pod.name\":\"web-6d4\","
		"\"io.kubernetes.pod.namespace\":\"shop\",\"io.kubernetes.pod.uid\":\"" POD "\"}},"
		"\"Name\":\"/k8s_app_web-6d4_shop_0\",\"Driver\":\"overlay2\"}";

	put(DOCKER_FILE,
	    "{\"StreamConfig\":{},\"ID\":\"" A "\",\"Config\":{\"Hostname\":\"0f\",\"Labels\":{}},"
	    "\"Name\":\"/web\",\"Driver\":\"overlay2\"}");
	is_called("/system.slice/docker-" A ".scope", "web", "docker");
	is_called("/docker/" A, "web", "docker");
	/* A place that says nothing: the state does. */
	is_called("/jobs/" A, "web", "docker");
	is_unknown("/docker/" B);
	is_unknown("/jobs/" B);
	put(DOCKER_FILE, labels);
	is_in_pod("/" PODS A, "shop", "web-6d4", "app");
	/* Labels come with images: without a pod's group, and in another pod's, they say nothing. */
	is_in_pod("/docker/" A, "", "", "k8s_app_web-6d4_shop_0");
	is_in_pod("/kubepods/pod2f0e5f0c-1234-4b1c-9d1e-000000000000/" A, "", "", "k8s_app_web-6d4_shop_0");
}

/* A daemon told to keep its containers elsewhere (daemon.json's data-root, or --data-root that nobody can see). */
static void test_docker_elsewhere(void **state)
{
	put("data/docker/containers/" C "/config.v2.json", "{\"ID\":\"" C "\",\"Name\":\"/moved\"}");
	is_unknown("/docker/" C);
	put("etc/docker/daemon.json", "{\"exec-opts\":[],\"data-root\":\"/data/docker\"}");
	is_called("/docker/" C, "moved", "docker");
	is_called("/batch/jobs/" C, "moved", "docker");
	put("etc/docker/daemon.json", "{\"graph\":\"/data/docker/\"}");
	is_called("/docker/" C, "moved", "docker");
	put("etc/docker/daemon.json", "{\"data-root\":7}");
	is_unknown("/docker/" C);
	put("etc/docker/daemon.json", "{\"data-root\":\"data/docker\"}");
	is_unknown("/docker/" C);
	put("etc/docker/daemon.json", "{}");
	is_unknown("/docker/" C);
}

static void test_podman(void **state)
{
	put("var/lib/containers/storage/overlay-containers/containers.json",
	    "[{\"id\":\"" B "\",\"names\":[\"other\"],\"image\":\"i\",\"layer\":\"l\",\"metadata\":\"{}\"},"
	    "{\"id\":\"" A "\",\"names\":[\"db\",\"alias\"],\"image\":\"i\",\"layer\":\"l\"}]");
	is_called("/machine.slice/libpod-" A ".scope/container", "db", "podman");
	is_called("/system.slice/x.service/libpod-payload-" B, "other", "podman");
	is_unknown("/machine.slice/libpod-a" A ".scope");
}

/* Podman 4.4 keeps what --rm made apart, and with --transient-store all that it made where a boot forgets it. */
static void test_podman_removed_at_end(void **state)
{
	static const char kept[] = "var/lib/containers/storage/overlay-containers/volatile-containers.json";
	static const char forgotten[] = "run/containers/storage/overlay-containers/volatile-containers.json";
	static const char of_vfs[] = "var/lib/containers/storage/vfs-containers/volatile-containers.json";

	is_unknown("/libpod_parent/libpod-" C);
	put(kept,
	    "[{\"id\":\"" C "\",\"names\":[\"n5rm\"],\"image\":\"i\",\"layer\":\"l\",\"metadata\":"
	    "\"{\\\"image-name\\\":\\\"localhost/deb:latest\\\",\\\"name\\\":\\\"n5rm\\\"}\",\"created\":"
	    "\"2026-11-22T07:16:26.317080977Z\",\"flags\":{\"MountLabel\":\"\",\"ProcessLabel\":\"\","
	    "\"Volatile\":true}}]");
	is_called("/libpod_parent/libpod-" C, "n5rm", "podman");
	put(kept, "[]");
	put(of_vfs, "[{\"id\":\"" C "\",\"names\":[\"of-vfs\"]}]");
	is_called("/libpod_parent/libpod-" C, "of-vfs", "podman");
	put(of_vfs, "[]");
	put(forgotten, "[{\"id\":\"" C "\",\"names\":[\"ntr\"]}]");
	is_called("/libpod_parent/libpod-" C, "ntr", "podman");
	put(forgotten, "[]");
}

static void test_podman_of_a_user(void **state)
{
	const uid_t self = getuid();
	char text[256], cgroup[512], bare[512], link[512];
	struct container_name found;

	snprintf(text, sizeof(text), "root:x:99999:0::/nobody:/bin/sh\nme:x:%u:1::/users/me:/bin/sh\n", self);
	put("etc/passwd", text);
	put("users/me/.local/share/containers/storage/overlay-containers/containers.json",
	    "[{\"id\":\"" A "\",\"names\":[\"mine\"]}]");
	snprintf(cgroup, sizeof(cgroup),
		 "/user.slice/user-%u.slice/user@%u.service/user.slice/libpod-" A ".scope", self, self);
	is_called(cgroup, "mine", "podman");
	put("users/me/.local/share/containers/storage/overlay-containers/volatile-containers.json",
	    "[{\"id\":\"" B "\",\"names\":[\"gone-at-end\"]}]");
	/* The cgroupfs driver makes runc choose the group: nothing but the id. */
	snprintf(bare, sizeof(bare), "/user.slice/user-%u.slice/user@%u.service/" A, self, self);
	is_called(bare, "mine", "podman");
	assert_int_equal(look_up(bare, &found), 0);
	assert_int_equal(found.runtime, CONTAINER_RUNTIME_PODMAN);
	assert_string_equal(found.id, A);
	snprintf(bare, sizeof(bare), "/user.slice/user-%u.slice/user@%u.service/" B, self, self);
	is_called(bare, "gone-at-end", "podman");
	snprintf(bare, sizeof(bare), "/user.slice/user-%u.slice/user@%u.service/" C, self, self);
	is_unknown(bare);
	assert_int_equal(look_up(bare, &found), -ENOENT);
	assert_string_equal(found.id, "");
	is_unknown("/user.slice/user-77.slice/user@77.service/" A);
	/* Another user's daemon does not speak of it, and nor does the host's. */
	is_unknown("/user.slice/user-99999.slice/user@99999.service/user.slice/libpod-" A ".scope");
	is_unknown("/user.slice/user-77.slice/user@77.service/user.slice/libpod-" A ".scope");
	/* No link at all, on the user's own ground. */
	path_below(link, "users/me/.local/share/containers/storage/vfs-containers");
	assert_int_equal(symlink("overlay-containers", link), 0);
	put("users/me/.local/share/containers/storage/overlay-containers/containers.json", "[]");
	is_unknown(cgroup);
}

static void test_kubernetes(void **state)
{
	static const char annotations[] =
		"{\"ociVersion\":\"1.1.0\",\"process\":{\"args\":[\"python3\"]},\"annotations\":{"
		"\"io.kubernetes.cri.container-name\":\"app\",\"io.kubernetes.cri.container-type\":"
		"\"container\","
		"\"io.kubernetes.cri.sandbox-id\":\"" B "\",\"io.kubernetes.cri.sandbox-name\":\"web-7f\","
		"\"io.kubernetes.cri.sandbox-namespace\":\"prod\",\"io.kubernetes.cri.sandbox-uid\":\"" POD
		"\"}}";
	static const char crio[] =
		"{\"annotations\":{\"io.container.manager\":\"cri-o\",\"io.kubernetes.container.name\":"
		"\"job\","
		"\"io.kubernetes.pod.name\":\"batch-1\",\"io.kubernetes.pod.namespace\":\"night\"}}";

	put("run/containerd/io.containerd.runtime.v2.task/k8s.io/" B "/config.json", annotations);
	is_in_pod("/kubepods.slice/kubepods-pod2f0e5f0c_1234_4b1c_9d1e_0a1b2c3d4e5f.slice/cri-containerd-" B
		  ".scope",
		  "prod", "web-7f", "app");
	is_in_pod("/" PODS B, "prod", "web-7f", "app");
	/* Another runtime than containerd's bundle: what runc keeps for its shim says the same. */
	put("run/containerd/runc/k8s.io/" C "/state.json",
	    "{\"id\":\"" A
	    "\",\"config\":{\"labels\":[\"bundle=/b\",\"io.kubernetes.cri.container-name=side\","
	    "\"io.kubernetes.cri.sandbox-name=web-7f\",\"io.kubernetes.cri.sandbox-namespace=prod\"]}}");
	is_in_pod("/" PODS C, "prod", "web-7f", "side");
	put("run/containers/storage/overlay-containers/" A "/userdata/config.json", crio);
	is_in_pod("/" PODS "crio-" A, "night", "batch-1", "job");
	put("run/containerd/io.containerd.runtime.v2.task/default/" A "/config.json",
	    "{\"annotations\":{\"nerdctl/name\":\"nerd\",\"nerdctl/namespace\":\"default\"}}");
	is_called("/default/" A, "nerd", "containerd");
}

/* Clients of containerd (ctr, nerdctl) choose their namespace, and ctr a name for the id. */
static void test_containerd_namespaces(void **state)
{
	struct container_name found;

	put("run/containerd/runc/foo/fooname/state.json",
	    "{\"id\":\"fooname\",\"init_process_pid\":5099,\"cgroup_paths\":{"
	    "\"\":\"/sys/fs/cgroup/unified/foo/fooname\",\"cpu\":\"/sys/fs/cgroup/cpu/foo/fooname\"},"
	    "\"config\":{\"labels\":[\"bundle=/run/containerd/io.containerd.runtime.v2.task/foo/"
	    "fooname\"]}}");
	is_called("/foo/fooname", "fooname", "containerd");
	assert_int_equal(look_up("/foo/fooname", &found), 0);
	assert_string_equal(found.id, "fooname");
	assert_int_equal(found.runtime, CONTAINER_RUNTIME_CONTAINERD);
	/* The group must be its own. */
	is_unknown("/x/foo/fooname");
	is_unknown("/foo/fooname/below");
	is_unknown("/bar/fooname");
	is_unknown("/foo/../fooname");
	put("run/containerd/runc/dev/" C "/state.json",
	    "{\"id\":\"" C "\",\"cgroup_paths\":{\"\":\"/sys/fs/cgroup/dev/" C "\"},"
	    "\"config\":{\"labels\":[\"bundle=/b\",\"nerdctl/name=nerd-dev\"]}}");
	is_called("/dev/" C, "nerd-dev", "containerd");
	put("run/containerd/runc/dev/" B "/state.json",
	    "{\"id\":\"" B "\",\"cgroup_paths\":{\"\":\"/sys/fs/cgroup/dev/" B "\"},"
	    "\"config\":{\"labels\":[\"bundle=/b\"]}}");
	/* A container without a name. */
	assert_int_equal(look_up("/dev/" B, &found), 0);
	assert_string_equal(found.name, "");
	assert_string_equal(found.id, B);
}

#define TEXT_64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void test_bare_runtimes(void **state)
{
	struct container_name found;

	put("run/runc/job/state.json",
	    "{\"id\":\"job\",\"init_process_pid\":7,\"cgroup_paths\":{"
	    "\"\":\"/sys/fs/cgroup/unified/job\",\"cpu\":\"/sys/fs/cgroup/cpu/job\"},"
	    "\"config\":{\"labels\":[\"bundle=/b\"]}}");
	put("run/crun/web/status", "{\"pid\":5,\"cgroup-path\":\"/group/web\",\"rootfs\":\"/"
				   "r\",\"bundle\":\"/b\",\"created\":\"c\"}");
	is_called("/system.slice/runc-job.scope", "job", "runc");
	is_called("/system.slice/crun-web.scope", "web", "crun");
	/* A group of any name, if the state says that it is the container's. */
	is_called("/job", "job", "runc");
	is_called("/group/web", "web", "crun");
	is_unknown("/other/web");
	is_unknown("/web");
	is_unknown("/job/below");
	/* States that say nothing of use. */
	put("run/crun/bare/status", "{\"pid\":5,\"cgroup-path\":\"\"}");
	is_unknown("/group/bare");
	put("run/crun/far/status",
	    "{\"pid\":5,\"cgroup-path\":\"/" TEXT_64 TEXT_64 TEXT_64 TEXT_64 TEXT_64 "/far\"}");
	is_unknown("/group/far");
	/* Not that of another group, whose path ends like this. */
	put("run/runc/task/state.json",
	    "{\"id\":\"task\",\"cgroup_paths\":{\"\":\"/sys/fs/cgroup/unified/a/task\","
	    "\"cpu\":\"/sys/fs/cgroup/cpu,cpuacct/a/task\",\"name=systemd\":\"/sys/fs/cgroup/systemd/s/"
	    "task\"},"
	    "\"config\":{\"labels\":[\"bundle=/b\"]}}");
	is_unknown("/task");
	is_unknown("/cpu,cpuacct/a/task");
	is_called("/a/task", "task", "runc");
	is_called("/s/task", "task", "runc");
	assert_int_equal(look_up("/system.slice/cron.service", &found), -ENOENT);
	assert_string_equal(found.id, "");
	assert_int_equal(found.runtime, CONTAINER_RUNTIME_NONE);
}

static void test_names_that_are_the_id(void **state)
{
	is_called("/machine.slice/machine-deb\\x2dsid.scope/payload", "deb-sid", "cgroup");
	is_called("/lxc.payload.web/init.scope", "web", "cgroup");
}

/* Root inside of a container may name groups as it likes. */
static void test_nested_is_not_looked_up(void **state)
{
	put(DOCKER_FILE, "{\"Name\":\"/web\"}");
	is_called("/docker/" A, "web", "docker");
	is_unknown("/docker/" B "/docker/" A);
	is_unknown("/lxc.payload.x/docker/" A);
}

static void test_hostile_files(void **state)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"null",
		"7",
		"{\"Name\":7}",
		"{\"Name\":\"\"}",
		"{\"Name\":null,\"Config\":[]}",
		"{\"Config\":{\"Labels\":3}}",
	};
	char path[512], link[512], deep[4096];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		put(DOCKER_FILE, texts[i]);
		is_unknown("/docker/" A);
	}
	memset(deep, '[', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	put(DOCKER_FILE, deep);
	is_unknown("/docker/" A);
	/* larger than any real one */
	put(DOCKER_FILE, "{\"Name\":\"/web\"}");
	path_below(path, DOCKER_FILE);
	assert_int_equal(truncate(path, CONTAINER_STATE_SZ + 1), 0);
	is_unknown("/docker/" A);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	is_unknown("/docker/" A);
	assert_int_equal(unlink(path), 0);
	/* A link stays below the root. */
	put("elsewhere.json", "{\"Name\":\"/web\"}");
	assert_int_equal(symlink("/elsewhere.json", path), 0);
	is_called("/docker/" A, "web", "docker");
	assert_int_equal(unlink(path), 0);
	snprintf(link, sizeof(link), "/../../../..%s/elsewhere.json", root);
	assert_int_equal(symlink(link, path), 0);
	is_unknown("/docker/" A);
	assert_int_equal(unlink(path), 0);
}

static const struct container *find(struct container_table *table, const char *cgroup)
{
	struct container_id id;

	decode_cgroup_path(cgroup, strlen(cgroup), &id);
	return container_table_find(table, &id);
}

static void test_table(void **state)
{
	struct container_table *table;
	const struct container *web, *nested;

	put(DOCKER_FILE, "{\"Name\":\"/web\"}");
	assert_int_equal(container_table_new(&table, root), 0);
	web = find(table, "/docker/" A);
	assert_non_null(web);
	assert_string_equal(web->name, "web");
	assert_string_equal(web->name_source, "docker");
	assert_string_equal(web->id, A);
	assert_null(web->pod_uid);
	assert_null(web->outermost);
	/* Read once; every group of it is that container's. */
	put(DOCKER_FILE, "{\"Name\":\"/renamed\"}");
	assert_ptr_equal(find(table, "/docker/" A), web);
	assert_ptr_equal(find(table, "/docker/" A "/init"), web);
	assert_string_equal(web->name, "web");
	/* The same id elsewhere is another container. */
	nested = find(table, "/docker/" B "/docker/" A);
	assert_ptr_not_equal(nested, web);
	assert_null(nested->name);
	assert_string_equal(nested->outermost, B);
	assert_ptr_not_equal(find(table, "/user.slice/user@7.service/docker-" A ".scope"), web);
	assert_null(find(table, "/system.slice/cron.service"));
	assert_null(find(table, "/"));
	container_table_free(table);
	assert_int_equal(container_table_new(&table, NULL), 0);
	assert_null(find(table, "/docker/" A)->name);
	container_table_free(table);
}

/* What is past the maximum is in a container, though nobody knows in which. */
static void test_table_is_bounded(void **state)
{
	struct container_table *table;
	const struct container *first;
	char cgroup[128];

	assert_int_equal(container_table_new(&table, NULL), 0);
	first = find(table, "/docker/" A);
	for (unsigned int i = 1; i < CONTAINER_TABLE_MAX; i++) {
		snprintf(cgroup, sizeof(cgroup), "/docker/%064x", i);
		assert_ptr_not_equal(find(table, cgroup), &CONTAINER_UNKNOWN);
	}
	assert_ptr_equal(find(table, "/docker/" B), &CONTAINER_UNKNOWN);
	assert_string_equal(find(table, "/docker/" B)->id, "?");
	assert_ptr_equal(find(table, "/docker/" A), first);
	assert_ptr_equal(find(table, "/docker/" A "/init"), first);
	assert_null(find(table, "/system.slice/cron.service"));
	container_table_free(table);
}

/* Groups are many where one container makes them: they are no containers. */
static void test_groups_do_not_fill_the_table(void **state)
{
	struct container_table *table;
	const struct container *first;
	char cgroup[128];

	assert_int_equal(container_table_new(&table, NULL), 0);
	first = find(table, "/docker/" A);
	for (unsigned int i = 0; i < CONTAINER_TABLE_MAX + 10; i++) {
		snprintf(cgroup, sizeof(cgroup), "/docker/" A "/%u", i);
		assert_ptr_equal(find(table, cgroup), first);
	}
	assert_string_equal(find(table, "/docker/" B)->id, B);
	container_table_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_docker),
		cmocka_unit_test(test_docker_elsewhere),
		cmocka_unit_test(test_podman),
		cmocka_unit_test(test_podman_removed_at_end),
		cmocka_unit_test(test_podman_of_a_user),
		cmocka_unit_test(test_kubernetes),
		cmocka_unit_test(test_containerd_namespaces),
		cmocka_unit_test(test_bare_runtimes),
		cmocka_unit_test(test_names_that_are_the_id),
		cmocka_unit_test(test_nested_is_not_looked_up),
		cmocka_unit_test(test_hostile_files),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_table_is_bounded),
		cmocka_unit_test(test_groups_do_not_fill_the_table),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
