# SPDX-License-Identifier: Apache-2.0
"""--stats: the table, live and at the end, and the same in the summary."""
import time


def test_table(t):
    """--stats at the end; its numbers are the summary's"""
    target = t.start(t.pythons[-1], "deep.py", 600, 25)
    recording = t.record("-r", "1khz", "-d", 2, "-p", target.pid, "--stats")
    stats, summary = recording.summary().data["stats"], recording.summary().data
    said = recording.errors
    for heading in ("Samples", "Stacks", "Frames", "Code objects", "Remote reads", "Per sample"):
        t.claim(said.count(f"\n{heading}\n") == (2 if heading == "Samples" else 1), f"a table of {heading}", said)
    t.claim(stats["samples"]["all"] == summary["samples"], "samples.all is the number of samples", stats["samples"])
    t.claim(f"{stats['samples']['all']:,}" in said, "the table says the same number")
    t.claim(stats["stacks"]["known"] + stats["stacks"]["new"] == summary["kernel"]["samples"],
            "every sample was sent whole or by its identity", stats["stacks"])
    t.claim(stats["stacks"]["known"] > 0.9 * stats["samples"]["all"], "a loop's stack is mostly known", stats["stacks"])
    t.claim(24 <= stats["per_sample"]["frames"] <= 32, "25 deep: as many frames a sample", stats["per_sample"])
    t.claim(64 <= stats["per_sample"]["ring_bytes"] < 400, "64 bytes a known stack", stats["per_sample"])
    for name in ("kernel_ns", "window_reads"):
        t.claim(stats["per_sample"][name] > 0, f"per_sample.{name} is measured", stats["per_sample"])
    # The kernel divides a process's time by which of the two the timer's ticks hit: few hit panopy.
    t.claim(stats["per_sample"]["user_ns"] + stats["per_sample"]["system_ns"] > 0, "its own CPU is measured",
            stats["per_sample"])


def test_memory(t):
    """frames that the kernel side leaves are counted as read from memory, and so are the reads"""
    target = t.start(t.pythons[-1], "deep.py", 600, 20000)
    stats = t.record("-r", "99", "-d", 2, "-p", target.pid).summary().data["stats"]
    t.claim(stats["frames"]["memory"] > 1000, "20,000 deep: some frames come from memory", stats["frames"])
    t.claim(stats["remote_reads"]["calls"] > 0, "reads are counted", stats["remote_reads"])
    t.claim(0 < stats["remote_reads"]["segments_read"] <= stats["remote_reads"]["segments"],
            "segments read are those asked for, or fewer", stats["remote_reads"])


def test_live(t):
    """--stats=SECONDS: a table every so often while it records, and one at the end"""
    target = t.start(t.pythons[-1], "shares.py", 600)
    recording = t.panopy_record("-r", "1khz", "-d", 4, "-p", target.pid, "--stats=1")
    time.sleep(3)
    early = recording.errors
    t.claim("After " in early and "\nPer sample\n" in early, "a table before the end", early)
    recording.finish()
    said = recording.errors
    t.claim(3 <= said.count("\nAfter ") <= 4, "one a second for 4 s", said.count("\nAfter "))
    t.claim(said.count("\nPer sample\n") == said.count("\nAfter ") + 1, "and one at the end")
    quiet = t.panopy_record("-d", 1, "-p", target.pid, "-q", folder="quiet").finish()
    t.claim(not quiet.errors, "without --stats and with -q there is none", quiet.errors)
    t.claim("stats" in quiet.summary().data, "the summary has them in any case")
