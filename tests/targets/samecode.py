# SPDX-License-Identifier: Apache-2.0
"""Threads that run one function, each at a line of its own: samecode.py SECONDS COUNT. Thread i (up to 8) is
started by start_i, and only work's line @line<i> is ever its."""
import sys
import threading

import pace

END = pace.deadline()
COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 8


def work(number, numbers):
    while pace.running(END):
        if number == 0:
            sum(numbers)  # @line0
        elif number == 1:
            sum(numbers)  # @line1
        elif number == 2:
            sum(numbers)  # @line2
        elif number == 3:
            sum(numbers)  # @line3
        elif number == 4:
            sum(numbers)  # @line4
        elif number == 5:
            sum(numbers)  # @line5
        elif number == 6:
            sum(numbers)  # @line6
        else:
            sum(numbers)  # @line7


def make(number):
    names = {"work": work}
    exec(compile(f"def start_{number}(): work({number}, list(range(20000)))", "start.py", "exec"), names)
    return names[f"start_{number}"]


workers = [threading.Thread(target=make(number)) for number in range(COUNT)]
for worker in workers:
    worker.start()
pace.ready()
for worker in workers:
    worker.join()
pace.done()
