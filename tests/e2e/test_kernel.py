# SPDX-License-Identifier: Apache-2.0
"""What stays in the kernel, and what a bare host lacks."""
import json
import os
import shutil
import signal
import subprocess
import time


def bpftool():
    return shutil.which("bpftool", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def objects():
    found = {}
    for kind in ("prog", "map", "link"):
        out = subprocess.run([bpftool(), "-j", kind, "show"], stdout=subprocess.PIPE, check=True).stdout
        # bpftool itself loads an iterator program to list the owners of an object.
        found[kind] = {item["id"] for item in json.loads(out or b"[]")
                       if not any(p.get("comm") == "bpftool" for p in item.get("pids", []))
                       and item.get("name") not in ("iter", "pid_iter.rodata", "dump_bpf_map", "dump_bpf_prog")}
    return found


def settled(before):
    """What is there now and was not before, after the kernel had time to free it."""
    for _ in range(50):
        left = {kind: ids - before[kind] for kind, ids in objects().items()}
        if not any(left.values()):
            return {}
        time.sleep(0.1)
    return left


def test_nothing_stays(t):
    """after the end, and after SIGKILL, no program, map or link stays"""
    if not bpftool():
        t.skip("needs bpftool")
    target = t.start(t.pythons[-1], "shares.py", 600)
    before = objects()
    for number in (signal.SIGKILL, signal.SIGTERM):
        recording = t.panopy_record("-r", "1khz", "-p", target.pid, folder=number.name)
        time.sleep(2)
        during = {kind: len(ids - before[kind]) for kind, ids in objects().items()}
        t.claim(during["prog"] > 0 and during["map"] > 0, f"while it runs: {during}", recording.explain())
        recording.interrupt(number).finish(20)
        t.claim(not settled(before), f"after {number.name} nothing of it is left", settled(before))
    t.claim(target.process.poll() is None, "the target still runs")


def test_after_kill(t):
    """a panopy that follows a killed one works"""
    target = t.start(t.pythons[-1], "shares.py", 600)
    recording = t.panopy_record("-r", "1khz", "-p", target.pid)
    time.sleep(1.5)
    recording.interrupt(signal.SIGKILL).finish(20)
    t.claim(not os.path.exists(recording.output), "the killed one left no half-written file")
    again = t.record("-r", "1khz", "-d", 1, "-p", target.pid, folder="again")
    t.claim(sum(s.count for s in again.stacks(target.pid)) > 300, "the next one records")


def test_bare_host(t):
    """neither tracefs nor debugfs nor a bpf file system is mounted in panopy's view"""
    target = t.start(t.pythons[-1], "shares.py", 600)
    script = ("for d in /sys/kernel/tracing /sys/kernel/debug /sys/fs/bpf; do umount -l $d 2>/dev/null; done; "
              "exec \"$@\"")
    recording = t.record("-r", "1khz", "-d", 1, "-p", target.pid,
                         prefix=("unshare", "-m", "sh", "-c", script, "sh"))
    t.claim(sum(s.count for s in recording.stacks(target.pid)) > 300, "the profile is whole")
