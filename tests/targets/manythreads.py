# SPDX-License-Identifier: Apache-2.0
"""Two threads that work in turn, started before thousands that sleep: manythreads.py SECONDS SLEEPERS."""
import sys
import threading
import time

import pace

END = pace.deadline()
SLEEPERS = int(sys.argv[2])
START = threading.Event()


def first_worker():
    START.wait()
    while pace.running(END):
        pace.burn(0.01)


def second_worker():
    START.wait()
    while pace.running(END):
        pace.burn(0.01)


threading.stack_size(1 << 16)
workers = [threading.Thread(target=work, daemon=True) for work in (first_worker, second_worker)]
for worker in workers:
    worker.start()
for _ in range(SLEEPERS):
    threading.Thread(target=time.sleep, args=(1e6,), daemon=True).start()
pace.ready()
time.sleep(2)
START.set()
time.sleep(max(0, END - time.monotonic()))
