# SPDX-License-Identifier: Apache-2.0
"""A hundred processes of five kinds, each asleep most of the time, below this one, which only waits."""
import ctypes
import os
import signal
import subprocess
import sys

import board

SECTIONS = ()
KINDS = ("basic", "ladder", "generators", "real", "deep_leaf")
PROCESSES = 100
REST = 80.0  # together about one CPU and a quarter


PR_SET_PDEATHSIG = 1


def end_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def run(cells, row, rest):
    path, site = sys.argv[2], sys.argv[4]
    drive = os.path.join(os.path.dirname(os.path.abspath(__file__)), "drive.py")
    children = [subprocess.Popen([sys.executable, drive, KINDS[i % len(KINDS)], path, str(i), site, str(REST)],
                                 stdout=subprocess.PIPE, preexec_fn=end_with_parent) for i in range(int(row))]
    for child in children:
        child.stdout.readline()
    print("all", flush=True)
    for child in children:
        child.wait()
    if not children:
        while not cells[board.STOP]:
            pass
