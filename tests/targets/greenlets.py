# SPDX-License-Identifier: Apache-2.0
"""Greenlets that switch all the time: greenlets.py SECONDS FOLDER_OF_GREENLET. Each has a chain of functions of its
own, of its own length, which it leaves and enters again: a stack with functions of two, or out of order, is none."""
import sys

import pace
from greenlet_chains import DEPTHS, chain

sys.path.insert(0, sys.argv[2])
import greenlet  # noqa: E402

END = pace.deadline()


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
