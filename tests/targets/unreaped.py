# SPDX-License-Identifier: Apache-2.0
"""So many children, one after the other, that work for a moment each and stay zombies.

unreaped.py CHILDREN
"""
import os
import sys
import time

import pace


def brief_work():
    pace.burn(0.02)


pace.burn(0.02)
pace.ready()
sys.stdin.readline()
for _ in range(int(sys.argv[1])):
    if os.fork() == 0:
        brief_work()
        os._exit(0)
    time.sleep(0.03)
print("done", flush=True)
sys.stdin.readline()
