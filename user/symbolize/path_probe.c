/* SPDX-License-Identifier: Apache-2.0 */
/* openat2() with RESOLVE_CACHED (Linux 5.12) answers from the name cache or fails with EAGAIN; the
 * interpreter has just imported these files, so that is nearly always enough. Older kernels refuse the
 * flag and every question becomes a deadline call.
 */
#include "symbolize/path_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/deadline_call.h"

enum {
	DEADLINE_NS =
		200 * 1000 * 1000, /* a disk answers within 20 ms; past this it is a network or somebody's
					    program */
};

struct path_probe {
	bool gave_up;
};

struct lookup_call {
	int root_fd; /* its own */
	int answer;
	char path[];
};

static int lookup(int root_fd, const char *path, unsigned long long resolve)
{
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | resolve,
	};
	int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

	if (fd >= 0) {
		close(fd);
		return 1;
	}
	if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENAMETOOLONG)
		return 0;
	return -EAGAIN;
}

static void run_lookup(void *block)
{
	struct lookup_call *call = block;

	call->answer = lookup(call->root_fd, call->path, 0);
}

static void lookup_call_free(void *block)
{
	struct lookup_call *call = block;

	close(call->root_fd);
	free(call);
}

static int lookup_with_deadline(struct path_probe *probe, int root_fd, const char *path)
{
	struct lookup_call *call;
	size_t sz = strlen(path) + 1;
	int err, answer;

	if (probe->gave_up)
		return -EAGAIN;
	call = malloc(sizeof(*call) + sz);
	if (!call)
		return -EAGAIN;
	memcpy(call->path, path, sz);
	call->root_fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 3);
	if (call->root_fd < 0) {
		free(call);
		return -EAGAIN;
	}
	err = deadline_call(0, run_lookup, lookup_call_free, call, DEADLINE_NS);
	if (err == -ETIMEDOUT) {
		probe->gave_up = true;
		return -EAGAIN;
	}
	answer = err ? -EAGAIN : call->answer;
	lookup_call_free(call);
	return answer;
}

int path_probe_exists(struct path_probe *probe, int root_fd, const char *path)
{
	int answer = lookup(root_fd, path, RESOLVE_CACHED);

	return answer == -EAGAIN ? lookup_with_deadline(probe, root_fd, path) : answer;
}

int path_probe_new(struct path_probe **ret_probe)
{
	struct path_probe *probe = calloc(1, sizeof(*probe));

	if (!probe)
		return -ENOMEM;
	*ret_probe = probe;
	return 0;
}

void path_probe_free(struct path_probe *probe)
{
	free(probe);
}
