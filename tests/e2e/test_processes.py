# SPDX-License-Identifier: Apache-2.0
"""Processes that start, fork, exec, end and change while a recording runs."""
import collections
import json
import os
import signal
import subprocess
import time

from lib import legal
from lib.folded import names
from lib.hosts import on_host, one_per_minor
from lib.source import Source, patterns, stack_matches

BRIEF, FORKS, EXECS, CHURN, DAEMONS = (Source(n + ".py") for n in ("brief", "forks", "execs", "threadchurn", "daemons"))


def test_thirty_short_processes(t):
    """30 processes of about 100 ms, started and ended during one recording"""
    recording = t.panopy_record("-r", "1khz")
    time.sleep(1.5)
    targets = []
    for number in range(30):
        python = t.pythons[number % len(t.pythons)]
        targets.append(t.start(python, "brief.py", wait=False))
        if number % 2:
            for target in targets[-2:]:
                target.finish()
    recording.interrupt().finish()
    t.require(recording.status == 0, "the recording succeeds", recording.explain())
    want = patterns(BRIEF, "<module>@top", "short_life@burn", "pace:burn")
    low, unnamed = [], []
    for target in targets:
        stacks = recording.stacks(target.pid)
        right = sum(s.count for s in stacks if stack_matches(s, want))
        if not 70 <= right <= 130:
            low.append(f"{target}: {right} samples of {sum(s.count for s in stacks)}")
        unnamed += [s.raw for s in stacks if s.flagged]
    t.claim(not low, "each of the 30 has its 100 ms (70 to 130 samples) in the known stack", low)
    t.claim(len(unnamed) <= 3, "hardly any stack of theirs is flagged (at most 3)", unnamed[:5])


def roles(t, recording, pid, wanted):
    """function name -> pids that have it, among processes with the command of `pid`."""
    found = {}
    for stack in recording.stacks():
        for name in set(names(stack)) & set(wanted):
            found.setdefault(name, set()).add(stack.pid)
    return found


def test_fork(t):
    """fork without exec: parent, child and grandchild each have their own functions"""
    every = one_per_minor(t.pythons)
    for python in dict.fromkeys((every[0], every[len(every) // 2], every[-1])):  # test_fork_during has them all
        target = t.start(python, "forks.py", 5)
        recording = t.record("-r", "1khz", "-d", 2.5, "-p", target.pid)
        found = roles(t, recording, target.pid, ("parent_work", "child_work", "grandchild_work"))
        t.claim(len(found) == 3 and all(len(p) == 1 for p in found.values()) and len(set.union(*found.values())) == 3,
                f"{python}: -p of the parent has three processes of one function each", found)
        for role, pid in (("parent", target.pid), ("child", None), ("grandchild", None)):
            want = patterns(FORKS, "<module>@top", f"fork_all@run_{role}", f"{role}_work@{role}", "pace:burn")
            stacks = [s for s in recording.stacks() if f"{role}_work" in names(s) and (pid or s.pid) == s.pid]
            wrong = [s.raw for s in stacks if s.frames[-1].name == "burn" and not stack_matches(s, want)]
            t.claim(stacks and not wrong, f"{python}: every stack of the {role} is the known one", wrong[:3])
        target.kill()


def test_fork_during(t):
    """processes that fork while the recording runs"""
    # Children of an earlier test's targets may run on for a while.
    older = {int(name) for name in os.listdir("/proc") if name.isdigit()}
    recording = t.panopy_record("-r", "1khz")
    time.sleep(1.5)
    targets = [t.start(python, "forks.py", 5) for python in one_per_minor(t.pythons)]
    for target in targets:
        target.finish()
    time.sleep(0.5)
    recording.interrupt().finish()
    t.require(recording.status == 0, "the recording succeeds", recording.explain())
    found = roles(t, recording, 0, ("parent_work", "child_work", "grandchild_work"))
    found = {name: pids - older for name, pids in found.items()}
    t.claim({name: len(pids) for name, pids in found.items()}
            == dict.fromkeys(("parent_work", "child_work", "grandchild_work"), len(targets)),
            f"each of {len(targets)} has a parent, a child and a grandchild", found)


def test_events_dropped(t):
    """a fork whose event found no room: the child is found by a new look at /proc"""
    target = t.start(t.pythons[-1], "burst.py", 600, 1800)
    recording = t.panopy_record("-r", "1khz")
    time.sleep(1.5)
    recording.interrupt(signal.SIGSTOP)
    os.kill(target.pid, signal.SIGUSR1)
    target.read_until("forked")
    recording.interrupt(signal.SIGCONT)
    time.sleep(2.5)
    recording.interrupt().finish()
    t.require(recording.status == 0, "the recording succeeds", recording.explain())
    t.claim(recording.summary().data["lost"]["events_dropped"] > 0, "events were dropped")
    count = sum(s.count for s in recording.stacks() if "child_work" in names(s) and s.pid != target.pid)
    t.claim(count > 200, "the child is sampled from a second later on", count, recording.explain())


def test_exec_in_place(t):
    """exec in place: three images of one pid, none with another's functions"""
    recording = t.panopy_record("-r", "1khz")
    time.sleep(1.5)
    targets = [t.start(python, "execs.py", 4) for python in one_per_minor(t.pythons)]
    for target in targets:
        target.finish()
    recording.interrupt().finish()
    t.require(recording.status == 0, "the recording succeeds", recording.explain())
    for target in targets:
        stacks = recording.stacks(target.pid)
        for image in ("zero", "one", "two"):
            want = patterns(EXECS, "<module>@top", f"image_{image}@{image}", "pace:burn")
            right = sum(s.count for s in stacks if stack_matches(s, want))
            t.claim(250 <= right <= 650, f"{target.python}: image {image} has its 500 ms (250 to 650 samples)", right)
        mixed = [s.raw for s in stacks if len({n for n in names(s) if n.startswith("image_")}) > 1]
        t.claim(not mixed, f"{target.python}: no stack mixes images", mixed[:3])


def test_thread_churn(t):
    """hundreds of short threads"""
    targets = [t.start(python, "threadchurn.py", 8) for python in one_per_minor(t.pythons)]
    recording = t.record("-r", "1khz", "-d", 6)
    for target in targets:
        target.finish()
        stacks = recording.stacks(target.pid)
        brief = [s for s in stacks if "brief" in names(s) and s.status == "exact"]
        wrong = [s.raw for s in brief if names(s)[:4] != (*legal.bootstrap(target.python), "brief")]
        count = sum(s.count for s in brief)
        t.claim(int(target.value("threads")) >= 200 and count >= 200 and not wrong,
                f"{target.python}: {target.value('threads')} threads, every stack of {count} starts at the bootstrap",
                wrong[:3])
        flagged = sum(s.count for s in stacks if s.flagged)
        t.claim(flagged <= max(3, 0.005 * count), f"{target.python}: {flagged} flagged, at most 0.5 %",
                [s.raw[:300] for s in stacks if s.flagged][:4])


def test_thread_burst(t):
    """a thread that is sampled among hundreds before its state has its id is found at its next sample"""
    python = on_host(t.pythons)
    milliseconds = 2
    recording = t.record("-r", "10khz", "--", *python.argv("threadburst.py", 4, 400, milliseconds), per="thread")
    found, lost = collections.Counter(), collections.Counter()
    for stack in recording.stacks():
        (lost if stack.reason == "no thread state" else found)[stack.thread] += stack.count
    t.claim(len(found) > 1000, f"{python}: {len(found)} threads were seen")
    # What a thread runs before it has a state and after is some 100 us. One that the machine's host stops there is
    # sampled there for longer, but not while it works.
    never = {thread: (count, found[thread]) for thread, count in lost.items()
             if count >= 5 * milliseconds and found[thread] < 5 * milliseconds}
    t.claim(not never, f"{python}: no thread works on without a state",
            sorted(never.items(), key=lambda row: -row[1][0])[:12])


def test_daemons_at_shutdown(t):
    """daemon threads that still run while the interpreter shuts down"""
    recording = t.panopy_record("-r", "1khz")
    time.sleep(1.5)
    for _ in range(3):
        targets = [t.start(python, "daemons.py", 0.8) for python in one_per_minor(t.pythons)]
        for target in targets:
            target.finish()
    recording.interrupt().finish()
    t.require(recording.status == 0, "the recording succeeds", recording.explain())
    for target in targets:
        stacks = [s for s in recording.stacks(target.pid) if "daemon_work" in names(s) and s.status == "exact"]
        wrong = [s.raw for s in stacks if names(s)[:4] != (*legal.bootstrap(target.python), "daemon_work")]
        t.claim(stacks and not wrong, f"{target.python}: daemon threads' stacks are whole", wrong[:3])


def test_children(t):
    """-p follows children; --no-subprocesses does not; neither takes others"""
    other = t.start(t.pythons[0], "shares.py", 600)
    targets = [t.start(python, "children.py", 60) for python in one_per_minor(t.pythons)]
    parents = ",".join(str(target.pid) for target in targets)
    children = {target.pid: int(target.value("child")) for target in targets}
    both = t.record("-r", "1khz", "-d", 4, "-p", parents)
    only = t.record("-r", "1khz", "-d", 2, "-p", parents, "--no-subprocesses", folder="only")
    pids, alone = {s.pid for s in both.stacks()}, {s.pid for s in only.stacks()}
    t.claim(other.pid not in pids | alone, "neither has another process", pids, alone)
    t.claim(pids == {*children, *children.values()}, "-p has the processes and their children", pids, children)
    t.claim(alone == set(children), "--no-subprocesses has the processes only", alone, children)
    for target in targets:
        child = children[target.pid]
        named = {s.pid for s in both.stacks() if s.pid in (target.pid, child) and "in_child" in names(s)}
        t.claim(named == {child}, f"{target.python}: in_child is the child's", named)


def test_child_started_later(t):
    """a child that a selected process starts during the recording is followed"""
    target = t.start(t.pythons[-1], "execs.py", 6)
    parent = subprocess.Popen(["sh", "-c", "sleep 2; " + " ".join(t.pythons[0].argv("brief.py")) + "; sleep 1"])
    recording = t.panopy_record("-r", "1khz", "-d", 4, "-p", f"{target.pid},{parent.pid}").finish()
    parent.wait()
    t.require(recording.status == 0, "the recording succeeds", recording.explain())
    brief = [s for s in recording.stacks() if "short_life" in names(s)]
    t.claim(brief, "the shell's Python child is there", [s.raw for s in recording.stacks()][:5])


def test_tree_that_grows(t):
    """-p of a supervisor whose shells start Pythons while panopy starts: none of them is missed"""
    python = next((python for python in t.pythons if not python.root), None)
    if not python:
        t.skip("needs a Python on the host itself")
    # Each of these takes a while to be looked at, and comes before the shells.
    slow = [json.dumps(other.argv("sleeper.py", 60)) for other in one_per_minor(t.pythons)]
    tree = t.start(python, "supervisor.py", 40, 1, *slow)
    time.sleep(2)
    recording = t.record("-d", 2, "-p", tree.pid)
    ended = time.monotonic()
    os.killpg(tree.pid, signal.SIGKILL)
    started = [(int(pid), float(when)) for pid, when in
               (line.split() for line in tree.finish().lines if line != "ready")]
    # Each lives for a second: these were there when panopy looked, or started after that.
    wanted = {pid for pid, when in started if ended - 2 + 0.3 - 1 <= when <= ended - 0.5}
    seen = {process["pid"] for process in recording.summary().data["processes"]}
    t.claim(len(wanted) >= 10, "Pythons were started meanwhile", len(wanted), started)
    t.claim(wanted <= seen, f"all {len(wanted)} of them are seen", wanted - seen)


def test_sleeper(t):
    """a sleeping process is no error"""
    target = t.start(t.pythons[-1], "sleeper.py", 600)
    recording = t.record("-d", 1, "-p", target.pid)
    t.claim(recording.summary().process(target.pid) is not None, "the summary names it")


def test_late_libpython(t):
    """a process that maps libpython long after its start"""
    program = t.compile("late_python")
    libraries = t.libpythons([python for python in t.pythons if not python.root])
    text = "import time\ndef late_work():\n  while time.clock_gettime(time.CLOCK_THREAD_CPUTIME_ID) < 0.8: pass\nlate_work()\n"
    recording = t.panopy_record("-r", "1khz", "-d", 8)
    time.sleep(1)
    started = [(python, subprocess.Popen([program, library, "1.5", text], stdout=subprocess.DEVNULL,
                                         env={**os.environ, "PYTHONHOME": python.ask("sys.base_prefix")}))
               for python, library in libraries]
    for _, process in started:
        t.at_end(process.kill)
    recording.finish()
    t.require(recording.status == 0, "the recording succeeds", recording.explain())
    for python, process in started:
        stacks = [s for s in recording.stacks(process.pid) if names(s) == ("<module>", "late_work")]
        count = sum(s.count for s in stacks)
        t.claim(count >= 500, f"{python}: found after it mapped its library ({count} samples)",
                [s.raw for s in recording.stacks(process.pid)][:3])


def test_pid_reuse(t):
    """two processes that had one pid in turn are not mixed"""
    path = "/proc/sys/kernel/ns_last_pid"
    if not os.access(path, os.W_OK):
        t.skip(f"{path} cannot be written")
    recording = t.panopy_record("-r", "1khz")
    time.sleep(1.5)
    first = t.start(t.pythons[0], "execs.py", 2)
    first.kill()
    pid = first.pid
    second = None
    for _ in range(200):
        with open(path, "w") as last:
            last.write(str(pid - 1))
        second = t.start(t.pythons[-1], "brief.py", wait=False)
        if second.pid == pid:
            break
        second.finish()
    second.finish()
    recording.interrupt().finish()
    t.require(recording.status == 0, "the recording succeeds", recording.explain())
    if second.pid != pid:
        t.skip("the kernel did not hand the pid out again")
    stacks = recording.stacks(pid)
    known = [s for s in stacks if "short_life" in names(s)]
    want = patterns(BRIEF, "<module>@top", "short_life@burn", "pace:burn")
    t.claim(sum(s.count for s in known if stack_matches(s, want)) >= 60, "the second process is named as itself",
            [s.raw for s in stacks][:5])
    entries = [p for p in recording.summary().data["processes"] if p["pid"] == pid]
    t.claim(len(entries) == 2, "the summary has two processes of that pid", entries)


def test_renamed(t):
    """a process that renames itself while it is profiled has its new name"""
    target = t.start(t.pythons[-1], "renamed.py", 600, "a server: main")
    recording = t.record("-r", "1khz", "-d", 3, "-p", target.pid)
    found = {stack.comm for stack in recording.stacks(target.pid)}
    t.claim(found == {"a server: main"}, "its root frame and no other says so", found)
    row = recording.summary().process(target.pid)
    t.claim(row["comm"] == "a server: main", "and the summary", row)
