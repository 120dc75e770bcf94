# SPDX-License-Identifier: Apache-2.0
"""A stack over 900 deep whose last levels move: the base stands still, and small functions come and go at its end."""
import sys

import board

SECTIONS = ("near", "middle", "far")
DEPTH = 900


def leaf(n):
    return n * 5 & 255


def twig(n):
    return leaf(n) + leaf(n + 1)


def branch(n):
    return twig(n) + leaf(n)


def near():
    for i in range(1000):
        leaf(i)


def middle():
    for i in range(400):
        twig(i)


def far():
    for i in range(300):
        branch(i)


def down(levels, cells, row, rest):
    if levels:
        down(levels - 1, cells, row, rest)
    else:
        board.turns(cells, row, (near, middle, far), rest=rest)


def run(cells, row, rest):
    sys.setrecursionlimit(DEPTH + 200)
    down(DEPTH, cells, row, rest)
