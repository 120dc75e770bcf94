# SPDX-License-Identifier: Apache-2.0
"""What the interrupt leaves is read when the thread returns to user mode: whole and exact, on kernels that have
BPF task work; with a budget of a few frames, as hosts with short-interrupt rules run it, and on deep stacks."""
import json
import os
import subprocess
import time

from lib.folded import names
from lib.hosts import on_host, one_per_minor
from lib.source import Source, patterns, stack_matches
from test_extreme import check_losses, record_extremes

ROOTS = ("<module>", "Thread._bootstrap", "_bootstrap")  # the last before 3.11
WORKS = {"brief", "image_zero", "image_one", "image_two", "parent_work", "child_work", "grandchild_work"}


def needs_task_work(t):
    shown = subprocess.run([t.panopy, "doctor", "--json"], stdout=subprocess.PIPE, check=False).stdout
    features = json.loads(shown)["features"]
    if next(f for f in features if f["name"] == "task_work")["state"] != "present":
        t.skip("the kernel has no BPF task work (Linux 6.18)")


def statuses(recording, *targets):
    """status -> samples of those processes."""
    counted = {}
    for target in targets:
        for status, count in recording.summary().process(target.pid)["statuses"].items():
            counted[status] = counted.get(status, 0) + count
    return counted


def test_fast_programs(t):
    """programs that change their stack as fast as they can, 4 frames in the interrupt: whole, and none impossible"""
    needs_task_work(t)
    recording, started = record_extremes(t, 500, "--kernel-frames", 4)
    ladders = [target for script, target in started if script == "ladder.py"]
    counted = statuses(recording, *ladders)
    t.claim(counted.get("completed", 0) > 0.5 * sum(counted.values()), "most of the ladder's were completed", counted)


def test_ordinary(t):
    """an ordinary program, 8 of its 27 frames in the interrupt, at 10 kHz: flagged are at most 1 in 10,000"""
    needs_task_work(t)
    targets = t.start_all((python, "deep.py", 600, 25) for python in t.pythons)
    recording = t.record("-r", "10khz", "-d", 8, "--kernel-frames", 8)
    want = patterns(Source("deep.py"), "<module>@top", *["descend@level"] * 24, "descend@bottom", "work@work")
    stacks = recording.stacks(*(target.pid for target in targets))
    wrong = [s.raw for s in stacks if s.status == "exact" and not stack_matches(s, want)]
    t.claim(not wrong, "every stack is the known one", wrong[:5])
    check_losses(t, recording, 0.0001, stacks)


def test_deep(t):
    """10,000 frames: every sample whole and exact on every Python"""
    needs_task_work(t)
    for python in t.pythons:
        target = t.start(python, "deep.py", 600, 10000)
        recording = t.record("-r", "200", "-d", 2, "-p", target.pid, folder=repr(python).replace("/", "_"))
        stacks = recording.stacks(target.pid)
        depths = {len(stack.frames) for stack in stacks}
        total = sum(stack.count for stack in stacks)
        t.claim(total >= 50 and depths == {10002} and not any(stack.flagged for stack in stacks),
                f"{python}: {total} samples, each of 10,002 frames and none flagged", depths, recording.explain())
        counted = statuses(recording, target)
        t.claim(counted.get("completed", 0) == total, "all of them completed", counted)
        target.kill()


def test_moved_on(t):
    """threads and processes that end, exec and fork under it: nothing lost, no stack of another image"""
    needs_task_work(t)
    recording = t.panopy_record("-r", "10khz", "--kernel-frames", 1)
    time.sleep(1.2)
    targets = []
    for python in t.pythons:
        targets += [t.start(python, script, 3, wait=False) for script in ("threadchurn.py", "execs.py", "forks.py")]
    for target in targets:
        target.finish()
    recording.interrupt().finish()
    t.require(recording.status == 0, "the recording succeeds", recording.explain())
    t.claim(not recording.summary().lost_samples(), "no fired sample was lost", recording.summary().data["lost"])
    stacks = [s for s in recording.stacks() if s.status == "exact" and WORKS & set(names(s))]
    strange = [s.raw for s in stacks if not names(s)[0].startswith(ROOTS)]
    t.claim(len(stacks) > 50 and not strange, f"each of {len(stacks)} stacks begins where one must", strange[:5])


def test_copied_pages(t):
    """children that fork one after the other: the pages that the kernel copies for them are read once they are there"""
    needs_task_work(t)
    # Of names that are told apart by their contents, most is read.
    python = on_host([python for python in t.pythons if python.minor <= (3, 11)])
    recording = t.panopy_record("-r", "10khz", "--", *python.argv("status.py", "fork", 1.2)).finish()
    data = recording.summary().data
    missing = data["lost"]["unnamed"] + data["reasons"]["state_fault"]
    t.claim(missing <= 0.0005 * data["samples"],
            f"{python}: of {data['samples']} samples at most 1 in 2,000 met a page that was nowhere", missing)
    t.claim(data["statuses"]["completed"] > 0, "those that did were completed", data["statuses"])


def test_many_threads(t):
    """two threads that first run behind 3,000 others in the interpreter's list: none of their samples is missing"""
    needs_task_work(t)
    python = t.pythons[-1]
    target = t.start(python, "manythreads.py", 600, 3000)
    recording = t.record("-r", "1khz", "-d", 6, "-p", target.pid, per="thread")
    stacks = recording.stacks(target.pid)
    good = {worker: sum(s.count for s in stacks if worker in names(s)) for worker in ("first_worker", "second_worker")}
    process = recording.summary().process(target.pid)
    t.claim(all(count >= 30 for count in good.values()) and sum(good.values()) >= 0.9 * process["samples"],
            "both workers have their samples, and they are nearly all", good, process["samples"])
    scanned = process["reasons"]["thread_scan"]
    t.claim(scanned == 0, "no sample was given up because of too many threads", scanned)


def with_data_stack(t):
    """Of each minor version one; before 3.11 frames lie in the heap."""
    return [python for python in one_per_minor(t.pythons) if python.minor >= (3, 11)]


def swap_on(t):
    """Some swap for this test; none: it is skipped."""
    path = os.path.join(t.directory, "swap")
    made = subprocess.run(f"dd if=/dev/zero of={path} bs=1M count=32 && chmod 600 {path} && mkswap {path} && swapon {path}",
                          shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if made.returncode:
        t.skip(f"no swap can be had here: {made.stdout.strip()[-200:]}")
    t.at_end(lambda: subprocess.run(["swapoff", path], check=False))


def test_swapped_out(t):
    """frames whose pages are in swap: brought in when the thread returns to user mode, every stack whole and exact"""
    needs_task_work(t)
    swap_on(t)
    targets = [t.start(python, "faults.py", 600, 900, "swap") for python in with_data_stack(t)]
    recording = t.record("-r", "500", "-d", 4, "--stats", "-p", ",".join(str(target.pid) for target in targets))
    faults = recording.summary().data["kernel"]["resume_faults"]
    t.claim(faults >= 5 * len(targets), f"{faults} pages were brought in")
    for target in targets:
        stacks = recording.stacks(target.pid)
        total = sum(stack.count for stack in stacks)
        depths = {len([name for name in names(stack) if name == "descend"]) for stack in stacks}
        flagged = [stack.raw[:300] for stack in stacks if stack.flagged]
        t.claim(total >= 20 and depths == {900} and not flagged,
                f"{target}: {total} samples, each with all 900 frames, none flagged", depths, flagged[:3])


def test_nobody_answers(t):
    """frames on pages that a userfaultfd would have to bring in: the thread runs on as if nobody looked, its samples are
    flagged, and no other's"""
    needs_task_work(t)
    targets = [t.start(python, "faults.py", 8, 900, "userfault") for python in with_data_stack(t)]
    others = [t.start(python, "deep.py", 600, 25) for python in with_data_stack(t)]
    recording = t.record("-r", "500", "-d", 4)
    for target in targets:
        target.read_until("done", 30)
        stacks = recording.stacks(target.pid)
        total = sum(stack.count for stack in stacks)
        whole = sum(stack.count for stack in stacks if not stack.flagged)
        t.claim(total >= 10 and not whole, f"{target}: it ran to its end, and all of its {total} samples are flagged", whole)
    for other in others:
        stacks = recording.stacks(other.pid)
        t.claim(stacks and not any(stack.flagged for stack in stacks), f"{other}: none is flagged",
                [stack.raw[:300] for stack in stacks if stack.flagged][:3])
    t.claim(not recording.summary().lost_samples(), "no fired sample was lost", recording.summary().data["lost"])
