/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sudo_user.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

/* The highest number is "no id" to chown(2) and setuid(2). */
static int decode_id(const char *text, unsigned int *ret_id)
{
	unsigned long long value;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end || value >= UINT32_MAX)
		return -EINVAL;
	*ret_id = (unsigned int)value;
	return 0;
}

int sudo_user_ids(uid_t *ret_uid, gid_t *ret_gid)
{
	const char *uid_text = getenv("SUDO_UID"), *gid_text = getenv("SUDO_GID");
	unsigned int uid, gid;

	if (geteuid() != 0 || !uid_text || !*uid_text)
		return -ENOENT;
	if (decode_id(uid_text, &uid) || decode_id(gid_text, &gid))
		return -EINVAL;
	if (uid == 0)
		return -ENOENT;
	*ret_uid = uid;
	*ret_gid = gid;
	return 0;
}
