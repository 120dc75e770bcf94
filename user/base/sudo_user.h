/* SPDX-License-Identifier: Apache-2.0 */
/* The user who ran this program as root through sudo, as sudo's environment names them. */
#ifndef PANOPY_BASE_SUDO_USER_H
#define PANOPY_BASE_SUDO_USER_H

#include <sys/types.h>

/* -ENOENT: not run as root, or not through sudo by another user. -EINVAL: SUDO_UID or SUDO_GID is no id; no
 * guess is made, and the results are untouched. */
int sudo_user_ids(uid_t *ret_uid, gid_t *ret_gid);

#endif
