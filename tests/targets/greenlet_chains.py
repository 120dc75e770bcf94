# SPDX-License-Identifier: Apache-2.0
"""Chains of functions for greenlets: each has names of its own, g<number>_<level>, and its own length."""
DEPTHS = (3, 7, 12)
TEXT = "def g{0}_{1}(turn):\n    return g{0}_{2}(turn)\n"
LAST = "def g{0}_{1}(turn):\n    for _ in range(5):\n        turn()\n"


def chain(number, depth):
    space = {}
    for level in range(depth):
        text = (TEXT if level + 1 < depth else LAST).format(number, level, level + 1)
        exec(compile(text, f"g{number}.py", "exec"), space)
    return space[f"g{number}_0"]
