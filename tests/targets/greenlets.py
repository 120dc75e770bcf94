# SPDX-License-Identifier: Apache-2.0
"""Greenlets that switch all the time: greenlets.py SECONDS FOLDER_OF_GREENLET. Each has a chain of functions of its
own, of its own length, which it leaves and enters again: a stack with functions of two, or out of order, is none."""
import sys

import pace

sys.path.insert(0, sys.argv[2])
import greenlet  # noqa: E402

END = pace.deadline()
DEPTHS = (3, 7, 12)
TEXT = "def g{0}_{1}(turn):\n    return g{0}_{2}(turn)\n"
LAST = "def g{0}_{1}(turn):\n    for _ in range(5):\n        turn()\n"


def chain(number, depth):
    space = {}
    for level in range(depth):
        text = (TEXT if level + 1 < depth else LAST).format(number, level, level + 1)
        exec(compile(text, f"g{number}.py", "exec"), space)
    return space[f"g{number}_0"]


def live(first, turn):
    while True:
        first(turn)


def main():
    hub = greenlet.getcurrent()
    lives = []

    def turn():
        hub.switch()

    for number, depth in enumerate(DEPTHS):
        lives.append(greenlet.greenlet(live))
        lives[-1].switch(chain(number, depth), turn)
    pace.ready()
    while pace.running(END):
        for _ in range(50):
            for each in lives:
                each.switch()


main()
pace.done()
