/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "discover/container_id.h"

#define A	 "3f2a9c0d5b7e41688a1c2d3e4f5061728394a5b6c7d8e9f00112233445566778"
#define B	 "b0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecf"
#define POD	 "2f0e5f0c-1234-4b1c-9d1e-0a1b2c3d4e5f"
#define POD_	 "2f0e5f0c_1234_4b1c_9d1e_0a1b2c3d4e5f"
#define STATIC	 "0123456789abcdef0123456789abcdef"
#define BURSTING "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD_ ".slice"
#define USER	 "/user.slice/user-1000.slice/user@1000.service"

/* What is not named in a row is empty. */
struct row {
	const char *text;
	enum container_runtime runtime;
	const char *id;
	const char *pod;
	const char *unit;
	const char *user_unit;
	const char *outermost;
	const char *maybe;
	const char *path; /* only where the choice among lines matters */
};

#define IS(kind, text) .runtime = CONTAINER_RUNTIME_##kind, .id = (text)

static const struct row containers[] = {
	/* Docker */
	{"0::/system.slice/docker-" A ".scope\n", IS(DOCKER, A), .unit = "docker-" A ".scope"},
	{"0::/docker/" A "\n", IS(DOCKER, A)},
	{"0::/docker/" A, IS(DOCKER, A)},
	{"12:memory:/docker/" A "\n4:cpu,cpuacct:/docker/" A "\n1:name=systemd:/docker/" A "\n",
	 IS(DOCKER, A), .path = "/docker/" A},
	/* hybrid, cgroupfs driver: v2 still names the daemon that started it */
	{"4:cpu,cpuacct:/docker/" A "\n1:name=systemd:/docker/" A "\n0::/system.slice/containerd.service\n",
	 IS(DOCKER, A), .path = "/docker/" A},
	{"0::/system.slice:docker:" A "\n", IS(DOCKER, A)},
	{"0::/my.slice/my-batch.slice/docker-" A ".scope\n", IS(DOCKER, A), .unit = "docker-" A ".scope"},
	{"0::/actions_job/" A "\n", IS(DOCKER, A)},
	{"0::" USER "/user.slice/docker-" A ".scope\n", IS(DOCKER, A), .unit = "user@1000.service",
	 .user_unit = "docker-" A ".scope"},
	/* a service manager of the container's own */
	{"0::/system.slice/docker-" A ".scope/system.slice/nginx.service\n", IS(DOCKER, A),
	 .unit = "docker-" A ".scope"},
	/* nested: the innermost, also where its daemon moved itself into a group of its own */
	{"0::/docker/" A "/docker/" B "\n", IS(DOCKER, B), .outermost = A},
	{"0::/docker/" A "/init\n", IS(DOCKER, A)},
	{"0::/system.slice/docker-" A ".scope/kubelet.slice/kubelet-kubepods.slice/"
	 "kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod" POD_ ".slice/cri-containerd-" B
	 ".scope\n",
	 IS(CONTAINERD, B), .outermost = A, .unit = "docker-" A ".scope"},
	{"0::/docker/" A "/kubelet/kubepods/besteffort/pod" POD "/" B "\n", IS(KUBERNETES, B),
	 .outermost = A},
	/* a pod that a container's root made below it is none of the host's */
	{"0::/docker/" A "/kubepods/pod" POD "\n", IS(DOCKER, A)},
	{"0::/docker/" A "/kubepods-pod" POD_ ".slice\n", IS(DOCKER, A)},
	{"0::/docker/" A "/machine-libpod_pod_" B ".slice\n", IS(DOCKER, A)},
	{"0::/docker/" A "/" B "/libpod-" B "\n", IS(PODMAN, B), .outermost = A},
	{"0::/docker/" A "/kubepods-pod" POD_ ".slice:cri-containerd:" B "\n", IS(CONTAINERD, B),
	 .outermost = A},
	{"0::/kubepods/pod" STATIC "/" A "/kubepods/pod" POD "\n", IS(KUBERNETES, A), .pod = STATIC},
	/* v1: an inner daemon made groups in some hierarchies only */
	{"9:pids:/docker/" A "\n8:memory:/docker/" A "/docker/" B "\n1:name=systemd:/docker/" A "\n",
	 IS(DOCKER, B), .outermost = A, .path = "/docker/" A "/docker/" B},
	/* Kubernetes by runtime and driver */
	{"0::" BURSTING "/cri-containerd-" A ".scope\n", IS(CONTAINERD, A), .pod = POD,
	 .unit = "cri-containerd-" A ".scope"},
	{"0::/kubepods.slice/kubepods-pod" POD_ ".slice/cri-containerd-" A ".scope\n", IS(CONTAINERD, A),
	 .pod = POD, .unit = "cri-containerd-" A ".scope"},
	{"0::" BURSTING "/docker-" A ".scope\n", IS(DOCKER, A), .pod = POD, .unit = "docker-" A ".scope"},
	{"0::" BURSTING "/crio-" A ".scope\n", IS(CRIO, A), .pod = POD, .unit = "crio-" A ".scope"},
	{"0::" BURSTING "/crio-" A ".scope/container\n", IS(CRIO, A), .pod = POD, .unit = "crio-" A ".scope"},
	{"0::/kubepods/burstable/pod" POD "/" A "\n", IS(KUBERNETES, A), .pod = POD},
	{"0::/kubepods/pod" POD "/" A "\n", IS(KUBERNETES, A), .pod = POD},
	{"0::/kubepods/besteffort/pod" POD "/crio-" A "\n", IS(CRIO, A), .pod = POD},
	{"0::/kubepods/burstable/pod" STATIC "/" A "\n", IS(KUBERNETES, A), .pod = STATIC},
	{"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" STATIC
	 ".slice/cri-containerd-" A ".scope\n",
	 IS(CONTAINERD, A), .pod = STATIC, .unit = "cri-containerd-" A ".scope"},
	{"11:cpu,cpuacct:/kubepods/burstable/pod" POD "/" A "\n1:name=systemd:/kubepods/burstable/pod" POD
	 "/" A "\n0::/system.slice/kubelet.service\n",
	 IS(KUBERNETES, A), .pod = POD},
	{"0::/kubepods-burstable-pod" POD_ ".slice:cri-containerd:" A "\n", IS(CONTAINERD, A), .pod = POD},
	{"1:name=systemd:/system.slice/containerd.service/kubepods-pod" POD_ ".slice:cri-containerd:" A "\n",
	 IS(CONTAINERD, A), .pod = POD, .unit = "containerd.service"},
	{"0::/kubepods.slice/kubepods-besteffort-pod" POD_ ".slice:crio:" A "\n", IS(CRIO, A), .pod = POD},
	/* a user's own cluster: the pod's place says whose */
	{"0::" USER "/kubepods/pod" POD "/" A "\n", IS(KUBERNETES, A), .pod = POD,
	 .unit = "user@1000.service"},
	/* a daemon inside of a pod */
	{"0::/kubepods/burstable/pod" POD "/" A "/docker/" B "\n", IS(DOCKER, B), .pod = POD, .outermost = A},
	/* containerd without Kubernetes */
	{"0::/default/" A "\n", IS(CONTAINERD, A)},
	{"0::/k8s.io/" A "\n", IS(CONTAINERD, A)},
	{"0::/system.slice/nerdctl-" A ".scope\n", IS(CONTAINERD, A), .unit = "nerdctl-" A ".scope"},
	{"0::" USER "/user.slice/nerdctl-" A ".scope\n", IS(CONTAINERD, A), .unit = "user@1000.service",
	 .user_unit = "nerdctl-" A ".scope"},
	/* Podman */
	{"0::/machine.slice/libpod-" A ".scope\n", IS(PODMAN, A), .unit = "libpod-" A ".scope"},
	{"0::/machine.slice/libpod-" A ".scope/container\n", IS(PODMAN, A), .unit = "libpod-" A ".scope"},
	{"0::/machine.slice/machine-libpod_pod_" B ".slice/libpod-" A ".scope/container\n", IS(PODMAN, A),
	 .pod = B, .unit = "libpod-" A ".scope"},
	{"0::/libpod_parent/libpod-" A "\n", IS(PODMAN, A)},
	{"0::/libpod_parent/" B "/libpod-" A "\n", IS(PODMAN, A), .pod = B},
	{"0::/batch/" B "/libpod-" A "\n", IS(PODMAN, A), .pod = B},
	{"0::/batch/libpod-" A "\n", IS(PODMAN, A)},
	{"9:name=systemd:/\n1:cpu:/\n0::/libpod_parent/libpod-" A "\n", IS(PODMAN, A)},
	{"0::/docker/" B "/libpod_parent/libpod-" A "\n", IS(PODMAN, A), .outermost = B},
	{"0::/docker/" B "/libpod-" A "\n", IS(PODMAN, A), .outermost = B},
	{"0::" USER "/user.slice/user-libpod_pod_" B ".slice/libpod-" A ".scope\n", IS(PODMAN, A), .pod = B,
	 .unit = "user@1000.service", .user_unit = "libpod-" A ".scope"},
	{"0::" USER "/app/libpod-" A "\n", IS(PODMAN, A), .unit = "user@1000.service"},
	{"0::/system.slice/web.service/libpod-payload-" A "\n", IS(PODMAN, A), .unit = "web.service"},
	{"0::" USER "/user.slice/libpod-" A ".scope/container\n", IS(PODMAN, A), .unit = "user@1000.service",
	 .user_unit = "libpod-" A ".scope"},
	{"0::" USER "/app.slice/web.service/libpod-payload-" A "\n", IS(PODMAN, A),
	 .unit = "user@1000.service", .user_unit = "web.service"},
	{"0::/machine.slice:libpod:" A "\n", IS(PODMAN, A)},
	/* machines */
	{"0::/machine.slice/machine-deb\\x2dsid.scope/payload\n", IS(NSPAWN, "deb-sid"),
	 .unit = "machine-deb\\x2dsid.scope"},
	{"0::/machine.slice/machine-web.scope/payload/system.slice/nginx.service\n", IS(NSPAWN, "web"),
	 .unit = "machine-web.scope"},
	{"1:name=systemd:/machine.slice/machine-web.scope\n", IS(NSPAWN, "web"), .unit = "machine-web.scope"},
	{"0::/machine.slice/systemd-nspawn@build\\x2d1.service/payload/init.scope\n", IS(NSPAWN, "build-1"),
	 .unit = "systemd-nspawn@build\\x2d1.service"},
	{"0::/machine.slice/machine-lxc\\x2d123\\x2dweb\\x2d1.scope/libvirt\n", IS(LXC, "web-1"),
	 .unit = "machine-lxc\\x2d123\\x2dweb\\x2d1.scope"},
	{"0::/machine.slice/machine-a.scope/payload/machine.slice/machine-b.scope/payload\n", IS(NSPAWN, "b"),
	 .unit = "machine-a.scope", .outermost = "a"},
	/* LXC, LXD, Incus, Proxmox */
	{"0::/lxc.payload.web-1/init.scope\n", IS(LXC, "web-1")},
	{"0::/lxc.payload.a.b\n", IS(LXC, "a.b")},
	{"0::/lxc.payload/web\n", IS(LXC, "web")},
	{"4:cpu,cpuacct:/lxc/101/ns\n1:name=systemd:/lxc/101/ns/system.slice/cron.service\n", IS(LXC, "101"),
	 .path = "/lxc/101/ns"},
	{"0::/user.slice/user-1000.slice/session-3.scope/lxc.payload.web\n", IS(LXC, "web"),
	 .unit = "session-3.scope"},
	{"0::/lxc.payload.host/docker/" A "\n", IS(DOCKER, A), .outermost = "host"},
	/* runtimes without anything above them */
	{"0::/system.slice/runc-job_1.scope\n", IS(OCI, "job_1"), .unit = "runc-job_1.scope"},
	{"0::/user.slice/crun-web.scope/container\n", IS(OCI, "web"), .unit = "crun-web.scope"},
	/* Amazon ECS on EC2 (both drivers) and on Fargate */
	{"0::/ecs/" STATIC "/" A "\n", IS(DOCKER, A)},
	{"0::/ecs/cluster/" STATIC "/" A "\n", IS(DOCKER, A)},
	{"0::/ecs/" STATIC "/" STATIC "-1234567890\n", IS(DOCKER, STATIC "-1234567890")},
	{"0::/ecstasks.slice/ecstasks-" STATIC ".slice/docker-" A ".scope\n", IS(DOCKER, A),
	 .unit = "docker-" A ".scope"},
	/* seen from inside of a cgroup namespace */
	{"0::/../docker-" A ".scope\n", IS(DOCKER, A), .unit = "docker-" A ".scope"},
	{"0::/../../../kubepods-burstable.slice/kubepods-burstable-pod" POD_ ".slice/cri-containerd-" A
	 ".scope\n",
	 IS(CONTAINERD, A), .pod = POD, .unit = "cri-containerd-" A ".scope"},
	{"0::/../../pod" POD "/" A "\n", IS(KUBERNETES, A), .pod = POD},
	{.text = "0::/../../cron.service\n", .unit = "cron.service", .path = "/../../cron.service"},
	/* removed meanwhile */
	{"0::/system.slice/docker-" A ".scope (deleted)\n", IS(DOCKER, A), .unit = "docker-" A ".scope",
	 .path = "/system.slice/docker-" A ".scope"},
};

static const struct row none[] = {
	{.text = "0::/\n", .path = "/"},
	{.text = "0::/init.scope\n", .unit = "init.scope"},
	{.text = "0::/system.slice/docker.service\n", .unit = "docker.service"},
	{.text = "0::/system.slice/postgresql@15-main.service/workers\n",
	 .unit = "postgresql@15-main.service"},
	{.text = "0::" USER "/app.slice/app-editor.scope\n",
	 .unit = "user@1000.service",
	 .user_unit = "app-editor.scope"},
	{.text = "0::/system.slice/_cgroup.service\n", .unit = "cgroup.service"},
	/* like a hash, but nothing says that it is a container */
	{.text = "0::/" A "\n", .maybe = A},
	{.text = "0::/builds/" A "\n", .maybe = A},
	{.text = "0::/system.slice/ci.service/" A "\n", .unit = "ci.service", .maybe = A},
	{.text = "0::/process_api/" STATIC "\n"},
	{.text = "0::/docker/3f2a9c0d5b7e\n"},
	{.text = "0::/docker/" A "0\n"},
	{.text = "0::/docker/3F2A9C0D5B7E41688A1C2D3E4F5061728394A5B6C7D8E9F00112233445566778\n"},
	{.text = "0::/docker/buildkit/k2x9xw8l3m0d7hjvqz5b1c4t6\n"},
	{.text = "0::/system.slice/docker-proxy.scope\n", .unit = "docker-proxy.scope"},
	{.text = "0::/default/redis\n"},
	{.text = "0::/ecs/" STATIC "/" STATIC "-x1\n"},
	{.text = "0::/ecs/" STATIC "/0123456789abcdef0123456789abcde0-12345\n"},
	{.text = "0::/kubepods/podnotauid/x\n"},
	{.text = "0::/kubepods/burstable/pod" POD "\n", .pod = POD},
	{.text = "0::/my-pod" POD_ ".slice/web.service\n", .unit = "web.service"},
	/* what watches a container is not in it */
	{.text = "0::" BURSTING "/crio-conmon-" A ".scope\n", .pod = POD, .unit = "crio-conmon-" A ".scope"},
	{.text = "0::/machine.slice/libpod-conmon-" A ".scope\n", .unit = "libpod-conmon-" A ".scope"},
	{.text = "0::/libpod_parent/conmon\n"},
	{.text = "0::/libpod_parent/" B "/conmon\n", .maybe = B},
	/* a user's own Podman with the cgroupfs driver; containers by a name, of a client of containerd */
	{.text = "0::" USER "/" A "\n", .unit = "user@1000.service", .maybe = A},
	{.text = "9:name=systemd:/default/web\n1:cpu:/default/web\n0::/default/web\n",
	 .path = "/default/web"},
	{.text = "0::/system.slice/web.service/supervisor\n", .unit = "web.service"},
	{.text = "0::/machine.slice/machine-web.scope/supervisor\n", .unit = "machine-web.scope"},
	{.text = "0::/machine.slice/systemd-nspawn@web.service/supervisor\n",
	 .unit = "systemd-nspawn@web.service"},
	{.text = "0::/lxc.monitor.web\n"},
	{.text = "0::/lxc.monitor/101\n"},
	{.text = "0::/lxc.pivot\n"},
	{.text = "0::/machine.slice/machine-qemu\\x2d1\\x2dvm.scope/libvirt/emulator\n",
	 .unit = "machine-qemu\\x2d1\\x2dvm.scope"},
	/* names that no runtime gives */
	{.text = "0::/machine.slice/machine-a\\x2fb.scope/payload\n", .unit = "machine-a\\x2fb.scope"},
	{.text = "0::/machine.slice/machine-.scope/payload\n", .unit = "machine-.scope"},
	{.text = "0::/system.slice/runc-.scope\n", .unit = "runc-.scope"},
	{.text = "0::/lxc.payload.\n"},
	{.text = "0::/lxc.payload.a b\x01\n"},
	{.text = "0::/a:b:" A "\n"},
	{.text = "0::/x/user@99999999999.service/a.service\n", .unit = "user@99999999999.service"},
	{.text = "0::/../..\n"},
	/* v1 without groups for cpu: systemd's names the unit, and where only another has groups, that is it */
	{.text = "4:cpu,cpuacct:/user.slice\n1:name=systemd:/user.slice/user-7.slice/session-3.scope\n0::/\n",
	 .unit = "session-3.scope",
	 .path = "/user.slice"},
	{.text = "9:name=systemd:/\n4:memory:/jobs/1\n2:cpuacct:/\n1:cpu:/\n0::/\n", .path = "/jobs/1"},
	{.text = "2:cpuacct:/b\n1:cpu:/a\n0::/\n", .path = "/a"},
	{.text = "1:cpu:/a\n0::/c\n", .path = "/c"},
	/* lines that are none */
	{.text = "x\n:\n1:\n1::\n:::/a\nz::/b\n0::relative\n0::/ok\n", .path = "/ok"},
};

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

static void check_row(const struct row *row)
{
	struct container_id id;

	memset(&id, 0xa5, sizeof(id));
	assert_int_equal(decode_proc_cgroup(row->text, strlen(row->text), &id), 0);
	if (strcmp(id.id, or_empty(row->id)) != 0 || id.runtime != row->runtime)
		fail_msg("%s is \"%s\" of %s", row->text, id.id, container_runtime_text(id.runtime));
	if (strcmp(id.pod_uid, or_empty(row->pod)) != 0)
		fail_msg("%s has the pod %s", row->text, id.pod_uid);
	if (strcmp(id.outermost, or_empty(row->outermost)) != 0)
		fail_msg("%s is in %s", row->text, id.outermost);
	if (strcmp(id.unit, or_empty(row->unit)) != 0 || strcmp(id.user_unit, or_empty(row->user_unit)) != 0)
		fail_msg("%s has the units \"%s\" and \"%s\"", row->text, id.unit, id.user_unit);
	if (strcmp(id.maybe_id, or_empty(row->maybe)) != 0)
		fail_msg("%s may be \"%s\"", row->text, id.maybe_id);
	if (row->path)
		assert_string_equal(id.path, row->path);
}

static void test_containers(void **state)
{
	for (size_t i = 0; i < sizeof(containers) / sizeof(containers[0]); i++)
		check_row(&containers[i]);
}

static void test_no_containers(void **state)
{
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		check_row(&none[i]);
}

static void test_user_managers(void **state)
{
	static const char rootless[] = "0::" USER "/user.slice/libpod-" A ".scope/container\n";
	static const char inside[] = "0::/docker/" A USER "/app.slice/x.service\n";
	struct container_id id;

	assert_int_equal(decode_proc_cgroup(rootless, sizeof(rootless) - 1, &id), 0);
	assert_true(id.in_user_manager);
	assert_int_equal(id.manager_uid, 1000);
	/* A user of the container's is none of the host's. */
	assert_int_equal(decode_proc_cgroup(inside, sizeof(inside) - 1, &id), 0);
	assert_false(id.in_user_manager);
	assert_string_equal(id.unit, "");
	assert_string_equal(id.id, A);
}

static void test_not_this_format(void **state)
{
	static const char *const texts[] = {"", "\n", "0::", "0:/x", "-1::/x\n", "0::x\n", "::/x\n"};
	static const char with_nul[] = "0::/a\0b\n";
	struct container_id id;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(decode_proc_cgroup(texts[i], strlen(texts[i]), &id), -EINVAL);
	assert_int_equal(decode_proc_cgroup(with_nul, sizeof(with_nul) - 1, &id), -EINVAL);
}

static void test_lengths(void **state)
{
	static char text[3 * CONTAINER_PATH_SZ];
	struct container_id id;

	/* Longer than any path of the kernel's: cut, and so are components. */
	memset(text, 'a', sizeof(text));
	memcpy(text, "0::/lxc.payload.", 16);
	assert_int_equal(decode_proc_cgroup(text, sizeof(text), &id), 0);
	assert_int_equal(strlen(id.path), CONTAINER_PATH_SZ - 1);
	assert_string_equal(id.id, "");
	text[16 + CONTAINER_ID_SZ - 1] = '/';
	assert_int_equal(decode_proc_cgroup(text, sizeof(text), &id), 0);
	assert_int_equal(strlen(id.id), CONTAINER_ID_SZ - 1);
	/* A path of nothing but slashes and dots. */
	for (size_t i = 3; i < sizeof(text); i++)
		text[i] = i % 3 ? '.' : '/';
	assert_int_equal(decode_proc_cgroup(text, sizeof(text), &id), 0);
	assert_string_equal(id.id, "");
}

static void test_short_ids(void **state)
{
	assert_int_equal(container_short_id_len(A), 12);
	assert_int_equal(container_short_id_len("web-with-a-long-name"), 20);
	assert_int_equal(container_short_id_len(""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_containers),    cmocka_unit_test(test_no_containers),
		cmocka_unit_test(test_user_managers), cmocka_unit_test(test_not_this_format),
		cmocka_unit_test(test_lengths),	      cmocka_unit_test(test_short_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
