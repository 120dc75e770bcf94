# SPDX-License-Identifier: Apache-2.0
"""Work in a function of a given name, in given cgroups.

groups.py SECONDS LABEL                  works at once
groups.py SECONDS LABEL go               waits for a line on its input before, and for its end after
groups.py SECONDS LABEL move FILE FILE   goes to and fro between the cgroups of two cgroup.procs files, in
                                         LABEL_first and LABEL_second, with a forked child and an exec on each side
groups.py SECONDS LABEL exec SCRIPT      becomes `SCRIPT SECONDS LABEL_after` when its time is up
"""
import os
import subprocess
import sys
import types

import pace

SECONDS, LABEL, HOW, REST = float(sys.argv[1]), sys.argv[2], *(sys.argv[3:4] or [""]), sys.argv[4:]


def work(seconds):
    while seconds > 0:
        pace.burn(0.005)
        seconds -= 0.005


def named(label):
    return types.FunctionType(pace.changed(work.__code__, label), globals())


def move_to(path):
    with open(path, "w") as file:
        file.write(str(os.getpid()))


def child(label, seconds):
    """Both are where their parent is when it makes them, and stay there."""
    pid = os.fork()
    if pid == 0:
        named(label + "_forked")(seconds)
        os._exit(0)
    execed = subprocess.Popen([sys.executable, "-B", __file__, str(seconds), label + "_execed"],
                              stdout=subprocess.DEVNULL)
    return pid, execed


def move_about(first, second):
    sides = ((first, named(LABEL + "_first"), "_first"), (second, named(LABEL + "_second"), "_second"))
    made = []
    for turn in range(int(SECONDS / 0.1)):
        for path, function, side in sides:
            move_to(path)
            function(0.05)
            if turn == 3:
                made.append(child(LABEL + side, 0.3))
    for pid, execed in made:
        os.waitpid(pid, 0)
        execed.wait()


pace.burn(0.02)
pace.ready()
if HOW == "move":
    sys.stdin.readline()
    move_about(*REST)
    print("done", flush=True)
    sys.stdin.readline()
elif HOW == "go":
    sys.stdin.readline()
    named(LABEL)(SECONDS)
    print("done", flush=True)
    sys.stdin.readline()
else:
    named(LABEL)(SECONDS)
    if HOW == "exec":
        os.execv(sys.executable, [sys.executable, "-B", REST[0], str(SECONDS), LABEL + "_after"])
