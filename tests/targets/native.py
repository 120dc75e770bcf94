# SPDX-License-Identifier: Apache-2.0
"""A thread that Python knows nothing of loops beside one that runs Python: native.py SECONDS. Prints "python SECONDS",
the CPU time of the latter, too, and "before SECONDS", what of it had passed before there were two."""
import ctypes
import mmap
import os
import platform

import pace

END = pace.deadline()
# A branch to itself.
LOOP = {"x86_64": b"\xeb\xfe", "aarch64": b"\x00\x00\x00\x14"}[platform.machine()]


def work():
    while pace.running(END):
        pace.burn(0.01)


page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(LOOP)
entry = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(page)))
before = pace.thread_time()
if ctypes.CDLL(None).pthread_create(ctypes.byref(ctypes.c_ulong()), None, entry, None):
    raise SystemExit("no thread")
pace.ready()
work()
print("before", before)
print("python", pace.thread_time())
pace.done()
os._exit(0)  # the page must outlive the thread
