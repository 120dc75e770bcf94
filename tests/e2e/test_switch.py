# SPDX-License-Identifier: Apache-2.0
"""Threads whose Python stack is not one chain: greenlets, callbacks from C, several interpreters. 10 kHz."""
import os
import subprocess

from lib import legal, stats
from lib.folded import names
from test_extreme import check_losses
from test_shares import FALSE_ALARM

HERE = os.path.dirname(os.path.abspath(__file__))


def check(t, recording, started, judge, limit_of=lambda python: 0.005):
    everything = []
    for target in started:
        flagged_limit = limit_of(target.python)
        stacks = recording.stacks(target.pid)
        everything += stacks
        total = sum(stack.count for stack in stacks)
        wrong, shown = legal.judge(stacks, judge)
        t.claim(wrong == 0, f"{target}: none of {total} samples is impossible", f"{wrong} are", shown)
        flagged = sum(stack.count for stack in stacks if stack.flagged)
        t.claim(total >= 1000 and flagged <= flagged_limit * total,
                f"{target}: {flagged} of {total} flagged, at most {flagged_limit:.1%}",
                [s.raw[:400] for s in stacks if s.flagged][:4])
    check_losses(t, recording, max(limit_of(target.python) for target in started), everything)


def test_greenlets(t):
    """three greenlets of different depth that switch all the time: none has another's frames, nor a stale caller"""
    folders = wheels(t, "greenlet")
    pythons = [python for python in t.pythons if python.minor in folders]
    jobs = [(python, "greenlets.py", 600, python.stage(folders[python.minor])) for python in pythons]
    started = t.start_all(jobs)
    check_greenlets(t, t.record("-r", "10khz", "-d", 8), started)
    missing = sorted({python.text for python in t.pythons} - {python.text for python in pythons})
    if missing:
        t.note(f"not run, no greenlet for them: {', '.join(missing)}")


def check_greenlets(t, recording, started):
    # In 3.11 and 3.12 the thread state points into the C stack, which a switch has overwritten before it changes that.
    check(t, recording, started, legal.greenlets,
          lambda python: 0.05 if python.minor in ((3, 11), (3, 12)) else 0.005)
    for target in started:
        seen = {names(stack)[1] for stack in recording.stacks(target.pid) if names(stack)[:1] == ("live",)
                and len(names(stack)) > 1}
        t.claim(seen >= {"g0_0", "g1_0", "g2_0"}, f"{target}: all three were seen", seen)


def fetched(package, build=""):
    """(major, minor) -> folder with the package for that build of it, "" or "t"; and what fetching it said."""
    made = subprocess.run([os.path.join(HERE, "fetch-wheels"), package], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True)
    folders = {}
    for line in made.stdout.split("\n"):
        if line:
            version, folder = line.split("\t")
            minor = version.rstrip("t")
            if version == minor + build:
                folders[tuple(int(part) for part in minor.split("."))] = folder
    return folders, made.stderr.strip()[-200:]


def wheels(t, package):
    folders, said = fetched(package)
    if not folders:
        t.skip(f"{package} could not be fetched: {said}")
    return folders


def check_loop(t, package, script, judge, leaves):
    """A script on a loop of another's making, under one Python for each way in which stacks are read."""
    folders = wheels(t, package)
    pythons = [python for python in t.pythons if python.minor in folders]
    started = t.start_all([(python, script, 600, python.stage(folders[python.minor])) for python in pythons])
    recording = t.record("-r", "10khz", "-d", 4)
    check(t, recording, started, judge, lambda python: 0.05 if python.minor in ((3, 11), (3, 12)) else 0.005)
    for target in started:
        seen = {names(stack)[-len(leaf):] for stack in recording.stacks(target.pid) for leaf in leaves}
        t.claim(seen >= set(leaves), f"{target}: every task was seen at work", sorted(set(leaves) - seen))
    missing = sorted(set(folders) - {python.minor for python in pythons})
    if missing:
        t.note(f"not run, no such Python here: {missing}")


def test_uvloop(t):
    """uvloop: an echo server, its clients and chains of coroutines, every caller and its line"""
    check_loop(t, "uvloop", "uvloops.py", legal.uvloops,
               (("run", "outer", "middle", "leaf", "burn"), ("run", "handle", "answer", "burn"),
                ("run", "client", "check", "burn"), ("run", "later", "burn")))


def test_gevent(t):
    """gevent: greenlets that switch into its hub and hand things over by a queue"""
    check_loop(t, "gevent", "hubs.py", legal.hubs,
               (("live", "g0_0", "g0_1", "g0_2", "turn", "work"), ("g1_6", "turn", "work"), ("g2_11", "turn", "work"),
                ("produce", "work"), ("consume", "work")))


def test_callbacks(t):
    """sort keys, reduce, re.sub and ctypes call Python from C: none has another caller than its own"""
    started = t.start_all([(python, "callbacks.py", 600) for python in t.pythons])
    check_callbacks(t, t.record("-r", "10khz", "-d", 8), started)


def check_callbacks(t, recording, started):
    check(t, recording, started, legal.callbacks)
    for target in started:
        seen = {names(stack)[2:] for stack in recording.stacks(target.pid)}
        wanted = legal.CALLBACKS[:2] if "without ctypes" in target.lines else legal.CALLBACKS[:3]
        t.claim(all(path in seen for path in wanted), f"{target}: every one of {len(wanted)} callbacks was seen", seen)


def test_interpreters(t):
    """threads that work in the main interpreter and in one of their own by turns"""
    # The module that makes interpreters came with 3.8.
    started = t.start_all([(python, "interpreters.py", 600, 4) for python in t.pythons if python.minor >= (3, 8)])
    check_interpreters(t, t.record("-r", "10khz", "-d", 8), started)


def check_interpreters(t, recording, started):
    # Before 3.12 nothing says which of a thread's states is current while it does not hold the GIL.
    check(t, recording, started, legal.interpreters, lambda python: 0.005 if python.minor >= (3, 12) else 0.03)
    for target in started:
        have = {names(stack)[-1] for stack in recording.stacks(target.pid) if stack.frames}
        for number in range(4):
            t.claim({f"inner_{number}", f"main_leaf_{number}"} <= have,
                    f"{target}: thread {number} was seen in both interpreters", sorted(have)[:40])


# Work in the main interpreter and in those that share its GIL: what is around it, by subinterpreters.py's names.
BOOTSTRAP = ("Thread._bootstrap", "Thread._bootstrap_inner", "Thread.run")
PARTS = {"a0": (*BOOTSTRAP, "stand_alone"), "a1": ("<module>",), "a2": ("<module>",),
         "t0": (*BOOTSTRAP, "take_turns"), "t1": ("<module>",), "t2": ("<module>",)}
TURNS = {"t0": 0.2, "t1": 0.3, "t2": 0.5}
TEXT_LINES = {"<module>": 1, "outer": 9}  # of a caller in the text that an interpreter runs


def part_of(stack):
    """The part that its leaf works for; None: it does not."""
    kind, _, part = names(stack)[-1].partition("_") if stack.frames else ("", "", "")
    return part if kind == "leaf" and part in PARTS else None


def shared_gil(stack):
    part = part_of(stack)
    if not part:
        return "functions of a part without its leaf" if {name[:5] for name in names(stack)[:-1]} & {"leaf_"} else None
    if names(stack) != (*PARTS[part], f"outer_{part}", f"leaf_{part}"):
        return f"not {part}'s stack"
    callers = [frame for frame in stack.frames[:-1] if frame.file == "<string>"]
    wrong = [frame for frame in callers if frame.line not in (None, TEXT_LINES[frame.name.split("_")[0]])]
    return f"{wrong[0].name} on line {wrong[0].line}" if wrong else None


def test_shared_gil(t):
    """interpreters that share the main one's GIL, each in its own thread, and three by turns in one: 20, 30 and 50 %"""
    started = t.start_all([(python, "subinterpreters.py", 600) for python in t.pythons if python.minor >= (3, 12)])
    recording = t.record("-r", "10khz", "-d", 8, per="thread")
    check(t, recording, started, shared_gil)
    groups = []
    for target in started:
        owners, counts = {}, dict.fromkeys(PARTS, 0)
        for stack in recording.stacks(target.pid):
            part = part_of(stack) if stack.status == "exact" else None
            if part:
                counts[part] += stack.count
                owners.setdefault(stack.thread[1], set()).add(part)
        t.claim(sorted(map(sorted, owners.values())) == [["a0"], ["a1"], ["a2"], ["t0", "t1", "t2"]],
                f"{target}: each thread has its own parts", owners)
        turns = {part: counts[part] for part in TURNS}
        if t.claim(sum(turns.values()) >= 1000, f"{target}: 1,000 samples of the thread that takes turns", counts):
            groups.append((stats.thin(turns, 1000), TURNS))
    value = stats.joint_p_value(groups) if groups else 0
    t.claim(value >= FALSE_ALARM, f"turns are 20/30/50: joint p = {value:.4f}, alarm below {FALSE_ALARM}", groups)


def successors(stack):
    numbers = {name.split("_")[1] for name in names(stack) if name.split("_")[0] in ("mid", "leaf")}
    return "functions of two interpreters" if len(numbers) > 1 else None


def test_successors(t):
    """interpreters that take each other's place in memory: each has its own functions"""
    started = t.start_all([(python, "successors.py", 600) for python in t.pythons if python.minor >= (3, 8)])
    recording = t.record("-r", "4khz", "-d", 4)
    for target in started:
        stacks = [stack for stack in recording.stacks(target.pid) if stack.status == "exact"]
        wrong = [stack for stack in stacks if successors(stack)]
        t.claim(not wrong, f"{target}: no stack has functions of two", [stack.raw for stack in wrong][:4])
        leaves = {}
        for stack in stacks:
            if names(stack)[-1].startswith("leaf_"):
                leaves[names(stack)[-1]] = leaves.get(names(stack)[-1], 0) + stack.count
        # All work alike: none has most of it.
        t.claim(len(leaves) >= 3 and max(leaves.values()) <= sum(leaves.values()) / 2,
                f"{target}: {len(leaves)} interpreters were seen by their own names", leaves)


def test_lives(t):
    """a program that ends its interpreter and makes it anew: each life has its own functions"""
    folder = os.path.dirname(t.compile("lives"))
    started = []
    for python, library in t.libpythons([python for python in t.pythons if python.minor >= (3, 8)]):
        enter = ["chroot", python.root] if python.root else []
        program = os.path.join(python.stage(folder), "lives")
        process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *enter, program, library],
                                   stdout=subprocess.PIPE,
                                   env={**os.environ, "PYTHONHOME": python.ask("sys.base_prefix")})
        t.at_end(process.stdout.close)
        t.at_end(process.kill)
        t.require(process.stdout.readline() == b"ready\n", f"{python}: its library runs")
        started.append((python, process.pid))
    recording = t.record("-r", "4khz", "-d", 4)
    for python, pid in started:
        stacks = [stack for stack in recording.stacks(pid) if stack.status == "exact"]
        wrong = [stack for stack in stacks if successors(stack)]
        t.claim(not wrong, f"{python}: no stack has functions of two lives", [stack.raw for stack in wrong][:4])
        lives = {names(stack)[-1] for stack in stacks if names(stack)[-1].startswith("leaf_")}
        t.claim(len(lives) >= 3, f"{python}: {len(lives)} lives were seen by their own names", lives)


def test_borrowed(t):
    """interpreters that one thread makes and another runs: the second has its stacks, the first none of them"""
    started = t.start_all([(python, "borrowed.py", 600) for python in t.pythons if python.minor >= (3, 11)])
    recording = t.record("-r", "4khz", "-d", 4, per="thread")
    for target in started:
        makers = {int(tid) for tid in target.value("makers").split()}
        stacks = [stack for stack in recording.stacks(target.pid) if stack.status == "exact"]
        wrong = [stack for stack in stacks if stack.thread[1] in makers and names(stack)[:1] == ("<module>",)]
        t.claim(not wrong, f"{target}: neither maker has a borrower's stack", sum(stack.count for stack in wrong),
                [stack.raw for stack in wrong][:4])
        count = sum(stack.count for stack in recording.stacks(target.pid) if stack.thread[1] in makers)
        t.claim(count >= 500, f"{target}: {count} samples of the makers")
        for number in range(2):
            own = sum(stack.count for stack in stacks
                      if names(stack) == ("<module>", f"outer_{number}", f"leaf_{number}"))
            t.claim(own >= 50, f"{target}: {own} exact samples of borrower {number}")
