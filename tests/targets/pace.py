# SPDX-License-Identifier: Apache-2.0
"""What every target needs: CPU spent in known functions, and the hand-shake with the tests.

A target prints "ready" on its standard output once its interpreter is warm, works until its time is
up (argument 1, seconds) or it is killed, and prints "cpu SECONDS" at its end.
"""
import sys
import time

if sys.version_info >= (3, 7):
    thread_time = time.thread_time
else:
    def thread_time():
        return time.clock_gettime(time.CLOCK_THREAD_CPUTIME_ID)


def burn(seconds):
    """Spends that much CPU time of this thread; nothing below it is a Python function."""
    end, x = thread_time() + seconds, 0
    while thread_time() < end:
        x = 0
        for i in range(200):
            x += i * i
    return x


def changed(code, name, **fields):
    """A code object of another name; code.replace() came with 3.8, qualified names with 3.11."""
    fields["co_name"] = name
    if sys.version_info >= (3, 11):
        fields["co_qualname"] = name
    if sys.version_info >= (3, 8):
        return code.replace(**fields)
    order = ("argcount kwonlyargcount nlocals stacksize flags code consts names varnames filename name firstlineno lnotab "
             "freevars cellvars")
    return type(code)(*(fields.get("co_" + each, getattr(code, "co_" + each)) for each in order.split()))


def ready():
    print("ready", flush=True)


def deadline(position=1, default=10.0):
    seconds = float(sys.argv[position]) if len(sys.argv) > position else default
    return time.monotonic() + seconds


def running(end):
    return time.monotonic() < end


def run_threads(threads, warm):
    """Until all of them end; ready when all have come to the barrier `warm`."""
    for thread in threads:
        thread.start()
    warm.wait()
    ready()
    for thread in threads:
        thread.join()


def done():
    print("cpu", time.process_time(), flush=True)
