# SPDX-License-Identifier: Apache-2.0
"""Hundreds of short threads, in turn: threadchurn.py SECONDS. Each runs brief, and no other function
of this file may stand above it."""
import threading

import pace

END = pace.deadline()


def brief():
    pace.burn(0.002)  # @brief


def spawn():
    started = 0
    while pace.running(END):
        batch = [threading.Thread(target=brief) for _ in range(8)]
        for thread in batch:
            thread.start()
        for thread in batch:
            thread.join()
        started += len(batch)
    return started


pace.ready()
count = spawn()
print("threads", count, flush=True)
pace.done()
