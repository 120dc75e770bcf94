# SPDX-License-Identifier: Apache-2.0
"""Renames itself once it runs, as servers do: renamed.py SECONDS NAME."""
import ctypes
import sys
import time

import pace

END = pace.deadline()
pace.ready()
time.sleep(1)
ctypes.CDLL(None).prctl(15, sys.argv[2].encode())  # PR_SET_NAME
while pace.running(END):
    pace.burn(0.05)
pace.done()
