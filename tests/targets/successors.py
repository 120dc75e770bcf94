# SPDX-License-Identifier: Apache-2.0
"""Interpreters made, used and ended one after the other (3.8+), each with functions of names of its own:
successors.py SECONDS. One takes the former one's place in memory, and so do its code objects, counted from the same
number on. mid_N calls leaf_N."""
import pace
from subinterpreter_api import create, destroy, run

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

pace.ready()
made = 0
while pace.running(END):
    interpreter = create()
    run(interpreter, WORK.format(made))
    destroy(interpreter)
    made += 1
pace.done()
