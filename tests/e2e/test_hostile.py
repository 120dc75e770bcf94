# SPDX-License-Identifier: Apache-2.0
"""Targets that vanish, lie, or are watched by others: one clear outcome each, and the others' data is whole."""
import os
import shutil
import subprocess
import time

from lib import legal
from lib.folded import names
from lib.hosts import on_host


def whole(t, recording, target, seconds, what):
    """A bystander has its stacks: shares.py at 1 kHz, at least a tenth of a CPU."""
    stacks = recording.stacks(target.pid)
    good = [s for s in stacks if names(s)[:2] == ("<module>", "main")]
    count = sum(s.count for s in good)
    t.claim(count >= 100 * seconds and len(good) == len(stacks), f"{what}: the other process is whole ({count} samples)",
            [s.raw for s in stacks if s not in good][:3], recording.explain())


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for_cpu_time(targets, seconds):
    """Until each has had its share of the CPU, however busy the host is (10 s at most)"""
    limit = time.monotonic() + 10
    while time.monotonic() < limit and any(cpu_seconds(target.pid) < seconds for target in targets):
        time.sleep(0.02)


def test_killed(t):
    """targets that are SIGKILLed during the recording"""
    bystander = t.start(t.pythons[-1], "shares.py", 600)
    recording = t.panopy_record("-r", "10khz")
    time.sleep(1.2)
    for _ in range(3):
        victims = [t.start(python, "ladder.py", 600, 200, 8) for python in t.pythons]
        wait_for_cpu_time(victims, 0.25)
        for victim in victims:
            victim.kill()
    recording.interrupt().finish()
    t.require(recording.status == 0, "the recording succeeds", recording.explain())
    whole(t, recording, bystander, 4, "killed targets")
    found = [v for v in victims if any("climb" in names(s) for s in recording.stacks(v.pid))]
    t.claim(len(found) == len(victims), "and the killed ones have stacks too", [repr(v) for v in victims if v not in found])
    for victim in victims:
        wrong, shown = legal.judge([s for s in recording.stacks(victim.pid) if "climb" in names(s)], legal.ladder)
        t.claim(not wrong, f"{victim.python}: none impossible", shown)


def test_not_python(t):
    """a process named python that is not one"""
    fake = os.path.join(t.directory, "python3.13")
    shutil.copy2(shutil.which("perl") or shutil.which("awk"), fake)
    code = ["-e", "1 while 1"] if shutil.which("perl") else ["BEGIN { while (1) n++ }"]
    process = subprocess.Popen([fake, *code])
    t.at_end(process.kill)
    bystander = t.start(t.pythons[-1], "shares.py", 600)
    recording = t.record("-r", "1khz", "-d", 2)
    t.claim(not recording.stacks(process.pid), "it is not in the profile")
    whole(t, recording, bystander, 1, "a fake python")
    alone = t.panopy_record("-d", 5, "-p", process.pid, "--no-subprocesses", folder="alone").finish()
    t.claim(alone.status == 4 and alone.seconds < 3, "-p of it: status 4 at once", alone.explain())


def test_smashed_offsets(t):
    """a target that overwrites its own offset table in memory: panopy has it from the file, and the stacks are true"""
    pythons = [python for python in t.pythons if python.minor >= (3, 13)]
    if not pythons:
        t.skip("needs CPython 3.13 or newer")
    bystander = t.start(t.pythons[0], "shares.py", 600)
    targets = [t.start(python, "smashed.py", 600, seed) for python in pythons for seed in range(4)]
    recording = t.record("-r", "1khz", "-d", 3)
    whole(t, recording, bystander, 0.5, "smashed offsets")
    bad = [s.raw for target in targets for s in recording.stacks(target.pid) if s.status == "exact"
           and names(s)[:1] != ("<module>",)]
    t.claim(not bad, "none of them has an invented stack", bad[:3])
    listing = subprocess.run([t.panopy, "ps"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    t.claim(listing.returncode == 0 and all(str(x.pid) in listing.stdout for x in targets),
            "ps still lists them", listing.stdout[-800:], listing.stderr[-400:])


def test_traced(t):
    """a Python under strace, and one that gdb looks at"""
    python = on_host(t.pythons)
    tracers = []
    if shutil.which("strace"):
        tracers.append(("strace", ["strace", "-f", "-o", "/dev/null", "--", *python.argv("shares.py", 600)], None))
    if shutil.which("gdb"):
        target = t.start(python, "shares.py", 600)
        tracers.append(("gdb", ["gdb", "-q", "-batch", "-nx", "-p", str(target.pid), "-ex", "continue"], target.pid))
    if len(tracers) < 2:
        t.skip("needs strace and gdb")
    for tracer, command, pid in tracers:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        t.at_end(process.kill)
        time.sleep(3)
        pid = pid or child_of(process.pid)
        t.at_end(lambda pid=pid: os.kill(pid, 9) if os.path.exists(f"/proc/{pid}") else None)
        recording = t.panopy_record("-r", "1khz", "-d", 2, "-p", pid, folder=tracer).finish()
        t.claim(recording.status == 0, f"under {tracer}: status 0", recording.explain())
        leaves = {names(s)[-1] for s in recording.stacks(pid) if names(s)}
        t.claim({"sixty", "thirty"} <= leaves, f"under {tracer}: its functions are there", leaves)


def child_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return int(file.read().split()[0])


def test_two_panopys(t):
    """two panopys at once both work"""
    targets = [t.start(python, "shares.py", 600) for python in t.pythons[:2]]
    both = [t.panopy_record("-r", "1khz", "-d", 4, folder=name) for name in ("first", "second")]
    for recording in both:
        recording.finish()
        t.require(recording.status == 0, "the recording succeeds", recording.explain())
        for target in targets:
            whole(t, recording, target, 3, os.path.basename(recording.directory))
