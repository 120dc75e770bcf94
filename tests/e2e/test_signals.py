# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and SIGTERM stop and write; a second Ctrl-C aborts."""
import fcntl
import os
import signal
import subprocess
import time


def test_stop(t):
    """Ctrl-C, SIGTERM and SIGHUP write the profile"""
    target = t.start(t.pythons[-1], "shares.py", 600)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        recording = t.panopy_record("-r", "1khz", "-p", target.pid, folder=number.name)
        time.sleep(1.5)
        recording.interrupt(number).finish(20)
        t.claim(recording.status == 0, f"{number.name}: exit status 0", recording.explain())
        t.claim(sum(s.count for s in recording.stacks(target.pid)) > 300, f"{number.name}: the samples are written")
    t.claim(target.process.poll() is None, "the target still runs")


def stuck_writing(t, *arguments, folder):
    """A recording whose output is a pipe that nobody reads."""
    target = t.start(t.pythons[-1], "ladder.py", 600, 200, 8)
    recording = t.panopy_record("-r", "10khz", *arguments, "-p", target.pid, output="-", folder=folder,
                                popen={"stdout": subprocess.PIPE})
    fcntl.fcntl(recording.process.stdout, fcntl.F_SETPIPE_SZ, 4096)
    time.sleep(1.8)
    return recording


def test_abort(t):
    """a second Ctrl-C ends a panopy that cannot write"""
    recording = stuck_writing(t, folder="abort")
    recording.interrupt()
    time.sleep(1)
    stuck = recording.process.poll() is None
    t.claim(stuck, "its output is a pipe that nobody reads: it waits", recording.explain())
    recording.interrupt()
    try:
        recording.process.wait(5)
    except subprocess.TimeoutExpired:
        pass
    t.claim(recording.process.poll() not in (None, 0), "the second Ctrl-C ends it within 5 s, not with 0",
            recording.process.poll())


def test_unread_messages(t):
    """nobody reads its messages: the recording goes on and ends when asked; what could not be said is counted"""
    target = t.start(t.pythons[-1], "shares.py", 600)
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    os.write(writer, b"-" * 4096)
    recording = t.panopy_record("-r", "1khz", "--stats=1", "-p", target.pid, popen={"stderr": writer})
    os.close(writer)
    time.sleep(3.5)
    recording.interrupt(signal.SIGTERM)
    end = time.monotonic() + 10
    while not os.path.exists(recording.summary_path) and time.monotonic() < end:
        time.sleep(0.05)
    written = os.path.exists(recording.summary_path)
    with open(reader, encoding="utf-8") as file:
        if not written:
            recording.interrupt(signal.SIGKILL)
        said = file.read()
    recording.finish(20)
    t.claim(written and recording.status == 0, f"SIGTERM: the files are written, status {recording.status}", said)
    count = sum(s.count for s in recording.stacks(target.pid)) if written else 0
    t.claim(count > 1500, f"the samples of all the time are there ({count})")
    t.claim("messages are missing" in said and "samples of 1 process" in said, "it says so, and sums up once it is read", said)


def test_first_after_the_end(t):
    """a SIGTERM while a recording that ended by itself is written does not end it, a second one does"""
    for second in (False, True):
        recording = stuck_writing(t, "-d", 0.5, folder=f"second{second}")
        recording.interrupt(signal.SIGTERM)
        time.sleep(0.3)
        t.claim(recording.process.poll() is None, "its output is a pipe that nobody reads: it goes on waiting",
                recording.explain())
        if second:
            recording.interrupt(signal.SIGTERM)
        recording.finish(20)
        t.claim(recording.status == (-signal.SIGTERM if second else 0), f"it ends with {recording.status}",
                recording.explain())
        t.claim(second or (len(recording.stdout) > 4096 and recording.stdout.endswith(b"\n")), "once read, all is written",
                len(recording.stdout))


def test_ignored(t):
    """SIGHUP and SIGINT that were ignored at the start stay so (nohup); SIGTERM ends it"""
    target = t.start(t.pythons[-1], "shares.py", 600)
    recording = t.panopy_record("-r", "1khz", "-p", target.pid, prefix=("sh", "-c", "trap '' HUP INT; exec \"$@\"", "sh"))
    time.sleep(1)
    recording.interrupt(signal.SIGHUP).interrupt(signal.SIGINT)
    time.sleep(1)
    t.claim(recording.process.poll() is None, "it goes on", recording.explain())
    recording.interrupt(signal.SIGTERM).finish(20)
    t.claim(recording.status == 0 and recording.stacks(target.pid), "SIGTERM: 0, and the samples are written",
            recording.explain())


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
