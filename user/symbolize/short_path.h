/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a file's path to show: what lies below its package's root, which is the folder above
 * the topmost `__init__.py`, or the file's own folder where there is none.
 *
 *   /usr/lib/python3.11/json/decoder.py   json/decoder.py
 *   /srv/app/main.py                      main.py
 *   /srv/app.zip/pkg/mod.py               pkg/mod.py, the path inside an archive
 *   <frozen runpy>, <string>, relative    as they are
 *
 * That needs the target's file system, through /proc/PID/root, while the process lives; the answers
 * are kept per root and folder. Only the existence of `__init__.py` is asked, nothing is opened for
 * reading. A file system can let such a question wait for good (FUSE, a dead server): what is not in
 * the kernel's name cache is asked by a worker that is given up after a deadline. Where nothing can be
 * asked, the folders of installed packages (site-packages, python3.x) are taken as roots.
 */
#ifndef PANOPY_SYMBOLIZE_SHORT_PATH_H
#define PANOPY_SYMBOLIZE_SHORT_PATH_H

#include <stddef.h>
#include <sys/types.h>

#include "shared_types.h"

struct short_path;

int short_path_new(struct short_path **ret_paths);
void short_path_free(struct short_path *paths);

/* Bytes to leave out at the beginning of `path` as a process with this epoch knows it. pid is 0 when
 * the process is gone. */
size_t short_path_skip(struct short_path *paths, u64 epoch, pid_t pid, const char *path, size_t sz);

#endif
