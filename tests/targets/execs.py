# SPDX-License-Identifier: Apache-2.0
"""Exec in place: the same pid runs two images in turn, each with a function of its own."""
import os
import sys
import time

import pace

SECONDS = float(sys.argv[1])
STAGE = int(sys.argv[2]) if len(sys.argv) > 2 else 0


def image_zero():
    pace.burn(SECONDS / 8)  # @zero


def image_one():
    pace.burn(SECONDS / 8)  # @one


def image_two():
    pace.burn(SECONDS / 8)  # @two


if STAGE == 0:
    pace.ready()
    time.sleep(0.3)
[image_zero, image_one, image_two][STAGE]()  # @top
if STAGE < 2:
    os.execv(sys.executable, [sys.executable, "-B", __file__, str(SECONDS), str(STAGE + 1)])
pace.done()
