# SPDX-License-Identifier: Apache-2.0
"""Greenlets of gevent that switch into its hub and out of it all the time: hubs.py SECONDS FOLDER_OF_GEVENT. Three have
chains of functions of their own as in greenlets.py, two hand things over by a queue."""
import sys

import pace
from greenlet_chains import DEPTHS, chain

sys.path.insert(0, sys.argv[2])
import gevent  # noqa: E402
import gevent.queue  # noqa: E402

END = pace.deadline()


def work(n):
    x = 0
    for i in range(n):
        x += i * i
    return x


def turn():
    work(30)
    gevent.sleep(0)


def live(first):
    while pace.running(END):
        first(turn)


def produce(queue):
    while pace.running(END):
        work(20)
        queue.put(1)


def consume(queue):
    while pace.running(END):
        queue.get()
        work(50)
        gevent.sleep(0)


def main():
    queue = gevent.queue.Queue(3)
    lives = [gevent.spawn(live, chain(number, depth)) for number, depth in enumerate(DEPTHS)]
    lives += [gevent.spawn(produce, queue), gevent.spawn(consume, queue)]
    pace.ready()
    gevent.joinall(lives)


main()
pace.done()
