/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "discover/python_command.h"

/* "python3|-m|http.server": | stands for the NUL between arguments. */
static void expect(const char *command, const char *subject)
{
	char text[256];
	size_t sz = strlen(command), got_sz;
	const char *got;

	memcpy(text, command, sz);
	for (size_t i = 0; i < sz; i++)
		text[i] = text[i] == '|' ? '\0' : text[i];
	got = python_command_subject(text, sz, &got_sz);
	if (!subject) {
		assert_null(got);
		return;
	}
	assert_non_null(got);
	assert_int_equal(got_sz, strlen(subject));
	assert_memory_equal(got, subject, got_sz);
}

static void test_scripts(void **state)
{
	expect("python3|app.py|", "app.py");
	expect("/usr/bin/python3.12|/srv/app.py|--name|x|", "/srv/app.py");
	expect("python3|-u|-B|app.py", "app.py");
	expect("python3|-X|importtime|-W|ignore|app.py|", "app.py");
	expect("python3|-Ximporttime|-Wignore|app.py|", "app.py");
	expect("python3|--check-hash-based-pycs|never|app.py|", "app.py");
	expect("python3|-bBX|dev|app.py|", "app.py");
}

static void test_modules(void **state)
{
	expect("python3|-m|http.server|8000|", "http.server");
	expect("python3|-mhttp.server|", "http.server");
	expect("python3|-um|celery.bin|worker|", "celery.bin");
}

static void test_neither(void **state)
{
	expect("python3|-c|import time|", "python3");
	expect("python3|-ic|import time|app.py", "python3");
	expect("python3|", "python3");
	expect("python3|-|x.py|", "python3");
	expect("python3|-m|", "python3");
	expect("python3|-X|", "python3");
	expect("uwsgi|--ini|/etc/app.ini|", "uwsgi");
	expect("gunicorn: worker [web]|", "gunicorn: worker [web]");
	expect("", NULL);
}

/* Cut anywhere, without a NUL behind it. */
static void test_cut(void **state)
{
	static const char COMMAND[] = "python3\0-X\0importtime\0-m\0package.module";

	for (size_t sz = 0; sz < sizeof(COMMAND); sz++) {
		char exact[sizeof(COMMAND)];
		size_t got_sz;
		const char *got;

		memcpy(exact, COMMAND, sz);
		got = python_command_subject(exact, sz, &got_sz);
		assert_true(!got || (got >= exact && got + got_sz <= exact + sz));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scripts),
		cmocka_unit_test(test_modules),
		cmocka_unit_test(test_neither),
		cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
