# SPDX-License-Identifier: Apache-2.0
"""A busy loop 25 calls deep, each level a function of its own."""
from board import COLUMNS, STOP

SECTIONS = ()
LEVELS = 25


def bottom(cells, at):
    while not cells[STOP]:
        x = 0
        for i in range(3000):
            x += i & 7
        cells[at] += 1


def levels():
    names = {f"level{LEVELS}": bottom}
    source = "".join(f"def level{i}(cells, at):\n    level{i + 1}(cells, at)\n" for i in range(1, LEVELS))
    exec(compile(source, "levels.py", "exec"), names)
    return names["level1"]


def run(cells, row, rest):
    levels()(cells, row * COLUMNS)
