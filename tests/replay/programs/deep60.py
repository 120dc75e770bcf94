# SPDX-License-Identifier: Apache-2.0
"""60 levels, each a function of its own."""
import time

from truth import DEAD, record

LEVELS = 60

source = "def level_0(): record(); sleep(DEAD)\n"
for level in range(1, LEVELS):
    source += "\n" * (level % 5) + f"def level_{level}():\n    level_{level - 1}()\n"
names = {"record": record, "sleep": time.sleep, "DEAD": DEAD}
exec(compile(source, "levels", "exec"), names)
names[f"level_{LEVELS - 1}"]()
