# SPDX-License-Identifier: Apache-2.0
"""What PyInstaller makes one file of: its own modules and the library's are in that file, too."""
import bundled_parts.parsing


def bundled_work():
    while True:
        bundled_parts.parsing.parse(500)


print("ready", flush=True)
bundled_work()
