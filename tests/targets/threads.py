# SPDX-License-Identifier: Apache-2.0
"""Threads with stacks of their own: threads.py SECONDS COUNT. Thread i runs t<i>_outer, t<i>_middle
and t<i>_inner and no function of another thread."""
import sys
import threading

import pace

END = pace.deadline()
COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 20

SOURCE = """
def t{i}_inner(n):
    x = 0
    for k in range(n):
        x += k
    return x
def t{i}_middle(n):
    return t{i}_inner(n)
def t{i}_outer():
    n = 0
    while running(END):
        n = n % 50 + 1
        t{i}_middle(n)
"""


def make(i):
    names = {"running": pace.running, "END": END}
    exec(compile(SOURCE.format(i=i), f"thread{i}.py", "exec"), names)
    return names[f"t{i}_outer"]


workers = [threading.Thread(target=make(i), name=f"t{i}") for i in range(COUNT)]
for worker in workers:
    worker.start()
pace.ready()
for worker in workers:
    worker.join()  # @join
pace.done()
