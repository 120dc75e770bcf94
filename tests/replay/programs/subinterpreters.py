# SPDX-License-Identifier: Apache-2.0
"""The thread runs code in a sub-interpreter: two thread states with its ids."""
import os
import sys

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

SOURCE = f"""
import sys, time
sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})
from truth import DEAD, record

def inside():
    record(); time.sleep(DEAD)

inside()
"""


def outside():
    interpreter = interpreters.create()
    interpreters.run_string(interpreter, SOURCE)


outside()
