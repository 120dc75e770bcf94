# SPDX-License-Identifier: Apache-2.0
"""Threads that work in the main interpreter and in one of their own by turns: interpreters.py SECONDS THREADS. With
several interpreters a thread has several states of one id; functions of two threads or interpreters in one stack are
none."""
import sys
import threading

import pace
from subinterpreter_api import create, run

END = pace.deadline()
COUNT = int(sys.argv[2])
WORK = """
def inner_{0}():
    x = 0
    for i in range(3000):
        x += i
def own_{0}():
    inner_{0}()
own_{0}()
"""

WARM = threading.Barrier(COUNT + 1)
SPACE = {}
for number in range(COUNT):
    exec(compile(f"def main_leaf_{number}():\n    x = 0\n    for i in range(3000):\n        x += i\n"
                 f"def main_{number}():\n    main_leaf_{number}()\n", f"main{number}.py", "exec"), SPACE)


def visit(number):
    interpreter = create()
    text = WORK.format(number)
    function = SPACE[f"main_{number}"]
    function()
    run(interpreter, text)
    WARM.wait()
    while pace.running(END):
        function()
        run(interpreter, text)


pace.run_threads([threading.Thread(target=visit, args=(number,), daemon=True) for number in range(COUNT)], WARM)
pace.done()
