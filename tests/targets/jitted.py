# SPDX-License-Identifier: Apache-2.0
"""Calls that the JIT compiles in a trace: jitted.py SECONDS. Prints "active NUMBER" first: how many of 10,000 looks
found machine code running. outer calls middle calls leaf, a loop in each."""
import sys
import time

import pace

END = pace.deadline()


def looks():
    is_active, active = sys._jit.is_active, 0
    for _ in range(10000):
        active += is_active()
    return active


def leaf(x):
    for i in range(40):  # @leaf
        x += i & 7  # @leaf
    return x  # @leaf


def middle(x):
    for _ in range(20):  # @middle
        x = leaf(x)  # @call_leaf
    return x  # @middle


def outer():
    x = 0
    while time.monotonic() < END:  # @outer
        for _ in range(50):  # @outer
            x = middle(x) & 1023  # @call_middle


print("active", looks())
pace.ready()
outer()  # @top
pace.done()
