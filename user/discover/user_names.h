/* SPDX-License-Identifier: Apache-2.0 */
/* The names of users, asked of the system's name services once for each, which may take its time. */
#ifndef PANOPY_DISCOVER_USER_NAMES_H
#define PANOPY_DISCOVER_USER_NAMES_H

#include <sys/types.h>

struct user_names;

int user_names_new(struct user_names **ret_names);
void user_names_free(struct user_names *names);

/* The user's name, or its number as text where it has none. Valid as long as `names`. "?" without memory. */
const char *user_names_find(struct user_names *names, uid_t uid);

#endif
