# SPDX-License-Identifier: Apache-2.0
"""Interpreters that one thread makes and another runs (3.11+): borrowed.py SECONDS. Up to 3.12 another thread's state is
run so, under the id of the thread that made it, which meanwhile works without the GIL, too. Two pairs: whichever of the
C stacks lies above the other. Prints "makers TID..." first."""
import hashlib
import threading
import time

import pace
from subinterpreter_api import create_sharing, run

END = pace.deadline()
BLOCK = bytes(1 << 20)
WORK = """
import time
def leaf_{0}():
    x = 0
    for i in range(3000):
        x += i
def outer_{0}(end):
    while time.monotonic() < end:
        for _ in range(20):
            leaf_{0}()
        time.sleep(0.0002)
"""


class Pair:
    def __init__(self, number, maker_first):
        self.number, self.made = number, threading.Event()
        threads = [threading.Thread(target=self.make, daemon=True), threading.Thread(target=self.borrow, daemon=True)]
        self.threads = threads if maker_first else threads[::-1]
        for thread in self.threads:
            thread.start()

    def make(self):
        self.interpreter = create_sharing()
        run(self.interpreter, WORK.format(self.number))
        self.tid = threading.get_native_id()
        self.made.set()
        while pace.running(END):
            hashlib.sha256(BLOCK)

    def borrow(self):
        self.made.wait()
        run(self.interpreter, f"outer_{self.number}({END})")


pairs = [Pair(0, True), Pair(1, False)]
for pair in pairs:
    pair.made.wait()
time.sleep(0.2)
print("makers", *(pair.tid for pair in pairs))
pace.ready()
for pair in pairs:
    for thread in pair.threads:
        thread.join()
pace.done()
