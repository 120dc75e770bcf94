# SPDX-License-Identifier: Apache-2.0
"""A parent and its subprocess: children.py SECONDS. The child runs this file again with "child"."""
import subprocess
import sys

import pace

END = pace.deadline()


def in_parent():
    pace.burn(0.01)


def in_child():
    pace.burn(0.01)


def work(function):
    while pace.running(END):
        function()


if len(sys.argv) > 2 and sys.argv[2] == "child":
    work(in_child)
else:
    child = subprocess.Popen([sys.executable, "-B", __file__, sys.argv[1], "child"])
    print("child", child.pid, flush=True)
    pace.ready()
    work(in_parent)
    child.wait()
    pace.done()
