# SPDX-License-Identifier: Apache-2.0
"""Code compiled under an empty file name. Argument: seconds."""
import sys

SOURCE = """
import time
def nowhere():
    end = time.time() + seconds
    while time.time() < end:
        pass
nowhere()
"""

exec(compile(SOURCE, "", "exec"), {"seconds": float(sys.argv[1])})
