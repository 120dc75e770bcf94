# SPDX-License-Identifier: Apache-2.0
"""Several threads, each blocked in a stack of its own."""
import _thread
import os
import time

from truth import DEAD, record


def descend(name, level):
    if level:
        descend(name, level - 1)
    record(name); time.sleep(DEAD)


def by_generator(name):
    yield descend(name, 3)


def start(name, target):
    _thread.start_new_thread(target, (name,))
    while not os.path.exists(os.path.join(os.environ["REPLAY_OUT"], name + ".stack")):
        time.sleep(0.01)


start("shallow", lambda name: descend(name, 0))
start("deeper", lambda name: descend(name, 40))
start("generator", lambda name: next(by_generator(name)))
record(); time.sleep(DEAD)
