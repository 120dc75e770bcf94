# SPDX-License-Identifier: Apache-2.0
"""A deep stack of which pages are missing: faults.py SECONDS DEPTH swap|userfault. Every 50 ms the pages that hold
the frames in the middle are taken away, out to swap or from a userfaultfd that nobody answers. The leaf needs none of
them."""
import ctypes
import mmap
import os
import struct
import sys
import time

import pace

END = pace.deadline()
DEPTH, SWAPS = int(sys.argv[2]), sys.argv[3] == "swap"
PAGE = mmap.PAGESIZE
SYS_USERFAULTFD = {"x86_64": 323, "aarch64": 282}[os.uname().machine]
UFFDIO_API, UFFDIO_REGISTER = 0xc018aa3f, 0xc020aa00
MADV_DONTNEED, MADV_PAGEOUT = 4, 21
LIBC = ctypes.CDLL(None, use_errno=True)


def check(result, what):
    if result < 0:
        raise OSError(ctypes.get_errno(), what)
    return result


def ioctl(fd, request, *words):
    block = struct.pack(f"{len(words)}Q", *words)
    buffer = ctypes.create_string_buffer(block, len(block))
    check(LIBC.ioctl(fd, ctypes.c_ulong(request), buffer), hex(request))


def frame_address(frame):
    """Of the interpreter's frame: PyFrameObject.f_frame stands behind ob_base and f_back (CPython 3.11 to 3.15)."""
    return ctypes.c_uint64.from_address(id(frame) + object.__basicsize__ + 8).value


def middle_pages(frame):
    """Whole pages of the data stack that hold frames from a quarter to three quarters of the way down."""
    addresses = []
    while frame:
        if frame.f_code.co_name == "descend":
            addresses.append(frame_address(frame))
        frame = frame.f_back
    inner = addresses[len(addresses) // 4:-len(addresses) // 4]
    pages = sorted({address // PAGE for address in inner})
    used = {address // PAGE for address in addresses if address not in inner}
    return [page * PAGE for page in pages if page not in used and page + 1 not in used and page - 1 not in used][:16]


def take_away(pages):
    for page in pages:
        check(LIBC.madvise(ctypes.c_void_p(page), PAGE, MADV_PAGEOUT if SWAPS else MADV_DONTNEED), "madvise")


def work(pages):
    take_away(pages)
    pace.ready()
    while pace.running(END):
        again = time.monotonic() + 0.05
        while time.monotonic() < again:  # @work
            pass
        take_away(pages)
    print("done", flush=True)
    os._exit(0)  # the way back is gone


def descend(levels):
    if levels > 1:
        return descend(levels - 1)
    pages = middle_pages(sys._getframe())
    if not SWAPS:
        fd = check(LIBC.syscall(SYS_USERFAULTFD, os.O_CLOEXEC), "userfaultfd")
        ioctl(fd, UFFDIO_API, 0xaa, 0, 0)
        for page in pages:
            ioctl(fd, UFFDIO_REGISTER, page, PAGE, 1, 0)
    print("pages", len(pages), flush=True)
    return work(pages)


sys.setrecursionlimit(DEPTH + 100)
descend(DEPTH)
