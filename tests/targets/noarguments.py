# SPDX-License-Identifier: Apache-2.0
"""Works until it is killed, without memory where its arguments were: /proc/self/cmdline is empty.

noarguments.py
"""
import ctypes
import mmap

import pace


def without_arguments():
    pace.burn(0.01)


with open("/proc/self/stat") as stat:
    # Fields 48 and 49, arg_start and arg_end.
    first, last = (int(field) // mmap.PAGESIZE for field in stat.read().rpartition(")")[2].split()[48 - 3:50 - 3])
libc = ctypes.CDLL(None)
without_arguments()
# The environment is gone with them: an end other than by a signal would look for it.
libc.munmap(ctypes.c_void_p(first * mmap.PAGESIZE), ctypes.c_size_t((last - first + 1) * mmap.PAGESIZE))
pace.ready()
while True:
    without_arguments()
