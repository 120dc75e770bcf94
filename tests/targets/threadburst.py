# SPDX-License-Identifier: Apache-2.0
"""Hundreds of threads that are made at once and run later: threadburst.py ROUNDS COUNT MILLISECONDS of CPU time each."""
import _thread
import sys
import threading
import time

ROUNDS, COUNT, MILLISECONDS = map(int, sys.argv[1:4])
ended = threading.Semaphore(0)


def burn():
    end = time.thread_time() + MILLISECONDS / 1000
    while time.thread_time() < end:
        sum(range(1000))
    ended.release()


for _ in range(ROUNDS):
    # threading.Thread would wait for each to run.
    for _ in range(COUNT):
        _thread.start_new_thread(burn, ())
    for _ in range(COUNT):
        ended.acquire()
