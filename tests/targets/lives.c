/* SPDX-License-Identifier: Apache-2.0 */
/* A program that makes its interpreter, runs something in it and ends it, again and again: lives LIBPYTHON. Each has
 * functions of names of its own, which lie where the former one's did: mid_N calls leaf_N. */
#include <dlfcn.h>
#include <stdio.h>

static const char WORK[] = "def leaf_%03d():\n"
			   "    x = 0\n"
			   "    for i in range(1000):\n"
			   "        x += i\n"
			   "def mid_%03d():\n"
			   "    leaf_%03d()\n"
			   "for _ in range(200):\n"
			   "    mid_%03d()\n";

int main(int argc, char **argv)
{
	void (*initialize)(int);
	int (*run)(const char *);
	int (*finalize)(void);
	char text[sizeof(WORK) + 64];
	void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;

	if (!lib)
		return 2;
	*(void **)&initialize = dlsym(lib, "Py_InitializeEx");
	*(void **)&run = dlsym(lib, "PyRun_SimpleString");
	*(void **)&finalize = dlsym(lib, "Py_FinalizeEx");
	if (!initialize || !run || !finalize)
		return 1;
	printf("ready\n");
	fflush(stdout);
	for (int life = 0;; life = (life + 1) % 1000) {
		initialize(0);
		snprintf(text, sizeof(text), WORK, life, life, life, life);
		if (run(text) || finalize())
			return 1;
	}
}
