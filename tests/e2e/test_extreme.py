# SPDX-License-Identifier: Apache-2.0
"""Programs that change their stack as fast as Python can, at 10 kHz: nothing lost, nothing impossible."""
import os

from lib import legal
from lib.hosts import one_per_minor
from lib.source import Source, patterns, stack_matches

EXTREME = {
    "ladder.py": (("40", "8"), legal.ladder),
    "generators.py": ((), legal.generators),
    "codechurn.py": ((), legal.codechurn),
    "threads.py": (("8",), None),  # legal.threads_of(python)
}


def check_losses(t, recording, flagged_limit, stacks):
    summary = recording.summary()
    t.claim(not summary.lost_samples(), "no fired sample was lost", summary.data["lost"])
    total = sum(stack.count for stack in stacks)
    flagged = [stack for stack in stacks if stack.flagged]
    count = sum(stack.count for stack in flagged)
    worst = [f"{s.count} x {s.raw[:400]}" for s in sorted(flagged, key=lambda s: -s.count)[:5]]
    t.claim(total and count <= flagged_limit * total,
            f"{count} of {total} samples are late, truncated or unnamed: at most {flagged_limit:.2%}", worst)


def record_extremes(t, least, *options):
    """All of EXTREME under every Python at 10 kHz: judged one by one, each with at least `least` samples. Returns the
    recording and (script, target) of each."""
    jobs = [(python, script, 600, *arguments) for script, (arguments, _) in EXTREME.items() for python in t.pythons]
    started = [(job[1], target) for job, target in zip(jobs, t.start_all(jobs))]
    recording = t.record("-r", "10khz", "-d", 16, *options)
    everything = []
    for script, target in started:
        stacks = recording.stacks(target.pid)
        everything += stacks
        total = sum(stack.count for stack in stacks)
        wrong, shown = legal.judge(stacks, EXTREME[script][1] or legal.threads_of(target.python))
        t.claim(wrong == 0, f"{script} under {target.python}: none of {total} samples is impossible",
                f"{wrong} are", shown)
        flagged = sum(stack.count for stack in stacks if stack.flagged)
        t.claim(total >= least and flagged <= 0.005 * total,
                f"{script} under {target.python}: {flagged} of {total} flagged, at most 0.5 %",
                [s.raw[:400] for s in stacks if s.flagged][:4])
    check_losses(t, recording, 0.005, everything)
    return recording, started


def test_extreme(t):
    """recursion with a name per level, generators, code objects at one address, disjoint threads"""
    record_extremes(t, 1000)


def test_ordinary(t):
    """ordinary programs at 10 kHz: flagged samples are at most 1 in 10,000"""
    deep = Source("deep.py")
    started = t.start_all((python, "deep.py", 600, 25) for python in t.pythons)
    shares = t.start_all((python, "shares.py", 600) for python in t.pythons)
    recording = t.record("-r", "10khz", "-d", 10)
    want = patterns(deep, "<module>@top", *["descend@level"] * 24, "descend@bottom", "work@work")
    wrong = [s.raw for s in recording.stacks(*(x.pid for x in started))
             if s.status == "exact" and not stack_matches(s, want)]
    t.claim(not wrong, "25 deep: every stack is the known one", wrong[:5])
    check_losses(t, recording, 0.0001, recording.stacks(*(x.pid for x in started + shares)))


def test_many_names(t):
    """200 levels in 8 families, each process with 1,600 code objects that are all new at once"""
    targets = t.start_all((python, "ladder.py", 600, 200, 8) for python in t.pythons)
    recording = t.record("-r", "10khz", "-d", 6)
    t.claim(recording.seconds <= 12, "panopy is done soon after the recording", f"{recording.seconds:.1f} s")
    stacks = recording.stacks(*(target.pid for target in targets))
    wrong, shown = legal.judge(stacks, legal.ladder)
    t.claim(wrong == 0, "no stack is impossible", shown)
    check_losses(t, recording, 0.005, stacks)


def test_twenty_khz(t):
    """every CPU busy, 20 kHz each: nothing lost on default buffers"""
    targets = t.start_all((t.pythons[-1], "deep.py", 600, 25) for _ in range(os.cpu_count()))
    recording = t.record("-r", "20000", "-d", 4, "-p", ",".join(str(target.pid) for target in targets))
    summary = recording.summary()
    costs = summary.data["stats"]["per_sample"]
    own = costs["user_ns"] + costs["system_ns"]
    t.note(f"{summary.samples} samples, {own:.0f} ns of own CPU each")
    t.claim(not summary.lost_samples(), "no fired sample was lost", summary.data["lost"])
    t.claim(summary.samples >= 0.4 * 20000 * 4 * os.cpu_count(), "the CPUs were the targets' own for most of the time",
            summary.samples, summary.data["lost"]["not_delivered"])


def check_depth(t, target, depth, stacks):
    """Every stack has all of its frames, or says that it has not, which few do. Any exact one would do, too."""
    whole = cut = 0
    odd = []
    for stack in stacks:
        want = ("<module>", *["descend"] * depth, "work")
        found = tuple(frame.name for frame in stack.frames)
        if found == want and stack.status in ("exact", "late"):
            whole += stack.count
        elif stack.status == "truncated":
            cut += stack.count
        else:
            odd.append(f"{stack.count} x {stack.status}, {len(found)} frames: {stack.raw[:200]}")
    t.claim(not odd, f"{target.python}, {depth:,} deep: no stack has another depth", odd[:3])
    t.claim(whole >= 10 and cut <= 0.02 * (whole + cut),
            f"{target.python}, {depth:,} deep: {whole} stacks came whole, {cut} were cut")


def test_deep(t):
    """recursion of 10,000 frames, and of 100,000: more than the kernel side looks at in one sample"""
    targets = t.start_all((python, "deep.py", 600, 10000) for python in t.pythons)
    recording = t.record("-r", 100, "-d", 6, "-p", ",".join(str(target.pid) for target in targets))
    for target in targets:
        check_depth(t, target, 10000, recording.stacks(target.pid))
        target.kill()
    # User space reads these on, in one way for each kind of frames: the versions where it begins, and the newest.
    for python in [python for python in t.pythons if python.minor in ((3, 6), (3, 11))] + t.pythons[-1:]:
        target = t.start(python, "deep.py", 600, 100000)
        recording = t.record("-r", 50, "-d", 2, "-p", target.pid)
        check_depth(t, target, 100000, recording.stacks(target.pid))
        target.kill()


def test_compared(t):
    """every build of the sampler that this kernel takes, compared with a walk frame by frame inside the same sample"""
    scripts = (("ladder.py", "40", "8"), ("generators.py",), ("kinds.py",), ("deep.py", "904"))
    targets = t.start_all([(python, script, 600, *arguments) for script, *arguments in scripts
                           for python in one_per_minor(t.pythons)])
    pids = ",".join(str(target.pid) for target in targets)
    for sampler in ("bounded", "callback", "may_goto", "resume"):
        recording = t.panopy_record("-r", "2khz", "-d", 4, "-p", pids, folder=sampler, popen={
            "env": {**os.environ, "PANOPY_SAMPLER": sampler, "PANOPY_COMPARE": "1"}}).finish()
        # Every kernel takes the one that is bounded.
        if recording.status == 5 and "does not take the sampler" in recording.errors and sampler != "bounded":
            t.note(f"not run, this kernel does not take it: {sampler}")
            continue
        t.require(recording.status == 0, f"{sampler}: the recording succeeds", recording.explain())
        kernel = recording.summary().data["kernel"]
        t.claim(kernel["compared"] > 5000 and not kernel["compared_different"],
                f"{sampler}: {kernel['compared_different']} of {kernel['compared']} stacks differ")
