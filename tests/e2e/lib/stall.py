# SPDX-License-Identifier: Apache-2.0
"""Tells whether the host itself stood still: a virtual machine that was paused or robbed of its CPUs runs no
target and fires no timer, and what a test then saw says nothing about panopy."""
import os
import threading
import time

STEP = 0.05
# A sleeper waits tens of milliseconds for its turn on the busiest of hosts; half a second is the host's doing.
STALL = 0.5
# A thread's CPU clock leaves out what the host took from it, timers do not: so much of the whole test, in the seconds in
# which it compares the two, is a tenth of what it compares.
STOLEN_SHARE = 0.005


def stolen_seconds():
    with open("/proc/stat", encoding="ascii") as file:
        return int(file.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


class StallWatch:
    """Sleeps in short steps beside a test and keeps the longest that one of them overslept."""

    def __init__(self, stall=STALL):
        self.stall = stall
        self.longest = 0.0
        self._end = threading.Event()
        self._started = time.monotonic()
        self._stolen = stolen_seconds()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self):
        last, ended = time.monotonic(), False
        while not ended:
            ended = self._end.wait(STEP)
            now = time.monotonic()
            self.longest = max(self.longest, now - last - STEP)
            last = now

    def verdict(self):
        """What the host did to the test, or None; ends the watch."""
        self._end.set()
        self._thread.join()
        stolen = stolen_seconds() - self._stolen
        capacity = (time.monotonic() - self._started) * os.cpu_count()
        if self.longest >= self.stall:
            return f"the host stood still for {self.longest:.1f} s"
        if stolen >= STOLEN_SHARE * capacity:
            return f"{stolen:.1f} of {capacity:.1f} s of CPU time were stolen from the host"
        return None
