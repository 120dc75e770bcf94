# SPDX-License-Identifier: Apache-2.0
"""What stays in the kernel, and what a bare host lacks."""
import glob
import json
import os
import resource
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


def test_no_btf(t):
    """a kernel without BTF: status 5, and one sentence that says so; the command is not left running"""
    target = t.start(t.pythons[-1], "shares.py", 600)
    prefix = ("unshare", "-m", "sh", "-c", "mount -t tmpfs none /sys/kernel/btf && exec \"$@\"", "sh")
    for arguments in (("-p", target.pid), ("--", "touch", os.path.join(t.directory, "ran"))):
        recording = t.panopy_record("-d", 1, *arguments, prefix=prefix, folder=f"record{len(arguments)}").finish()
        t.claim(recording.status == 5, f"record {arguments[0]}: status 5", recording.explain())
        lines = [line for line in recording.errors.split("\n") if line.strip()]
        t.claim(len(lines) == 1 and "CONFIG_DEBUG_INFO_BTF" in lines[0], "one line, with what to change", lines)
        t.claim(not os.path.exists(recording.output), "no file is written")
    t.claim(not os.path.exists(os.path.join(t.directory, "ran")), "and the command is not run")


def hotplug_switch():
    """The switch of a CPU that may leave, or None."""
    for path in sorted(glob.glob("/sys/devices/system/cpu/cpu[0-9]*/online")):
        if os.access(path, os.W_OK) and not path.endswith("/cpu0/online"):
            return path
    return None


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def pinned_weight(t, python, cpu, recording, seconds):
    """Runs a target on that CPU alone; returns a function that gives (its CPU clock, its weight) afterwards."""
    target = t.start(python, "loadavg.py", seconds, 0.5)
    os.sched_setaffinity(target.pid, {cpu})
    target.finish()

    def result():
        process = recording.summary().process(target.pid)
        return float(target.value("cpu")), process["weight_ns"] / 1e9 if process else 0.0
    return result


def test_cpu_hotplug(t):
    """a CPU that leaves and comes back is sampled again, also when it was away for a moment only"""
    switch = hotplug_switch()
    if not switch:
        t.skip("no CPU of this machine can be taken offline")
    cpu = int(switch.split("/")[-2][3:])
    python = t.pythons[-1]
    t.at_end(lambda: write(switch, "1"))
    recording = t.panopy_record("-r", "1khz")
    time.sleep(1.5)
    write(switch, "0")
    time.sleep(1.5)
    write(switch, "1")
    time.sleep(1.5)
    back = pinned_weight(t, python, cpu, recording, 3)
    write(switch, "0")
    write(switch, "1")
    time.sleep(2.5)
    again = pinned_weight(t, python, cpu, recording, 3)
    recording.interrupt().finish()
    t.require(recording.status == 0, "the recording succeeds", recording.explain())
    for result, what in ((back, "after it came back"), (again, "after it was away for a moment")):
        clock, weight = result()
        t.claim(clock > 0.5 and abs(weight - clock) <= 0.1 * clock,
                f"{what}: {weight:.3f} s sampled on CPU {cpu}, {clock:.3f} s by the clock", recording.explain())


def test_cpu_that_cannot_be_opened(t):
    """a CPU comes online while no descriptor is to be had: that is said, and it is sampled when there is one"""
    switch = hotplug_switch()
    if not switch:
        t.skip("no CPU of this machine can be taken offline")
    cpu = int(switch.split("/")[-2][3:])
    t.at_end(lambda: write(switch, "1"))
    recording = t.panopy_record("-r", "1khz")
    time.sleep(1.5)
    write(switch, "0")
    time.sleep(1.5)
    limits = resource.prlimit(recording.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(recording.process.pid, resource.RLIMIT_NOFILE, (3, limits[1]))
    write(switch, "1")
    time.sleep(2.5)
    resource.prlimit(recording.process.pid, resource.RLIMIT_NOFILE, limits)
    time.sleep(2.5)
    result = pinned_weight(t, t.pythons[-1], cpu, recording, 3)
    recording.interrupt().finish()
    t.require(recording.status == 0, "the recording succeeds", recording.explain())
    t.claim(recording.errors.count("cannot be sampled yet") == 1, "it is said once", recording.explain())
    clock, weight = result()
    t.claim(clock > 0.5 and abs(weight - clock) <= 0.1 * clock,
            f"afterwards: {weight:.3f} s sampled on CPU {cpu}, {clock:.3f} s by the clock", recording.explain())
