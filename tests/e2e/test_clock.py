# SPDX-License-Identifier: Apache-2.0
"""The samples' weights add up to the CPU clock of each process, and those without Python to their threads'."""
import os
import time

from lib.hosts import on_host
from lib.stall import stolen_seconds

SECONDS = 20
SHARES = (0.5, 0.4, 0.3, 0.25, 0.22)  # of a CPU; two CPUs can give all of them


def weight_seconds(summary, pid):
    process = summary.process(pid)
    return process["weight_ns"] / 1e9 if process else 0.0


def test_cpu_clock(t):
    """weights of a process differ from its CPU clock by at most 2 % of the recorded time"""
    stolen = stolen_seconds()
    recording = t.panopy_record("-r", "1khz", "-d", SECONDS + 8)
    time.sleep(1.5)
    pythons = {python.minor: python for python in t.pythons}
    targets = [t.start(python, "loadavg.py", SECONDS, share) for python, share in zip(pythons.values(), SHARES)]
    for target in targets:
        target.finish()
    recording.interrupt().finish()
    t.require(recording.status == 0, "the recording succeeds", recording.explain())
    for target, share in zip(targets, SHARES):
        clock = float(target.value("cpu"))
        weight = weight_seconds(recording.summary(), target.pid)
        t.claim(abs(weight - clock) <= 0.02 * SECONDS,
                f"{target.python} at {share:.0%}: {weight:.3f} s sampled, {clock:.3f} s by its clock")
        counted = sum(stack.count for stack in recording.stacks(target.pid)) / 1000
        t.note(f"the collapsed file has {counted:.3f} s of them")
    stolen = stolen_seconds() - stolen
    ticks = recording.summary().data["lost"]["stolen"] / 1000
    # Slices shorter than a period cost no tick.
    t.claim(ticks <= 1.1 * stolen + 0.1 and (ticks > 0 or stolen < 1),
            f"{ticks:.3f} s of ticks were told as stolen by the host, the kernel tells {stolen:.3f} s")


def test_first_look(t):
    """CPUs that belong to sixty others: the recording begins when each of them has been looked at, not before"""
    python = on_host(t.pythons)
    targets = t.start_all([(python, "loadavg.py", 600, 1)] * 60)
    recording = t.record("-r", "1khz", "-d", 3, "-p", ",".join(str(target.pid) for target in targets))
    t.require(recording.status == 0, "the recording succeeds", recording.explain())
    data = recording.summary().data
    seconds = sum(process["weight_ns"] for process in data["processes"]) / 1e9
    there = os.cpu_count() * data["duration_ns"] / 1e9 - data["lost"]["stolen"] / 1000
    t.claim(seconds >= 0.9 * there, f"{seconds:.2f} s sampled of the {there:.2f} s that the CPUs had", recording.explain())


def test_no_python(t):
    """the share of a process's samples without Python frames is that of its threads that run none"""
    python = on_host(t.pythons)
    recording = t.record("-r", "1khz", "--", *python.argv("native.py", 2))
    process, = recording.summary().data["processes"]
    clocks = dict(line.split() for line in recording.stdout.decode().split("\n") if " " in line)
    cpu, before, python_cpu = (float(clocks[word]) for word in ("cpu", "before", "python"))
    # The interpreter is found while it starts: what passed before may be in the profile or not.
    low, high = 100 * (cpu - python_cpu) / cpu, 100 * (cpu - python_cpu) / (cpu - before)
    told = process["no_python_percent"]
    # On a busy host the two take turns at the scheduler's tick, which the samples have a fixed distance to.
    t.claim(low > 20 and low - 12 <= told <= high + 12,
            f"{python}: {told:.1f} % told, {low:.1f} % to {high:.1f} % by the clocks", process["reasons"])
    line = next((line for line in recording.errors.split("\n") if f" {process['pid']}  " in line), "")
    t.claim(f" {told:.1f} %  " in line, "the summary's line of the process says the same", recording.explain())
    found = sum(s.count for s in recording.stacks(process["pid"]) if s.status == "no python frame")
    t.claim(found == process["statuses"]["none"], "and the collapsed file has as many samples", found, process)
