# SPDX-License-Identifier: Apache-2.0
"""Recursion of exact depth: deep.py SECONDS DEPTH. Under <module> lie DEPTH frames of descend, the
last of which works."""
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


sys.setrecursionlimit(DEPTH + 100)
descend(DEPTH)  # @top
pace.done()
