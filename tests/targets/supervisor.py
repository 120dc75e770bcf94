# SPDX-License-Identifier: Apache-2.0
"""Some commands, and so many shells, each of which starts one short-lived Python after the other below a shell of its
own; the pid and the start of each is printed.

supervisor.py SHELLS SECONDS [COMMAND...]    each lives so long; the commands are lists as JSON
"""
import json
import subprocess
import sys

import pace

CHILD = f"import os, time; print(os.getpid(), time.monotonic(), flush=True); time.sleep({sys.argv[2]})"
SHELL = '"$0" -S -E -c "$1"; :'
LOOP = 'sleep 0.$3; while :; do sh -c "$2" "$0" "$1"; done'

pace.ready()
for command in sys.argv[3:]:
    subprocess.Popen(json.loads(command), stdout=subprocess.DEVNULL)
shells = [subprocess.Popen(["sh", "-c", LOOP, sys.executable, CHILD, SHELL, str(number % 10)])
          for number in range(int(sys.argv[1]))]
for shell in shells:
    shell.wait()
