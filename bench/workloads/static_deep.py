# SPDX-License-Identifier: Apache-2.0
"""A static stack over 900 deep: the last level works and calls nothing."""
import sys

from board import COLUMNS, STOP

SECTIONS = ()
DEPTH = 920


def bottom(cells, at):
    while not cells[STOP]:
        x = 0
        for i in range(3000):
            x += i & 7
        cells[at] += 1


def down(levels, cells, at):
    if levels:
        down(levels - 1, cells, at)
    else:
        bottom(cells, at)


def run(cells, row, rest):
    sys.setrecursionlimit(DEPTH + 200)
    down(DEPTH, cells, row * COLUMNS)
