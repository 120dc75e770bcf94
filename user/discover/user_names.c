/* SPDX-License-Identifier: Apache-2.0 */
#include "discover/user_names.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Out of memory leaves the element out and its handle's table NULL. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct user {
	uid_t uid;
	UT_hash_handle hh;
	char name[];
};

struct user_names {
	struct user *users; /* by uid */
};

int user_names_new(struct user_names **ret_names)
{
	struct user_names *names = calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	*ret_names = names;
	return 0;
}

void user_names_free(struct user_names *names)
{
	struct user *user, *next;

	if (!names)
		return;
	HASH_ITER(hh, names->users, user, next)
	{
		HASH_DEL(names->users, user);
		free(user);
	}
	free(names);
}

static struct user *user_add(struct user_names *names, uid_t uid)
{
	const struct passwd *entry = getpwuid(uid);
	char number[16];
	const char *name = entry ? entry->pw_name : number;
	struct user *user;

	snprintf(number, sizeof(number), "%u", (unsigned int)uid);
	user = calloc(1, sizeof(*user) + strlen(name) + 1);
	if (!user)
		return NULL;
	user->uid = uid;
	memcpy(user->name, name, strlen(name));
	HASH_ADD(hh, names->users, uid, sizeof(uid), user);
	if (user->hh.tbl)
		return user;
	free(user);
	return NULL;
}

const char *user_names_find(struct user_names *names, uid_t uid)
{
	struct user *user;

	HASH_FIND(hh, names->users, &uid, sizeof(uid), user);
	if (!user)
		user = user_add(names, uid);
	return user ? user->name : "?";
}
