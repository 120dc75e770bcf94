# SPDX-License-Identifier: Apache-2.0
"""Every interpreter there is, all at once in one recording that sees them end: a table of what holds for each."""
import json
import os
import signal
import subprocess

from lib import hosts, stats
from lib.folded import names
from lib.source import Pattern, Source, as_shown, patterns, stack_matches
from test_shares import FALSE_ALARM, SHARES, leaf_counts

KINDS = Source("kinds.py")
BURN = "pace:burn"
COLUMNS = ("detected", "exact stacks", "right lines", "time shares", "ends clean")
SECONDS = 26  # from its start to a target's own end; the recording begins when all are ready
SAMPLES = 1000  # of each, so that the shares' test has the same power in every run


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
        "except": ["excepting@except"],
        "finally": ["unwinding@unwinding", "unwound@finally"],
        "exit of with": ["leaving@leaving", "Context.__exit__@exit"],
        "throw": ["throwing@throwing", "thrown_into@thrown_into"],
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


def same_functions(stack, expected):
    return len(stack.frames) == len(expected) and all(
        (frame.name, frame.file) == (want.name, want.file) for frame, want in zip(stack.frames, expected))


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


# The loop around visit(), and the end of the program.
AROUND = (("<module>",), ("<module>", "running"), ("<module>", "done"))
# What the interpreter calls when the program has ended, with nothing below it: functions of these modules, which kinds.py
# imports, are registered for the exit or for the end of an object. Destructors are called so, too.
AT_EXIT = ("threading.py", "concurrent/futures/thread.py", "logging/__init__.py", "weakref.py", "_weakrefset.py",
           "multiprocessing/util.py")


def has_known_root(stack):
    return (names(stack)[:2] == ("<module>", "visit") or names(stack) in AROUND
            or stack.frames[0].file in AT_EXIT or stack.frames[0].name.split(".")[-1] == "__del__")


def judge_kinds(python, stacks):
    """What is wrong with the stacks themselves, and with lines alone."""
    base = ["<module>@visit", "visit@station"]
    expected = {kind: as_shown(python, patterns(KINDS, *base, *specs, BURN))
                for kind, specs in expected_kinds(python.minor).items()}
    seen = {kind: 0 for kind in (*expected, "task", "lone surrogate", "zipimport")}
    wrong, lines = [], []
    for stack in stacks:
        if stack.status != "exact":
            continue
        if not has_known_root(stack):
            wrong.append(stack.raw)
        if stack.frames[-1].name != "burn":
            continue
        kind = next((k for k, want in expected.items() if stack_matches(stack, want)), None) or other_kind(python, stack)
        if kind:
            seen[kind] += stack.count
        else:
            known = any(same_functions(stack, want) for want in expected.values())
            (lines if known else wrong).append(stack.raw)
    return wrong + [f"never seen: {kind}" for kind, count in seen.items() if not count], lines


def judge_shares(counts):
    total = sum(counts.values())
    if total < SAMPLES:
        return [f"{total} samples of {SAMPLES}"]
    # Each row alone, so that the table says whose they are; together as often a false alarm as one test.
    value = stats.joint_p_value([(stats.thin(counts, SAMPLES), SHARES)])
    return [] if value >= FALSE_ALARM / 20 else [f"{counts}: p = {value:.6f}"]


def judge_ps(row, python):
    told = (row.get("version"), row.get("free_threaded"), row.get("debug"), row.get("musl"))
    want = (".".join(map(str, python.version)), *(flag in python.build for flag in "tdm"))
    return [] if row.get("profilable") and told == want else [f"{told} in place of {want}: {row.get('reason')}"]


def judge_end(target):
    target.finish(timeout=120)
    status = target.process.returncode
    clean = status == 0 and any(line.startswith("cpu ") for line in target.lines)
    return [] if clean else [f"ended with {status}, having said {target.lines[-1:]}"]


def start_together(t):
    """(python, kinds.py, shares.py) each, without what a site has the interpreter run at its end (-S). A ready one waits
    for the others, stopped, so that they share the CPUs only while they warm up."""
    started = [(python, *(t.start(python, script, SECONDS, wait=False, options=("-B", "-S"))
                          for script in ("kinds.py", "shares.py"))) for python in t.pythons]
    everyone = [target for _, *targets in started for target in targets]
    for target in everyone:
        target.read_until("ready", timeout=SECONDS)
        os.kill(target.pid, signal.SIGSTOP)
    for target in everyone:
        os.kill(target.pid, signal.SIGCONT)
    return started


def print_table(t, rows, missing):
    for line in [("version", *COLUMNS), *rows]:
        t.table(line)
    for line in missing:
        version, _, why = line.partition(": ")[2].partition(" ")
        t.table((version, *("not run" for _ in COLUMNS), why))


def test_matrix(t):
    """version by build: what holds for each"""
    started = start_together(t)
    listed = subprocess.run([t.panopy, "ps", "--json"], stdout=subprocess.PIPE, check=True, text=True).stdout
    listed = {row["pid"]: row for row in json.loads(listed)["processes"]}
    recording = t.record("-r", "8khz", "-d", SECONDS)
    text = recording.text()
    t.claim(not any(ord(c) < 32 and c != "\n" or 0xd800 <= ord(c) < 0xe000 for c in text),
            "the file is UTF-8 without control characters")
    rows = []
    for python, kinds, shares in started:
        wrong, lines = judge_kinds(python, recording.stacks(kinds.pid))
        cells = (judge_ps(listed.get(kinds.pid, {}), python) + judge_ps(listed.get(shares.pid, {}), python), wrong,
                 lines, judge_shares(leaf_counts(recording.stacks(shares.pid))), judge_end(kinds) + judge_end(shares))
        rows.append((python.text, *("FAILED" if cell else "yes" for cell in cells)))
        for column, cell in zip(COLUMNS, cells):
            t.claim(not cell, f"{python}: {column}", cell[:5])
    print_table(t, rows, hosts.not_run())
