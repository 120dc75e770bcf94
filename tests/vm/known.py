# SPDX-License-Identifier: Apache-2.0
# The program with one known stack: <module>, outer, middle, leaf.
import time


def leaf(until):
    while time.monotonic() < until:
        for _ in range(1000):
            pass


def middle(until):
    leaf(until)


def outer(until):
    middle(until)


print("known.py runs", flush=True)
outer(time.monotonic() + 600)
