# SPDX-License-Identifier: Apache-2.0
"""Frames larger than a window (hundreds of locals), recursion over many chunks of the data stack."""
import time

from truth import DEAD, record

locals_ = "\n".join(f"    v{i} = {i}" for i in range(700))
names = {"record": record, "time": time, "DEAD": DEAD}
exec(compile(f"""
def wide(level):
{locals_}
    return narrow(level - 1)

def narrow(level):
    if level <= 0:
        record(); time.sleep(DEAD)
    return wide(level - 1)
""", "wide", "exec"), names)
names["wide"](40)
