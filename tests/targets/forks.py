# SPDX-License-Identifier: Apache-2.0
"""Fork without exec: the child goes on from the same addresses in functions of its own."""
import os

import pace

END = pace.deadline()


def parent_work():
    while pace.running(END):
        pace.burn(0.01)  # @parent


def child_work():
    while pace.running(END):
        pace.burn(0.01)  # @child


def grandchild_work():
    while pace.running(END):
        pace.burn(0.01)  # @grandchild


def fork_all():
    if os.fork() == 0:
        if os.fork() == 0:
            grandchild_work()  # @run_grandchild
            os._exit(0)
        child_work()  # @run_child
        os._exit(0)
    pace.ready()
    parent_work()  # @run_parent


fork_all()  # @top
pace.done()
