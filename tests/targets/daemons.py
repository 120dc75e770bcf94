# SPDX-License-Identifier: Apache-2.0
"""Daemon threads that still run while the interpreter shuts down."""
import threading

import pace

END = pace.deadline()


def daemon_work():
    while True:
        pace.burn(0.001)


for _ in range(4):
    threading.Thread(target=daemon_work, daemon=True).start()
pace.ready()
while pace.running(END):
    pace.burn(0.005)
pace.done()
