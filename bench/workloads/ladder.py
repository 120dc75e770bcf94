# SPDX-License-Identifier: Apache-2.0
"""Recursion in which every level is a function of a name of its own, entered and left as fast as Python can. Plain
recursion hides a stack that was torn between two instants, because all its levels look alike; here a gap shows."""
import board

LEVELS, FAMILIES = 40, 4
SECTIONS = tuple(f"family{number}" for number in range(FAMILIES))


def family(number):
    source = []
    for level in range(LEVELS):
        below = f"f{number}_{level + 1}(n - 1)" if level + 1 < LEVELS else "n"
        source.append(f"def f{number}_{level}(n):\n    return {below} if n else 0\n")
    calls = "".join(f"    f{number}_0({1 + depth * 5 % LEVELS})\n" for depth in range(LEVELS))
    source.append(f"def family{number}():\n" + calls)
    names = {}
    exec(compile("".join(source), f"family{number}.py", "exec"), names)
    return names[f"family{number}"]


def run(cells, row, rest):
    board.turns(cells, row, [family(number) for number in range(FAMILIES)], rest=rest)
