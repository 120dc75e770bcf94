/* SPDX-License-Identifier: Apache-2.0 */
/* A program that is linked to libpython: embedded SECONDS. Its main thread runs a script; a thread of its own
 * enters Python by turns, and runs C in between. */
#include <Python.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char SCRIPT[] = "import time\n"
			     "def from_thread():\n"
			     "    end = time.thread_time() + 0.02\n"
			     "    while time.thread_time() < end:\n"
			     "        pass\n"
			     "def main_work(seconds):\n"
			     "    end = time.monotonic() + seconds\n"
			     "    while time.monotonic() < end:\n"
			     "        pass\n";

static double seconds;

static double thread_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* As much CPU time as the turns in Python. */
void without_python(void)
{
	double end = thread_seconds() + 0.02;

	while (thread_seconds() < end)
		;
}

static void *visit(void *arg)
{
	(void)arg;
	for (;;) {
		PyGILState_STATE state = PyGILState_Ensure();
		PyObject *function = PyObject_GetAttrString(PyImport_AddModule("__main__"), "from_thread");
		PyObject *result = PyObject_CallNoArgs(function);

		Py_XDECREF(result);
		Py_XDECREF(function);
		PyGILState_Release(state);
		without_python();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	char call[64];
	pthread_t thread;

	seconds = argc > 1 ? atof(argv[1]) : 10;
	Py_InitializeEx(0);
	if (PyRun_SimpleString(SCRIPT))
		return 1;
	if (pthread_create(&thread, NULL, visit, NULL))
		return 1;
	snprintf(call, sizeof(call), "main_work(%f)", seconds);
	puts("ready");
	fflush(stdout);
	return PyRun_SimpleString(call) ? 1 : 0;
}
