# SPDX-License-Identifier: Apache-2.0
"""Exit statuses, rates and the other commands."""
import json
import os
import subprocess
import time

from lib.hosts import on_host

# Linux, include/uapi/linux/capability.h
CAPABILITIES = {"cap_bpf": 39, "cap_perfmon": 38, "cap_sys_ptrace": 19, "cap_dac_read_search": 2,
                "cap_checkpoint_restore": 40, "cap_sys_resource": 24}


def run(t, *arguments):
    return subprocess.run([t.panopy, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60, cwd=t.directory)


def told(result):
    return [f"status {result.returncode}", *result.stderr.split("\n")[-6:]]


def test_usage(t):
    """wrong usage is status 2 and one sentence"""
    for arguments in (("record", "--no-such-option"), ("record", "-r", "0"), ("record", "-r", "30000"),
                      ("record", "-d", "never"), ("record", "-p", "abc"), ("nonsense",), ("record", "--per", "cpu"),
                      ("record", "--strict=101")):
        result = run(t, *arguments)
        t.claim(result.returncode == 2 and result.stderr, f"panopy {' '.join(arguments)}: 2", told(result))
    for arguments in (("--help",), ("record", "--help"), ("ps", "--help"), ("doctor", "--help"), ("--version",)):
        result = run(t, *arguments)
        t.claim(result.returncode == 0 and result.stdout, f"panopy {' '.join(arguments)}: 0", told(result))


def test_no_python(t):
    """-p of something that is no Python, or is not there: status 4 at once"""
    sleeper = subprocess.Popen(["sleep", "600"])
    t.at_end(sleeper.kill)
    for pid, what in ((sleeper.pid, "a sleep"), (2 ** 22 - 1, "a pid that does not exist")):
        recording = t.panopy_record("-d", 5, "-p", pid, "--no-subprocesses").finish()
        t.claim(recording.status == 4, f"{what}: status 4", recording.explain())
        t.claim(recording.seconds < 3, f"{what}: at once", f"{recording.seconds:.1f} s")
        t.claim(str(pid) in recording.errors, f"{what}: the sentence names the pid", recording.explain())
    zombie = subprocess.Popen(["true"])
    t.at_end(zombie.wait)
    time.sleep(0.2)
    recording = t.panopy_record("-d", 5, "-p", zombie.pid).finish()
    t.claim(recording.status == 4 and f"{zombie.pid} has ended" in recording.errors, "a zombie: status 4, and why",
            recording.explain())


def test_rates(t):
    """rates as numbers, kHz and periods; the achieved rate follows"""
    target = t.start(t.pythons[-1], "shares.py", 600)
    for rate, hertz in (("99", 99), ("1khz", 1000), ("100us", 10000), ("250hz", 250)):
        recording = t.record("-r", rate, "-d", 2, "-p", target.pid)
        count = sum(s.count for s in recording.stacks(target.pid))
        t.claim(0.7 * 2 * hertz <= count <= 1.1 * 2 * hertz, f"-r {rate}: about {2 * hertz} samples in 2 s", count)


def test_strict(t):
    """--strict is status 6 when stacks are not whole, 0 when they are"""
    whole = t.start(t.pythons[-1], "shares.py", 600)
    fine = t.panopy_record("-r", "1khz", "-d", 1, "-p", whole.pid, "--strict").finish()
    t.claim(fine.status == 0, "an ordinary program: 0", fine.explain())
    deep = t.start(t.pythons[-1], "deep.py", 600, 20000)
    args = ("-r", "1khz", "-d", 1, "-p", deep.pid)
    strict = t.panopy_record(*args, "--strict").finish()
    loose = t.panopy_record(*args, "--strict=100", folder="loose").finish()
    flagged = sum(s.count for s in strict.stacks(deep.pid) if s.flagged)
    t.claim(flagged > 0, "20,000 deep, past what the kernel side reads: late or truncated, and marked", strict.text()[:200])
    late = [s for s in strict.stacks(deep.pid) if s.status == "late"]
    lost = strict.summary().data["lost"]
    t.claim(late and not any(s.reason for s in late), "a late stack says `[late]`", [s.raw[:80] for s in late][:1])
    t.claim(lost["late"] == lost["late_budget"] + lost["late_page_fault"] and
            lost["truncated"] == sum(v for k, v in lost.items() if k.startswith("truncated_")),
            "late and truncated ones are counted apart, each by its reason", lost)
    t.claim(strict.status == 6, "--strict: 6", strict.explain())
    t.claim(loose.status == 0, "--strict=100: 0", loose.explain())
    other = t.panopy_record("--strict", "--", "true", folder="other").finish()
    t.claim(other.status == 0, "a command that is no Python: its own status", other.explain())
    argv = ("sh", "-c", '"$@"; exit 5', "sh", *on_host(t.pythons).argv("deep.py", 0.5, 20000))
    failing = t.panopy_record("-r", "1khz", "--strict", "--", *argv, folder="failing").finish()
    t.claim(failing.status == 5, "a command that fails by itself: its own status", failing.explain())
    t.claim("--strict" in failing.errors, "and what --strict found is said", failing.explain())


def test_ps(t):
    """ps lists every Python with its version, and no other process"""
    targets = [t.start(python, "threads.py", 600, 3) for python in t.pythons]
    sleeper = subprocess.Popen(["sleep", "600"])
    t.at_end(sleeper.kill)
    result = run(t, "ps", "--json")
    t.require(result.returncode == 0, "ps --json succeeds", told(result))
    rows = {row["pid"]: row for row in json.loads(result.stdout)["processes"]}
    for target in targets:
        row = rows.get(target.pid, {})
        version = ".".join(map(str, target.python.version))
        t.claim(version in str(row.get("version")) and row.get("threads") == 4,
                f"{target.python}: version {version}, 4 threads", row)
    t.claim(sleeper.pid not in rows, "a sleep is not listed")
    plain = run(t, "ps")
    t.claim(plain.returncode == 0 and all(str(x.pid) in plain.stdout for x in targets), "the plain list has them all",
            told(plain))


def test_doctor(t):
    """doctor says what this host allows"""
    result = run(t, "doctor", "--json")
    report = json.loads(result.stdout)
    features = {feature["name"]: feature for feature in report["features"]}
    t.claim(result.returncode == 0 and report["can_record"] and report["exit_status"] == 0 and not report["why_not"],
            "panopy records here, and the doctor says so", told(result), report)
    bad = [f for f in report["features"] if f["weight"] == "essential" and f["state"] != "present"]
    t.claim(len(features) > 20 and not bad, "all that is essential is present", bad)
    with open("/proc/self/status", encoding="ascii") as file:
        mine = int(next(line for line in file if line.startswith("CapEff:")).split()[1], 16)
    for name, bit in CAPABILITIES.items():
        want = "present" if mine >> bit & 1 else "missing"
        t.claim(features[name]["state"] == want, f"{name} is {want}", features[name])
    bad = [f for f in report["features"] if (f["state"] in ("missing", "limited", "denied")) != bool(f["lost"] and f["fix"])]
    t.claim(not bad, "what is missing, and nothing else, has what is lost without it and the fix", bad)
    t.claim(os.uname().release in features["build"]["detail"], "it names the kernel", features["build"])
    lines = run(t, "doctor").stdout.splitlines()
    t.claim(lines[-1] == "panopy record can run here." and len(lines) == len(features) + 2, "one line per feature", lines)
    bad = [(f, line) for f, line in zip(report["features"], lines)
           if line.split()[0] != f["state"] or f["title"] not in line or f["fix"] and f["fix"] not in line]
    t.claim(not bad, "the same as in JSON", bad)


def test_doctor_without_btf(t):
    """doctor of a kernel that shows no BTF: it is missing, and status 5"""
    script = "mount -t tmpfs none /sys/kernel/btf && exec \"$@\""
    for arguments in ((), ("--json",)):
        result = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", t.panopy, "doctor", *arguments],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        t.claim(result.returncode == 5, f"doctor {' '.join(arguments)}: status 5", told(result))
        if arguments:
            report = json.loads(result.stdout)
            state = {feature["name"]: feature for feature in report["features"]}["kernel_btf"]
            t.claim(not report["can_record"] and report["exit_status"] == 5 and "BTF" in report["why_not"], "why not", report)
            t.claim(state["state"] == "missing" and "CONFIG_DEBUG_INFO_BTF" in state["fix"], "missing, with the fix", state)
        else:
            lines = result.stdout.splitlines()
            t.claim(any(line.startswith("missing") and "BTF" in line and "ESSENTIAL" in line for line in lines) and
                    lines[-1].startswith("panopy record cannot run here:"), "missing, and essential", lines)


def test_quiet(t):
    """-q says nothing when all is well"""
    target = t.start(t.pythons[-1], "shares.py", 600)
    recording = t.record("-q", "-d", 1, "-p", target.pid)
    t.claim(recording.errors == "" and recording.stdout == b"", "no output", recording.errors, recording.stdout)
