# SPDX-License-Identifier: Apache-2.0
"""Known shares of the CPU: 60, 30 and 10 % in sixty, thirty and ten, by this thread's own CPU clock. Units of
work are drawn at random, so that no period of the program can beat with the sampler's; a function that is ahead
of its share waits for the others, so that the shares hold whatever a unit costs."""
import random
import time

import pace

END = pace.deadline()


def sixty(count):
    x = 0
    for i in range(count):
        x += i * i & 1023
    return x


def thirty(count):
    x = 0
    for i in range(count):
        x += i * i & 1023
    return x


def ten(count):
    x = 0
    for i in range(count):
        x += i * i & 1023
    return x


# 3.6 has only seconds.
thread_time_ns = getattr(time, "thread_time_ns", None) or (lambda: int(1e9 * pace.thread_time()))


def main():
    unit, slack = 1000, 500_000
    functions, shares = [sixty, thirty, ten], [0.6, 0.3, 0.1]
    draw = random.Random(60_30_10)
    for function in functions:
        for _ in range(100):
            function(unit)
    pace.ready()
    used, total = [0, 0, 0], 0
    before = thread_time_ns()
    while pace.running(END):
        for pick in draw.choices((0, 1, 2), shares, k=20):
            if used[pick] > shares[pick] * total + slack:
                pick = min((0, 1, 2), key=lambda i: used[i] - shares[i] * total)
            functions[pick](unit)
            after = thread_time_ns()
            used[pick] += after - before
            total += after - before
            before = after
    print("shares", *(round(each / total, 5) for each in used), flush=True)


main()
pace.done()
