# SPDX-License-Identifier: Apache-2.0
"""What panopy costs its target, measured in pairs: short windows with and without it, in turn, on one running target.
Each window with panopy is compared with the mean of its two neighbours, so that drift cancels."""
import math
import statistics
import time

import one_run

WINDOW = 0.8
SETTLE = 0.5     # from the launch until panopy surely samples

# Two-sided 95 % points of Student's t; beyond the last one the normal distribution's is near enough.
T95 = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26, 10: 2.23, 15: 2.13, 20: 2.09,
       30: 2.04, 60: 2.00}


def t95(freedom):
    return T95[max(known for known in T95 if known <= freedom)] if freedom <= 60 else 1.96


def interval(values):
    """(mean, half of the 95 % confidence interval)"""
    mean = statistics.fmean(values)
    return mean, t95(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))


def _work(running):
    """(units per second, units per CPU second) of one window."""
    first = running.snapshot()
    time.sleep(WINDOW)
    last = running.snapshot()
    rate, cpu, _ = one_run.window(first, last)
    return rate, rate / cpu


def pairs(tool, stage, running, count):
    """[(slow-down of work per second, of work per CPU second), ...] and panopy's own figure of its kernel time."""
    found, kernel = [], []
    before = _work(running)
    for _ in range(count):
        launched = one_run.Launched(tool.argv(stage, running, SETTLE + WINDOW + 0.2), stage, timeout=30)
        launched.watch_until(launched.started + SETTLE)
        during = _work(running)
        launched.watch_until(float("inf"))
        if launched.status:
            raise RuntimeError(launched.messages()[-300:])
        kernel.append(tool.kernel_seconds(stage) / (SETTLE + WINDOW + 0.2))
        after = _work(running)
        found.append(tuple(1 - on / ((a + b) / 2) for on, a, b in zip(during, before, after)))
        before = after
    return found, statistics.median(kernel)


def line(name, found, kernel):
    wall, cpu = (interval([100 * pair[i] for pair in found]) for i in (0, 1))
    return (f"| {name} | {len(found)} | {wall[0]:+.2f} ± {wall[1]:.2f} | {cpu[0]:+.2f} ± {cpu[1]:.2f} | "
            f"{100 * kernel:.2f} |")


HEAD = ("\n### Slow-down of the target under panopy at 1 kHz, in pairs\n\n"
        "| workload | pairs | work per second, % ± 95 % | work per CPU second, % ± 95 % | "
        "sampler's time in the kernel, % of a CPU |\n|---|---:|---:|---:|---:|")
