# SPDX-License-Identifier: Apache-2.0
"""Names of code that is gone in a moment: scripts of 50 ms, code objects dropped as soon as they ran."""
import subprocess

from lib import legal
from lib.folded import names
from lib.hosts import TARGETS

SCRIPTS = 200
LIFE_S = 0.05
LIFE_OF_CHURN_S = 5  # outlives start-up and recording on a busy host, too


def test_loop_of_scripts(t):
    """200 scripts of 50 ms, one after the other: 98 % of their samples are named"""
    python = next(python for python in t.pythons if python.minor >= (3, 11))
    recording = t.panopy_record("-r", "1khz", per="none")
    t.require(recording.process.poll() is None, "panopy records")
    subprocess.run(["sh", "-c", f'i=0; while [ $i -lt {SCRIPTS} ]; do "$@"; i=$((i + 1)); done', "sh",
                    *python.argv("brief.py", LIFE_S)], stdin=subprocess.DEVNULL, check=True, cwd=TARGETS, timeout=80)
    recording.interrupt().finish()
    t.require(recording.status == 0, "the recording succeeds", recording.explain())
    summary = recording.summary()
    scripts = [p for p in summary.data["processes"] if "brief.py" in (p["command"] or "")]
    t.claim(len(scripts) >= 0.98 * SCRIPTS, f"{len(scripts)} of {SCRIPTS} scripts were seen")
    samples = sum(p["samples"] for p in scripts)
    unnamed = sum(p["unnamed"] for p in scripts)
    without = sum(p["statuses"]["none"] for p in scripts)
    t.note(f"{samples} samples, {unnamed} with an unnamed frame, {without} without a Python frame")
    t.claim(samples and unnamed <= 0.02 * (samples - without), "98 % of the samples of Python code are named",
            summary.data["lost"])
    burnt = sum(s.count for s in recording.stacks() if "short_life" in names(s))
    due = SCRIPTS * LIFE_S * 1000
    t.claim(0.9 * due <= burnt <= 1.1 * due, f"{burnt} samples of their own function, {due:.0f} due")
    t.claim(not summary.lost_samples(), "no fired sample was lost", summary.data["lost"])


def test_code_churn(t):
    """code objects made, run and dropped at the same addresses under different names, 10 kHz, each Python alone"""
    for python in t.pythons:
        target = t.start(python, "codechurn.py", LIFE_OF_CHURN_S)
        recording = t.record("-r", "10khz", "-d", 2, "-p", target.pid)
        made = int(target.read_until("made").value("made")) / LIFE_OF_CHURN_S
        t.claim(made >= 10000, f"{python}: {made:,.0f} code objects a second, at least 10,000")
        stacks = recording.stacks(target.pid)
        total = sum(stack.count for stack in stacks)
        wrong, shown = legal.judge(stacks, legal.codechurn)
        t.claim(wrong == 0, f"{python}: none of {total} samples has a wrong name", shown)
        lost = recording.summary().data["lost"]
        t.claim(total >= 10000 and lost["unnamed"] <= 0.001 * total, f"{python}: at most 0.1 % unnamed",
                lost["unnamed"])


def test_code_without_a_file(t):
    """code compiled under an empty file name is named, on every version"""
    for python in t.pythons:
        recording = t.panopy_record("-r", "1khz", "--", *python.argv("nofile.py", 0.3), folder=f"nofile-{python}").finish()
        found = sum(s.count for s in recording.stacks() if "nowhere" in names(s))
        t.claim(found >= 30, f"{python}: {found} samples of its function", recording.explain())
        t.claim(not recording.summary().data["lost"]["unnamed"], f"{python}: no frame is unnamed")
