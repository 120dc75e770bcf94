/* SPDX-License-Identifier: Apache-2.0 */
/* A process that maps libpython late: late_python LIBPYTHON DELAY_SECONDS SCRIPT_TEXT. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	void (*initialize)(int);
	int (*run)(const char *);
	void *lib;

	if (argc < 4)
		return 2;
	printf("ready\n");
	fflush(stdout);
	usleep((useconds_t)(atof(argv[2]) * 1e6));
	lib = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&initialize = dlsym(lib, "Py_InitializeEx");
	*(void **)&run = dlsym(lib, "PyRun_SimpleString");
	if (!initialize || !run)
		return 1;
	initialize(0);
	return run(argv[3]) ? 1 : 0;
}
