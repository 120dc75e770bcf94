# SPDX-License-Identifier: Apache-2.0
"""Known stacks are found exactly, on every version at once."""
from lib.folded import names
from lib.source import Pattern, Source, as_shown, patterns, stack_matches

KINDS, DEEP = Source("kinds.py"), Source("deep.py")
BURN = "pace:burn"


def named(name, file, line):
    return Pattern(name, file, {line})


def expected_kinds(minor):
    """Station -> whole stack. Comprehensions have frames of their own up to 3.11 (PEP 709)."""
    odd = "odd;file\n.py"
    comprehension = ["comprehension.<locals>.<listcomp>@comprehension"] if minor < (3, 12) else []
    return {
        "comprehension": ["comprehension@comprehension", *comprehension],
        "generator expression": ["generator_expression@genexpr",
                                 "generator_expression.<locals>.<genexpr>@genexpr"],
        "lambda": ["plain_lambda@call_lambda", "plain_lambda.<locals>.<lambda>@lambda"],
        "method": ["methods@call_method", "Shape.Inner.method@method"],
        "class method": ["methods@call_classmethod", "Shape.make@classmethod"],
        "property": ["methods@call_property", "Shape.area@property"],
        "initialiser": ["methods@call_init", "Shape.__init__@init"],
        "closure": ["closure@call_closure", "closure.<locals>.inside@closure"],
        "exec'd code": ["executed@exec", named("<module>", "<string>", 3), named("from_text", "<string>", 2)],
        "class body": [Pattern("class_body", "kinds.py"),
                       "class_body.<locals>.Temporary@class_body"],
        "sort key": ["sorting@sorting", "sort_key_function@sort_key"],
        "reduce": ["reducing@reducing", "reducer@reducer"],
        "re.sub": ["substituting@substituting", "replacement@replacement"],
        "nested generators": ["generating@generating", "outer_generator@outer_generator",
                              "inner_generator@inner_generator"],
        "coroutines": ["stepping@stepping", "awaiting@awaiting", "awaited@awaited"],
        "Latin-1": ["unicode_names@unicode", named("été", "fichier_é.py", 2)],
        "UCS-2": ["unicode_names@unicode", named("Ωμέγα", "αρχείο.py", 2)],
        "UCS-4": ["unicode_names@unicode", named("𠀀𠀁", "𠀀.py", 2)],
        "semicolon": ["hostile_names@hostile", named("semi;colon", odd, 2)],
        "newline": ["hostile_names@hostile", named("new\nline", odd, 2)],
        "backslash": ["hostile_names@hostile", named("back\\slash", odd, 2)],
        "control characters": ["hostile_names@hostile", named("tab\tand\x7fdel", odd, 2)],
        "3,000 characters": ["hostile_names@hostile", named("a" * 3000, odd, 2)],
    }


def check_kinds(t, python, stacks):
    base = ["<module>@visit", "visit@station"]
    expected = {kind: as_shown(python, patterns(KINDS, *base, *specs, BURN))
                for kind, specs in expected_kinds(python.minor).items()}
    seen = {kind: 0 for kind in expected}
    seen.update({"task": 0, "lone surrogate": 0, "zipimport": 0})
    odd = []
    for stack in stacks:
        if stack.status == "exact" and stack.frames[-1].name == "burn":
            kind = next((k for k, want in expected.items() if stack_matches(stack, want)), None) or other_kind(python, stack)
            if kind:
                seen[kind] += stack.count
            else:
                odd.append(stack.raw)
    missing = [f"{kind}: {expected.get(kind)}" for kind, count in seen.items() if not count]
    t.claim(not missing, f"{python}: all {len(seen)} known stacks are there, with file and line", missing, odd[:5])
    t.claim(not odd, f"{python}: and no other stack that ends in burn", odd[:5])
    between = (("<module>",), ("<module>", "running"))
    rootless = [s.raw for s in stacks if s.status == "exact" and names(s)[:2] != ("<module>", "visit")
                and names(s) not in between]
    t.claim(not rootless, f"{python}: every stack starts at <module>;visit", rootless[:5])


def other_kind(python, stack):
    """Stacks with a part that is not ours to fix: asyncio's own frames, an escaped surrogate, a zip path."""
    have = names(stack)
    run = "Handle._run" if python.minor >= (3, 11) else "_run"
    if have[:3] == ("<module>", "visit", "tasks") and have[-3:] == (run, "task_body", "burn"):
        inside = {frame.file for frame in stack.frames[3:-2]}
        right = all(file.startswith("asyncio/") for file in inside)
        return "task" if right and KINDS.pattern("task_body@task_body").matches(stack.frames[-2]) else None
    if len(have) == 5 and have[:3] == ("<module>", "visit", "hostile_names"):
        text = have[3]
        return "lone surrogate" if text.startswith("lone") and text.endswith("surrogate") else None
    if len(have) == 5 and have[:4] == ("<module>", "visit", "zipped_station", "in_zip"):
        frame = stack.frames[3]
        return "zipimport" if frame.file.endswith("module.py") and frame.line == 3 else None
    return None


def test_kinds(t):
    """every kind of frame, named with file and line"""
    targets = t.start_all((python, "kinds.py", 600) for python in t.pythons)
    recording = t.record("-r", "1khz", "-d", 14)
    bad = [line for line in recording.text().split("\n") if any(ord(c) < 32 or 0xd800 <= ord(c) < 0xe000 for c in line)]
    t.claim(not bad, "the file is UTF-8 without control characters", bad[:3])
    for target in targets:
        check_kinds(t, target.python, recording.stacks(target.pid))


def test_depth(t):
    """recursion depth is exact"""
    depths = (5, 25, 50, 200, 900)
    jobs = [(python, "deep.py", 600, depth) for depth in depths for python in t.pythons]
    started = [(job[3], target) for job, target in zip(jobs, t.start_all(jobs))]
    recording = t.record("-r", "1khz", "-d", 14)
    for depth, target in started:
        want = patterns(DEEP, "<module>@top", *["descend@level"] * (depth - 1), "descend@bottom", "work@work")
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
