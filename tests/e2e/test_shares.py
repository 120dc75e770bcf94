# SPDX-License-Identifier: Apache-2.0
"""Known shares of the CPU, judged by one joint test with a false-alarm rate of 1 in 10,000."""
from lib import stats

SHARES = {"sixty": 0.6, "thirty": 0.3, "ten": 0.1}
FALSE_ALARM = 1e-4
SAMPLES = 4000  # of each interpreter: fixed, so that the test's power is the same in every run


def leaf_counts(stacks):
    counts = dict.fromkeys(SHARES, 0)
    for stack in stacks:
        if stack.frames and stack.frames[-1].name in counts:
            counts[stack.frames[-1].name] += stack.count
    return counts


def test_shares(t, seconds=16):
    """60/30/10 on all versions at once (more busy processes than CPUs)"""
    targets = t.start_all((python, "shares.py", 600) for python in t.pythons)
    recording = t.record("-r", "4khz", "-d", seconds)
    groups = []
    for target in targets:
        counts = leaf_counts(recording.stacks(target.pid))
        total = sum(counts.values())
        t.note(f"{target.python}: " + ", ".join(f"{name} {n / max(total, 1):.2%}" for name, n in counts.items())
               + f" of {total}")
        if t.claim(total >= SAMPLES, f"{target.python}: at least {SAMPLES} samples", counts):
            groups.append((stats.thin(counts, SAMPLES), SHARES))
    value = stats.joint_p_value(groups) if groups else 0
    t.claim(value >= FALSE_ALARM, f"shares are 60/30/10: joint p = {value:.4f}, alarm below {FALSE_ALARM}",
            [counts for counts, _ in groups])
