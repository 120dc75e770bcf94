# SPDX-License-Identifier: Apache-2.0
"""The board: a small shared file on which workloads write what they have done while somebody else reads it.

Rows of 16 numbers of 64 bits. A row belongs to one thread or process: cell 0 counts units of work, cells 1 to 14
the CPU nanoseconds of each section (a function whose share is known). The last cell of row 0 tells all to stop.
"""
import mmap
import random
import time

ROWS, COLUMNS = 256, 16
STOP = COLUMNS - 1


def create(path):
    with open(path, "wb") as file:
        file.truncate(ROWS * COLUMNS * 8)


def cells(path):
    with open(path, "r+b") as file:
        return memoryview(mmap.mmap(file.fileno(), 0)).cast("Q")


def totals(board):
    """[units, nanoseconds of each section...] of all rows."""
    return [sum(board[column:ROWS * COLUMNS:COLUMNS]) for column in range(STOP)]


def turns(board, row, units, batches=None, rest=0.0):
    """Runs every unit equally often, in an order drawn anew for each batch, so that no period of the program can
    beat with a sampler's; each one's CPU time is written down. With `rest`, sleeps that many times as long."""
    at, clock, order, draw = row * COLUMNS, time.thread_time_ns, list(range(len(units))) * 4, random.Random(row)
    while not board[STOP] and batches != 0:
        draw.shuffle(order)
        first = before = clock()
        for pick in order:
            units[pick]()
            after = clock()
            board[at + 1 + pick] += after - before
            board[at] += 1
            before = after
        if batches is not None:
            batches -= 1
        if rest:
            time.sleep(rest * (before - first) / 1e9)
