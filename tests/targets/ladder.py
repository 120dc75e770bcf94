# SPDX-License-Identifier: Apache-2.0
"""Recursion in which every level is a function of a name of its own, entered and left as fast as
Python can: ladder.py SECONDS LEVELS FAMILIES.

Family f has the functions f<f>_0 .. f<f>_<LEVELS-1>, each of which calls the next and nothing else,
so a stack is possible only if it is <module>, climb, f<f>_0, f<f>_1, ... without a gap and within one
family. A stack torn between two instants has a gap or mixes families.
"""
import sys

import pace

END = pace.deadline()
LEVELS = int(sys.argv[2]) if len(sys.argv) > 2 else 40
FAMILIES = int(sys.argv[3]) if len(sys.argv) > 3 else 8


def family(number):
    source = []
    for level in range(LEVELS):
        below = f"f{number}_{level + 1}(n - 1)" if level + 1 < LEVELS else "n"
        source.append(f"def f{number}_{level}(n):\n    return {below} if n else 0\n")
    names = {}
    exec(compile("".join(source), f"family{number}.py", "exec"), names)
    return names[f"f{number}_0"]


def climb(entries):
    depth = 1
    while pace.running(END):
        for entry in entries:
            for _ in range(8):
                depth = depth * 5 % (LEVELS + 1) + 1
                entry(depth)


entries = [family(number) for number in range(FAMILIES)]
pace.ready()
climb(entries)
pace.done()
