# SPDX-License-Identifier: Apache-2.0
"""900 levels by four functions in turn: several chunks of the data stack."""
import time

from truth import DEAD, record


def north(level):
    return east(level - 1)


def east(level):
    spare = [level] * 2
    return south(level - len(spare) + 1)


def south(level, a=1, b=2, c=3, d=4, e=5, f=6, g=7, h=8):
    return west(level - a)


def west(level):
    if level <= 0:
        record(); time.sleep(DEAD)
    return north(level - 1)


north(896)
