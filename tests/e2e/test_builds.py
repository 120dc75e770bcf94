# SPDX-License-Identifier: Apache-2.0
"""Builds of CPython that are no release of a distribution: free-threaded and debug ones (scripts/fetch-builds). The
tests that are imported here run on them, too: every test_* of this module does."""
import json
import subprocess

from lib.folded import names
from lib.source import Source
from test_extreme import check_losses, test_deep, test_extreme  # noqa: F401
from test_stacks import test_depth  # noqa: F401
from test_switch import check_callbacks, check_greenlets, check_interpreters, fetched

SAME = Source("samecode.py")
THREADS = 8


def free_threaded(t):
    found = [python for python in t.pythons if "t" in python.build]
    if not found:
        t.skip("no free-threaded CPython here (scripts/fetch-builds)")
    return found


def test_ps(t):
    """ps names the build of each, and profiles it"""
    targets = t.start_all((python, "sleeper.py", 600) for python in t.pythons)
    text = subprocess.run([t.panopy, "ps", "--json"], stdout=subprocess.PIPE, check=True, text=True).stdout
    rows = {row["pid"]: row for row in json.loads(text)["processes"]}
    for target in targets:
        row, build = rows.get(target.pid, {}), target.python.build
        t.claim(row.get("profilable") and row["version"] == ".".join(map(str, target.python.version)),
                f"{target.python}: can be profiled, with its version", row)
        told = (row.get("free_threaded"), row.get("debug"), row.get("musl"))
        t.claim(told == tuple(flag in build for flag in "tdm"),
                f"{target.python}: its build is told", row)


def check_threads(t, target, stacks, want):
    """`want(stack)`: the thread's number, None where it says nothing, or text: what is wrong."""
    owner, wrong, seen, total = {}, [], set(), 0
    for stack in stacks:
        total += stack.count
        number = want(stack) if stack.status == "exact" else None
        if number is None:
            continue
        if isinstance(number, str) or owner.setdefault(stack.thread[1], number) != number:
            wrong.append(f"{number}: {stack.raw}")
        seen.add(number)
    t.claim(not wrong, f"{target.python}: none of {total} samples has another thread's stack", wrong[:3])
    t.claim(seen >= set(range(THREADS)), f"{target.python}: all {THREADS} threads are there", sorted(map(str, seen)))


def own_functions(stack):
    numbers = {name.split("_")[0] for name in names(stack) if name[0] == "t" and name[1:2].isdigit()}
    if len(numbers) > 1:
        return "functions of several threads"
    return int(numbers.pop()[1:]) if numbers else None


def own_line(stack):
    """start_<n> runs work at its own line: where it sums up, at @line<n>, and no other @line."""
    started = [name for name in names(stack) if name.startswith("start_")]
    if len(started) > 1:
        return "started twice"
    if not started or stack.frames[-1].name != "work":
        return None
    number, line = int(started[0][6:]), stack.frames[-1].line
    if line not in SAME.functions["work"]:
        return f"line {line}"
    lines = {tag: next(iter(at)) for tag, at in SAME.tags.items()}
    at = next((tag for tag, tagged in lines.items() if tagged == line), None)
    if at is None:
        return None
    return number if at == f"line{number}" else f"{started[0]} at @{at}"


def test_threads(t):
    """8 threads that run Python at once, each with its own stack, at 10 kHz"""
    targets = t.start_all((python, "threads.py", 600, THREADS) for python in free_threaded(t))
    recording = t.record("-r", "10khz", "-d", 10, per="thread")
    everything = []
    for target in targets:
        stacks = recording.stacks(target.pid)
        everything += stacks
        check_threads(t, target, stacks, own_functions)
    check_losses(t, recording, 0.005, everything)


def test_lines(t):
    """8 threads in one function, each at a line of its own: their copies of its bytecode are told apart"""
    targets = t.start_all((python, "samecode.py", 600, THREADS) for python in free_threaded(t))
    recording = t.record("-r", "1khz", "-d", 8, per="thread")
    for target in targets:
        check_threads(t, target, recording.stacks(target.pid), own_line)


def test_churn(t):
    """threads that come and go while others run"""
    targets = t.start_all((python, "threadchurn.py", 600) for python in free_threaded(t))
    recording = t.record("-r", "10khz", "-d", 6)
    check_losses(t, recording, 0.005, recording.stacks(*(target.pid for target in targets)))


def test_switches(t):
    """greenlets, C code that calls Python, and threads that change interpreters: none has another caller than its own"""
    pythons, folders = free_threaded(t), fetched("greenlet", "t")[0]
    greenlets = t.start_all([(python, "greenlets.py", 600, python.stage(folders[python.minor])) for python in pythons
                             if python.minor in folders and python.build == "t"])
    callbacks = t.start_all([(python, "callbacks.py", 600) for python in pythons])
    interpreters = t.start_all([(python, "interpreters.py", 600, 4) for python in pythons])
    recording = t.record("-r", "10khz", "-d", 6)
    if greenlets:
        check_greenlets(t, recording, greenlets)
    check_callbacks(t, recording, callbacks)
    check_interpreters(t, recording, interpreters)
    missing = [python.text for python in pythons if python not in {target.python for target in greenlets}]
    t.note(f"not run, no greenlet for them: {', '.join(missing)}")
