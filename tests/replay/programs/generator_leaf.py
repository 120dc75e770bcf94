# SPDX-License-Identifier: Apache-2.0
"""A generator resumed from Python is the leaf: an ordinary frame waits for it in a for loop."""
import time

from truth import DEAD, record


def leaf():
    yield 1
    record(); time.sleep(DEAD)


def consumer():
    for _ in leaf():
        pass


consumer()
