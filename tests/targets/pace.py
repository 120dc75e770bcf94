# SPDX-License-Identifier: Apache-2.0
"""What every target needs: CPU spent in known functions, and the hand-shake with the tests.

A target prints "ready" on its standard output once its interpreter is warm, works until its time is
up (argument 1, seconds) or it is killed, and prints "cpu SECONDS" at its end.
"""
import sys
import time


def burn(seconds):
    """Spends that much CPU time of this thread; nothing below it is a Python function."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        x = 0
        for i in range(200):
            x += i * i
    return x


def ready():
    print("ready", flush=True)


def deadline(position=1, default=10.0):
    seconds = float(sys.argv[position]) if len(sys.argv) > position else default
    return time.monotonic() + seconds


def running(end):
    return time.monotonic() < end


def done():
    print("cpu", time.process_time(), flush=True)
