# SPDX-License-Identifier: Apache-2.0
"""Works for so long without arguments in /proc/self/cmdline.

noarguments.py SECONDS
"""
import ctypes

import pace

PR_SET_MM, PR_SET_MM_ARG_END = 35, 9

END = pace.deadline()
with open("/proc/self/stat") as stat:
    arg_start = int(stat.read().rpartition(")")[2].split()[48 - 3])
if ctypes.CDLL(None).prctl(PR_SET_MM, PR_SET_MM_ARG_END, ctypes.c_ulong(arg_start), 0, 0):
    print("refused", flush=True)


def without_arguments():
    pace.burn(0.01)


pace.ready()
while pace.running(END):
    without_arguments()
