# SPDX-License-Identifier: Apache-2.0
"""Runs one program: drive.py PROGRAM SITE run SECONDS | drive.py PROGRAM SITE learn SECONDS OUT.

Both go through the same lines: a stack that the oracle learned and one that the profiler saw differ in
nothing that this file does. "run" prints "ready" when everything is warm. The collector runs after each round
and at no other time: it closes generators and calls finalisers wherever it happens to run.
"""
import gc
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))


class Clock:
    def __init__(self, seconds, least):
        self.end, self.least = time.monotonic() + seconds, least

    def again(self):
        self.least -= 1
        return self.least >= 0 or time.monotonic() < self.end


def repeat(step, clock):
    while clock.again():
        step()
        gc.collect()


def main(program, site, mode, seconds, out=None):
    if mode == "learn":
        import oracle

        learner = oracle.Oracle(out)
        learner.start()
        if program == "pool":
            learner.follow_children()
    import programs

    gc.disable()
    step = programs.PROGRAMS[program](site)
    for clock in (Clock(0, 3), Clock(float(seconds), 3)):
        repeat(step, clock)
        if hasattr(gc, "freeze"):  # what is warm stays: the rounds' own garbage is little to look through
            gc.freeze()
        if mode == "run":
            print("ready", flush=True)
    if mode == "learn":
        getattr(step, "finish", int)()
        learner.write()


sys.path[:0] = [HERE, os.path.join(HERE, "standin"), sys.argv[2]]
main(*sys.argv[1:])
