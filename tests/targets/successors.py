# SPDX-License-Identifier: Apache-2.0
"""Interpreters made, used and ended one after the other (3.8+), each with functions of names of its own:
successors.py SECONDS. One takes the former one's place in memory, and so do its code objects, counted from the same
number on. mid_N calls leaf_N."""
import sys

import pace

END = pace.deadline()
WORK = """
def leaf_{0}():
    x = 0
    for i in range(1000):
        x += i
def mid_{0}():
    leaf_{0}()
for _ in range(100):
    mid_{0}()
"""


def api():
    """(create, run(interpreter, text), destroy)"""
    try:
        import _interpreters as module  # 3.13
    except ImportError:
        import _xxsubinterpreters as module
    return module.create, getattr(module, "exec", None) or module.run_string, module.destroy


CREATE, RUN, DESTROY = api()
pace.ready()
made = 0
while pace.running(END):
    interpreter = CREATE()
    RUN(interpreter, WORK.format(made))
    DESTROY(interpreter)
    made += 1
pace.done()
