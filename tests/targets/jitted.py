# SPDX-License-Identifier: Apache-2.0
"""Calls that the JIT compiles in a trace: jitted.py SECONDS. Prints "active NUMBER" first: how many of 10,000 looks
found machine code running; in 3.13, which has no such question, "compiled NAME...": whose loops enter machine code.
outer calls middle calls leaf, a loop in each."""
import _opcode
import sys
import time

import pace

END = pace.deadline()


def looks():
    is_active, active = sys._jit.is_active, 0
    for _ in range(10000):
        active += is_active()
    return active


def enters_machine_code(function):
    code = function.__code__
    for offset in range(0, len(code.co_code), 2):
        try:
            executor = _opcode.get_executor(code, offset)
        except ValueError:  # another instruction than the one that enters
            continue
        if executor and executor.is_valid() and executor.get_jit_code():
            return True
    return False


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


if hasattr(sys, "_jit"):
    print("active", looks())
else:
    for _ in range(2000):
        middle(0)
    print("compiled", *(each.__name__ for each in (leaf, middle) if enters_machine_code(each)))
pace.ready()
outer()  # @top
pace.done()
