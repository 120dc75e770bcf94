# SPDX-License-Identifier: Apache-2.0
"""Recursion of exact depth: deep.py SECONDS DEPTH [generators]. Under <module> lie DEPTH frames of descend, the
last of which works; with a third argument every second one is a generator's, called relay."""
import os
import resource
import sys
import time

import pace

END = pace.deadline()
DEPTH = int(sys.argv[2]) if len(sys.argv) > 2 else 25


def work():
    x = 0
    while time.monotonic() < END:  # @work
        for i in range(2000):  # @work
            x += i & 7  # @work
    return x


def descend(levels):
    if levels == 1:
        pace.ready()
        return work()  # @bottom
    return descend(levels - 1)  # @level


def relay(levels):
    yield take(levels - 1)  # @relayed


def take(levels):
    if levels <= 1:
        pace.ready()
        return work()  # @floor
    for result in relay(levels - 1):  # @taken
        return result


# Calls before 3.11 take of the C stack, some 500 bytes each, and a process's stack limit is read when it starts.
if sys.version_info < (3, 11) and DEPTH > 10000 and "DEEP_STACK" not in os.environ:
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 30, resource.getrlimit(resource.RLIMIT_STACK)[1]))
    os.environ["DEEP_STACK"] = "raised"
    os.execv(sys.executable, [sys.executable, "-B", *sys.argv])
sys.setrecursionlimit(DEPTH + 100)
if len(sys.argv) > 3:
    take(DEPTH)  # @alternating
else:
    descend(DEPTH)  # @top
pace.done()
