/* SPDX-License-Identifier: Apache-2.0 */
#include "discover/container_id.h"
#include "fuzz_driver.h"

static void check_text(const char *text, size_t sz)
{
	if (strnlen(text, sz) == sz || memchr(text, '\n', strlen(text)) || memchr(text, '/', strlen(text)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	struct container_id id;

	if (decode_proc_cgroup((const char *)data, sz, &id) != 0)
		return 0;
	if (id.path[0] != '/' || strnlen(id.path, sizeof(id.path)) == sizeof(id.path))
		abort();
	check_text(id.id, sizeof(id.id));
	check_text(id.outermost, sizeof(id.outermost));
	check_text(id.pod_uid, sizeof(id.pod_uid));
	check_text(id.maybe_id, sizeof(id.maybe_id));
	check_text(id.unit, sizeof(id.unit));
	check_text(id.user_unit, sizeof(id.user_unit));
	if (id.runtime >= CONTAINER_RUNTIME_COUNT || (id.runtime == CONTAINER_RUNTIME_NONE) != !id.id[0])
		abort();
	if (container_short_id_len(id.id) > strlen(id.id))
		abort();
	return 0;
}

#ifndef PANOPY_LIBFUZZER
#define HASH "3f2a9c0d5b7e41688a1c2d3e4f5061728394a5b6c7d8e9f00112233445566778"

int main(void)
{
	static const char v1[] =
		"12:memory:/docker/" HASH "/docker/" HASH "\n"
		"5:cpu,cpuacct:/kubepods/burstable/pod2f0e5f0c-1234-4b1c-9d1e-0a1b2c3d4e5f/" HASH "\n"
		"3:devices:/ecs/0123456789abcdef0123456789abcdef/0123456789abcdef0123456789abcdef-12345678\n"
		"1:name=systemd:/user.slice/user-1000.slice/user@1000.service/app.slice/x.service\n"
		"0::/lxc.payload.web/lxc/web\n";
	static const char v2[] =
		"0::/../system.slice/docker-" HASH ".scope/kubelet.slice/"
		"kubelet-kubepods-burstable-pod2f0e5f0c_1234_4b1c_9d1e_0a1b2c3d4e5f.slice:cri-"
		"containerd:" HASH "/machine.slice/machine-a\\x2db.scope/payload/libpod-" HASH
		".scope (deleted)\n";

	fuzz_run(v1, sizeof(v1) - 1, 100000);
	fuzz_run(v2, sizeof(v2) - 1, 100000);
	return 0;
}
#endif
