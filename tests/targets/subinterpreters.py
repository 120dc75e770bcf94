# SPDX-License-Identifier: Apache-2.0
"""Interpreters that share the main one's GIL (3.12+): subinterpreters.py SECONDS. The main one (a0) and two others (a1,
a2) each in a thread of their own; one thread that works in the main one and in two more by turns, for 20, 30 and 50 %
of its time (t0, t1, t2). outer_<part> calls leaf_<part>."""
import random
import threading
import time

import pace
from subinterpreter_api import create_sharing, run

END = pace.deadline()
# In 3.12 who waits for the GIL asks only the threads of its own interpreter for it: all give it away.
REST = 0.0002
TURNS = {"t0": 0.2, "t1": 0.3, "t2": 0.5}
WORK = """import time
def leaf_{0}(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        x = 0
        for i in range(20):
            x += i
def outer_{0}(seconds):
    leaf_{0}(seconds)
"""
WARM = threading.Barrier(5)


def here(part):
    """part's outer(), in this interpreter"""
    space = {}
    exec(WORK.format(part), space)
    return space["outer_" + part]


def elsewhere(part):
    """part's outer(), in another one"""
    interpreter = create_sharing()
    run(interpreter, WORK.format(part))
    return lambda seconds: run(interpreter, f"outer_{part}({seconds})")


def stand_alone(part):
    outer = here(part) if part == "a0" else elsewhere(part)
    outer(0.1)
    WARM.wait()
    while pace.running(END):
        outer(0.003)
        time.sleep(REST)


def take_turns():
    outers = {part: here(part) if part == "t0" else elsewhere(part) for part in TURNS}
    draw = random.Random(20_30_50)
    for outer in outers.values():
        outer(0.1)
    WARM.wait()
    while pace.running(END):
        scale = draw.uniform(0.004, 0.012)
        for part in draw.sample(sorted(TURNS), 3):
            outers[part](scale * TURNS[part])
            time.sleep(REST)


pace.run_threads([threading.Thread(target=stand_alone, args=(part,), daemon=True) for part in ("a0", "a1", "a2")] +
                 [threading.Thread(target=take_turns, daemon=True)], WARM)
pace.done()
