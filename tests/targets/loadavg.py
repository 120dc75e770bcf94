# SPDX-License-Identifier: Apache-2.0
"""Works a known share of one CPU: loadavg.py SECONDS SHARE, in slices of 50 ms. Prints "cpu SECONDS"."""
import sys
import time

import pace

END = pace.deadline()
SHARE = float(sys.argv[2])


def slices():
    while pace.running(END):
        pace.burn(0.05 * SHARE)
        if SHARE < 1:
            time.sleep(0.05 * (1 - SHARE))


pace.ready()
slices()
pace.done()
