/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"

ssize_t text_file_read(const char *path, char *ret_text, size_t sz)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t have = 0;

	if (fd < 0)
		return -errno;
	while (have < sz - 1) {
		ssize_t got = read(fd, ret_text + have, sz - 1 - have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		have += (size_t)got;
	}
	ret_text[have] = '\0';
	return (ssize_t)have;
}
