/* SPDX-License-Identifier: Apache-2.0 */
/* Asks whether a file exists below some root directory, without ever waiting for long: a name that the
 * kernel has not cached is looked up with a deadline, and once that was missed only cached
 * names are answered.
 */
#ifndef PANOPY_SYMBOLIZE_PATH_PROBE_H
#define PANOPY_SYMBOLIZE_PATH_PROBE_H

struct path_probe;

int path_probe_new(struct path_probe **ret_probe);
void path_probe_free(struct path_probe *probe);

/* 1: it exists, 0: it does not, -EAGAIN: cannot be told now. Symbolic links are resolved inside the
 * root, the last component is not followed. */
int path_probe_exists(struct path_probe *probe, int root_fd, const char *path);

#endif
