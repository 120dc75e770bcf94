# SPDX-License-Identifier: Apache-2.0
"""Many threads coming and going: forty at a time, each works and sleeps in turn, ends after half a second,
and another comes."""
import threading
import time

import board

SECTIONS = ("crunch", "spell", "gather")
ALIVE = 40


def step(n):
    return n * 3 & 1023


def crunch():
    x = 0
    for i in range(900):
        x += step(i)
    return x


def letters(word):
    return [letter.upper() for letter in word]


def spell():
    return ["".join(letters(word)) for word in ("workers", "come", "and", "go", "all", "the", "time") * 8]


def chain(n):
    return [n] if n == 0 else [n, *chain(n - 1)]


def gather():
    return sum(len(chain(12)) for _ in range(30))


def worker(cells, row):
    board.turns(cells, row, (crunch, spell, gather), batches=5, rest=50.0)


def run(cells, row, rest):
    alive = [None] * ALIVE
    while not cells[board.STOP]:
        for slot in range(ALIVE):
            if alive[slot] is None or not alive[slot].is_alive():
                alive[slot] = threading.Thread(target=worker, args=(cells, slot), daemon=True)
                alive[slot].start()
        time.sleep(0.005)
    for thread in alive:
        thread.join()
