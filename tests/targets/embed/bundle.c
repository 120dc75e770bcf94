/* SPDX-License-Identifier: Apache-2.0 */
/* As programs that carry their own Python do it: bundle LIBPYTHON SECONDS. Copies the library into a new
 * temporary folder, loads it from there, and removes the folder, itself as well. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int copy(const char *from, const char *to)
{
	FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
	char buf[65536];
	size_t got;

	if (!in || !out)
		return -1;
	while ((got = fread(buf, 1, sizeof(buf), in)) > 0)
		if (fwrite(buf, 1, got, out) != got)
			return -1;
	fclose(in);
	return fclose(out);
}

int main(int argc, char **argv)
{
	char folder[] = "/tmp/bundleXXXXXX", path[64], script[256];
	void (*initialize)(int);
	int (*run)(const char *);
	void *lib;

	if (argc < 3 || !mkdtemp(folder))
		return 2;
	snprintf(path, sizeof(path), "%s/libown.so", folder);
	if (copy(argv[1], path))
		return 1;
	lib = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&initialize = dlsym(lib, "Py_InitializeEx");
	*(void **)&run = dlsym(lib, "PyRun_SimpleString");
	if (!initialize || !run)
		return 1;
	initialize(0);
	unlink(path);
	rmdir(folder);
	unlink(argv[0]);
	snprintf(script, sizeof(script),
		 "import time\n"
		 "def bundled_work():\n"
		 "    end = time.monotonic() + %s\n"
		 "    print('ready', flush=True)\n"
		 "    while time.monotonic() < end:\n"
		 "        pass\n"
		 "bundled_work()\n",
		 argv[2]);
	return run(script) ? 1 : 0;
}
