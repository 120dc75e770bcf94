/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/sudo_user.h"

static int ids_of(const char *uid_text, const char *gid_text, uid_t *ret_uid, gid_t *ret_gid)
{
	uid_text ? setenv("SUDO_UID", uid_text, 1) : unsetenv("SUDO_UID");
	gid_text ? setenv("SUDO_GID", gid_text, 1) : unsetenv("SUDO_GID");
	return sudo_user_ids(ret_uid, ret_gid);
}

static void test_users(void **state)
{
	static const struct {
		const char *uid_text;
		const char *gid_text;
		int err;
		uid_t uid;
		gid_t gid;
	} cases[] = {
		{"1000", "1001", 0, 1000, 1001},
		{"1000", "0", 0, 1000, 0}, /* root's group is not root */
		{"4294967294", "1", 0, 4294967294, 1},
		{NULL, NULL, -ENOENT, 0, 0},
		{"", "", -ENOENT, 0, 0},
		{"0", "0", -ENOENT, 0, 0},
		{"1000", NULL, -EINVAL, 0, 0},
		{"4294967295", "1", -EINVAL, 0, 0},
		{"4294967296", "1", -EINVAL, 0, 0}, /* cut to 32 bits it would be root */
		{"1000", "99999999999999999999", -EINVAL, 0, 0},
		{"-1", "1", -EINVAL, 0, 0},
		{" 1000", "1", -EINVAL, 0, 0},
		{"12x", "1", -EINVAL, 0, 0},
	};

	if (geteuid() != 0) {
		printf("skip: needs root\n");
		skip();
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uid_t uid = 77;
		gid_t gid = 78;

		assert_int_equal(ids_of(cases[i].uid_text, cases[i].gid_text, &uid, &gid), cases[i].err);
		assert_int_equal(uid, cases[i].err ? 77 : cases[i].uid);
		assert_int_equal(gid, cases[i].err ? 78 : cases[i].gid);
	}
}

static void test_not_root(void **state)
{
	uid_t uid;
	gid_t gid;

	if (geteuid() == 0)
		assert_int_equal(seteuid(65534), 0);
	assert_int_equal(ids_of("1000", "1000", &uid, &gid), -ENOENT);
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_users),
		cmocka_unit_test(test_not_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
