# SPDX-License-Identifier: Apache-2.0
"""A hostile target: it overwrites the offset table that profilers read (CPython 3.13+), cookie and version
kept, or from then on lies in other ways: smashed.py SECONDS SEED."""
import ctypes
import random
import sys

import pace

END = pace.deadline()
SEED = int(sys.argv[2])
RUNTIME = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime"))
KEPT, SIZE = 24, 600  # the cookie (8 bytes), the version (8) and the build flavour (8)

draw = random.Random(SEED)
junk = bytes(draw.choice((0, 0xff, 0x10, draw.randrange(256))) for _ in range(SIZE - KEPT))
ctypes.memmove(RUNTIME + KEPT, junk, len(junk))
pace.ready()
while pace.running(END):
    pace.burn(0.01)
