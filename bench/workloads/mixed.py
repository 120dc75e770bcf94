# SPDX-License-Identifier: Apache-2.0
"""A hundred processes of five kinds, each asleep most of the time, below this one, which only waits."""
import os
import subprocess
import sys

import board

SECTIONS = ()
KINDS = ("basic", "ladder", "generators", "real", "deep_leaf")
PROCESSES = 100
REST = 80.0  # together about one CPU and a quarter


def run(cells, row, rest):
    path, site = sys.argv[2], sys.argv[4]
    drive = os.path.join(os.path.dirname(os.path.abspath(__file__)), "drive.py")
    children = [subprocess.Popen([sys.executable, "-B", drive, KINDS[i % len(KINDS)], path, str(i), site, str(REST)],
                                 stdout=subprocess.PIPE) for i in range(int(row))]
    for child in children:
        child.stdout.readline()
    print("all", flush=True)
    for child in children:
        child.wait()
    if not children:
        while not cells[board.STOP]:
            pass
