# SPDX-License-Identifier: Apache-2.0
"""Generators and coroutines: chains of generators resumed by different callers, a recursive one, and awaits."""
import board

SECTIONS = ("red", "blue", "walk", "wait")


def count(n):
    for i in range(n):
        yield i


def shared():
    while True:
        yield from count(7)


def doubled(source):
    for value in source:
        yield 2 * value


SOURCE = shared()
WRAPPED = doubled(doubled(SOURCE))


def red():
    for _ in range(400):
        next(WRAPPED)


def blue():
    for _ in range(400):
        next(SOURCE)


def tree(low, high):
    if low < high:
        half = (low + high) // 2
        yield from tree(low, half)
        yield half
        yield from tree(half + 1, high)


def walk():
    return sum(tree(0, 150))


class Pause:
    def __await__(self):
        yield


async def inner(n):
    if n:
        return await inner(n - 1)
    await Pause()
    return 1


async def outer():
    total = 0
    for depth in (3, 9, 6):
        total += await inner(depth)
    return total


def wait():
    for _ in range(30):
        work = outer()
        try:
            while True:
                work.send(None)
        except StopIteration:
            pass


def run(cells, row, rest):
    board.turns(cells, row, (red, blue, walk, wait), rest=rest)
