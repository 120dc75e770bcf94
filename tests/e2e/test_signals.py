# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and SIGTERM stop and write; a second Ctrl-C aborts."""
import os
import signal
import subprocess
import time


def test_stop(t):
    """Ctrl-C and SIGTERM write the profile"""
    target = t.start(t.pythons[-1], "shares.py", 600)
    for number in (signal.SIGINT, signal.SIGTERM):
        recording = t.panopy_record("-r", "1khz", "-p", target.pid, folder=number.name)
        time.sleep(2)
        recording.interrupt(number).finish(20)
        t.claim(recording.status == 0, f"{number.name}: exit status 0", recording.explain())
        t.claim(sum(s.count for s in recording.stacks(target.pid)) > 300, f"{number.name}: the samples are written")
    t.claim(target.process.poll() is None, "the target still runs")


def test_abort(t):
    """a second Ctrl-C ends a panopy that cannot write"""
    targets = [t.start(python, "ladder.py", 600, 200, 8) for python in t.pythons]
    recording = t.panopy_record("-r", "10khz", *(("-p", ",".join(str(x.pid) for x in targets))), output="-",
                                popen={"stdout": subprocess.PIPE})
    time.sleep(4)
    recording.interrupt()
    time.sleep(3)
    stuck = recording.process.poll() is None
    t.claim(stuck, "its output is a pipe that nobody reads: it waits", recording.explain())
    recording.interrupt()
    try:
        recording.process.wait(5)
    except subprocess.TimeoutExpired:
        pass
    t.claim(recording.process.poll() not in (None, 0), "the second Ctrl-C ends it within 5 s, not with 0",
            recording.process.poll())


def test_targets_end(t):
    """a recording of processes that all end is over then"""
    target = t.start(t.pythons[-1], "shares.py", 2)
    recording = t.panopy_record("-r", "1khz", "-p", target.pid)
    target.finish()
    try:
        recording.finish(15)
    except subprocess.TimeoutExpired:
        pass
    t.claim(recording.process.poll() == 0, "panopy ends by itself with 0", recording.explain())
    t.claim(os.path.exists(recording.output) and recording.stacks(target.pid), "and the profile is written")
