/* SPDX-License-Identifier: Apache-2.0 */
/* Maps the files FOLDER/0 to FOLDER/COUNT-1 executable, for good and each time as a file that has changed, so that
 * whoever looks at it has to do so anew: mapper FOLDER COUNT. It runs no Python.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAPPED_MAX = 1024, MAPPED_SZ = 4096 };

int main(int argc, char **argv)
{
	static void *mapped[MAPPED_MAX];
	int cnt = argc == 3 ? atoi(argv[2]) : 0;

	if (cnt < 1 || cnt > MAPPED_MAX)
		return 2;
	for (int i = 0;; i = (i + 1) % cnt) {
		char path[512];
		int fd;

		snprintf(path, sizeof(path), "%s/%d", argv[1], i);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || futimens(fd, NULL))
			return 1;
		if (mapped[i])
			munmap(mapped[i], MAPPED_SZ);
		mapped[i] = mmap(NULL, MAPPED_SZ, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		close(fd);
		if (mapped[i] == MAP_FAILED)
			return 1;
		usleep(1000);
	}
}
