# SPDX-License-Identifier: Apache-2.0
"""Releases whose JIT is turned on, and 3.13 built with it (scripts/fetch-builds). Machine code runs the traces of hot
functions there, and the frames are the interpreter's all the same; kinds of frames, lines and shares are in the
matrix."""
from lib.source import Source, patterns
from test_extreme import check_losses, test_extreme  # noqa: F401

JITTED = Source("jitted.py")
# A whole stack; one that ends sooner has its leaf anywhere in its function.
SHAPE = patterns(JITTED, "<module>@top", "outer@call_middle", "middle@call_leaf", "leaf")


def is_possible(stack):
    *callers, leaf = stack.frames
    if not 0 < len(callers) < len(SHAPE) or not all(p.matches(f) for p, f in zip(SHAPE, callers)):
        return False
    want = SHAPE[len(callers)]
    return (leaf.name, leaf.file) == (want.name, want.file) and leaf.line in {None, *JITTED.functions[leaf.name]}


def check_runs(t, target):
    """The machine code does run."""
    if target.python.minor >= (3, 14):
        active = int(target.value("active"))
        t.claim(active > 5000, f"{target.python}: the JIT is active, as {active} of 10,000 looks tell")
    else:
        t.claim(target.value("compiled") == "leaf middle", f"{target.python}: the loops enter machine code", target.lines)


def test_trace(t):
    """calls inside of a trace: callers on the lines of their calls, nothing lost, at 10 kHz"""
    targets = t.start_all((python, "jitted.py", 600) for python in t.pythons)
    for target in targets:
        check_runs(t, target)
    recording = t.record("-r", "10khz", "-d", 6)
    for target in targets:
        stacks = recording.stacks(target.pid)
        total = sum(stack.count for stack in stacks)
        wrong = [stack for stack in stacks if stack.status == "exact" and not is_possible(stack)]
        t.claim(total >= 1000 and not wrong, f"{target.python}: none of {total} samples is impossible",
                sum(stack.count for stack in wrong), [stack.raw for stack in wrong][:4])
        leaves = sum(stack.count for stack in stacks if len(stack.frames) == 4)
        t.claim(leaves > 0.5 * total, f"{target.python}: {leaves} of them in the innermost function")
    check_losses(t, recording, 0.0001, recording.stacks(*(target.pid for target in targets)))
