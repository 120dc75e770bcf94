# SPDX-License-Identifier: Apache-2.0
"""Known stacks are found exactly, on every version at once."""
from lib.folded import names
from lib.source import Source, patterns, stack_matches

DEEP = Source("deep.py")


def deep_stack(depth, *generators):
    if generators:
        return patterns(DEEP, "<module>@alternating", *["take@taken", "relay@relayed"] * (depth // 2), "take@floor",
                        "work@work")
    return patterns(DEEP, "<module>@top", *["descend@level"] * (depth - 1), "descend@bottom", "work@work")


def kind_for(python, kind):
    """Debug builds allow fewer calls by way of C, which resuming a generator is (3.13, Py_C_RECURSION_LIMIT: 500)."""
    return (300, *kind[1:]) if len(kind) > 1 and "d" in python.build else kind


def test_depth(t):
    """recursion depth is exact, of functions and of functions and generators in turn"""
    kinds = ((5,), (25,), (50,), (200,), (900,), (900, "generators"))
    jobs = [(python, "deep.py", 600, *kind_for(python, kind)) for kind in kinds for python in t.pythons]
    started = [(job[3:], target) for job, target in zip(jobs, t.start_all(jobs))]
    recording = t.record("-r", "1khz", "-d", 14)
    for kind, target in started:
        depth, want = " ".join(map(str, kind)), deep_stack(*kind)
        stacks = recording.stacks(target.pid)
        right = sum(s.count for s in stacks if stack_matches(s, want))
        wrong = [f"{len(s.frames)} frames: {s.raw[:150]}...{s.raw[-150:]}" for s in stacks
                 if s.status == "exact" and not stack_matches(s, want)]
        total = sum(s.count for s in stacks)
        t.claim(right >= 50 and not wrong, f"{target.python}: {depth} deep, exactly, in all of {total} samples",
                f"{right} right", wrong[:3])


def test_threads(t):
    """20 threads, each with its own known stack and thread id"""
    count = 20
    targets = t.start_all((python, "threads.py", 600, count) for python in t.pythons)
    recording = t.record("-r", "1khz", "-d", 12, per="thread")
    for target in targets:
        owner, mixed = {}, []
        for stack in recording.stacks(target.pid):
            numbers = {name.split("_")[0] for name in names(stack) if name[0] == "t" and name[1:2].isdigit()}
            if stack.status != "exact" or not numbers:
                continue
            if owner.setdefault(stack.thread[1], numbers) != numbers or len(numbers) > 1:
                mixed.append(stack.raw)
        t.claim(not mixed, f"{target.python}: no thread has a function of another one", mixed[:3])
        found = sorted(next(iter(numbers)) for numbers in owner.values())
        t.claim(found == sorted(f"t{i}" for i in range(count)), f"{target.python}: all {count} threads are there",
                found)
