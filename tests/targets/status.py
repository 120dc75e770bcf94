# SPDX-License-Identifier: Apache-2.0
"""Ends as it is told: status.py echo|exit N|kill N|wait SECONDS|spawn SECONDS|fork SECONDS."""
import os
import sys
import time

import pace


def busy():
    pace.burn(0.3)


what = sys.argv[1]
busy()
if what == "echo":
    sys.stdout.write(sys.stdin.read().upper())
    sys.stderr.write("to stderr\n")
elif what == "exit":
    sys.exit(int(sys.argv[2]))
elif what == "kill":
    os.kill(os.getpid(), int(sys.argv[2]))
elif what == "ids":
    print(os.getuid(), os.getgid())
elif what == "spawn":
    end = time.monotonic() + float(sys.argv[2])
    while time.monotonic() < end:
        os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
elif what == "fork":
    import threading

    def fork_all():
        end = time.monotonic() + float(sys.argv[2])
        while time.monotonic() < end:
            child = os.fork()
            if not child:
                pace.burn(0.001)
                os._exit(0)
            os.waitpid(child, 0)

    for _ in range(4):
        threading.Thread(target=fork_all).start()
elif what == "wait":
    end = time.monotonic() + float(sys.argv[2])
    while time.monotonic() < end:
        pace.burn(0.01)
    with open(sys.argv[3], "w") as out:
        out.write("finished\n")
