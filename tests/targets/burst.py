# SPDX-License-Identifier: Apache-2.0
"""On SIGUSR1 a burst of children that end at once, and after them one that works, in a function of its own.

burst.py SECONDS COUNT
"""
import os
import signal
import sys

import pace

END, COUNT = pace.deadline(), int(sys.argv[2])


def parent_work():
    while pace.running(END):
        pace.burn(0.01)


def child_work():
    while pace.running(END):
        pace.burn(0.01)


def burst():
    for _ in range(COUNT):
        if os.fork() == 0:
            os._exit(0)
        os.wait()
    if os.fork() == 0:
        child_work()
        os._exit(0)


signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
pace.burn(0.05)
pace.ready()
signal.sigwait({signal.SIGUSR1})
burst()
print("forked", flush=True)
parent_work()
pace.done()
