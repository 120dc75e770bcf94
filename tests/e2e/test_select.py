# SPDX-License-Identifier: Apache-2.0
"""Which processes are sampled: cgroups of both versions, users, names, executables, versions; and what moves."""
import json
import os
import shutil
import subprocess
import time

from lib import groups, hosts
from lib.folded import names
from lib.stall import stolen_seconds
from test_containers import start_all

LABELS = ("alpha", "beta", "gamma", "delta")
SETTLE = 2.0  # until a recording that was just started samples


def busy_in(t, hierarchy, where):
    """One busy process a group: label -> Target."""
    pythons = hosts.one_per_minor(t.pythons)
    return {label: groups.start(t, pythons[i % len(pythons)], [hierarchy.procs(group)], 600, label)
            for i, (label, group) in enumerate(where.items())}


def claim_exactly(t, recording, wanted, text):
    found = groups.counts(recording, *LABELS)
    t.claim(set(found) == set(wanted), f"{text}: {', '.join(sorted(wanted))} and nothing else", found)
    # A process that shares the CPUs with three others may get few of them.
    t.claim(min(found.values(), default=0) >= 20, f"{text}: each with its samples", found)
    t.claim(not recording.summary().lost_samples(), f"{text}: nothing is lost", recording.summary().lost_samples())


def nested(t, hierarchy):
    # One lies as deep as nobody nests them who does not want to be out of sight.
    deep = ["a/b/c" + "/d" * levels for levels in range(81)]
    where = {"alpha": "a", "beta": "a/b", "gamma": deep[-1], "delta": "d"}
    hierarchy.make("a", "a/b", *deep, "d")
    busy_in(t, hierarchy, where)
    below = {"a": ("alpha", "beta", "gamma"), "a/b": ("beta", "gamma"), "a/b/c": ("gamma",), "d": ("delta",),
             "": LABELS}
    for group, wanted in below.items():
        made = t.record("-r", "1khz", "-d", 1, "--cgroup", hierarchy.dir(group))
        claim_exactly(t, made, wanted, f"{hierarchy.name} {group or 'top'}")
        pids = {process["pid"] for process in made.summary().data["processes"]}
        t.claim(len(pids) == len(wanted), "the summary lists these and no other", pids)
    made = t.record("-r", "1khz", "-d", 1, "--cgroup", hierarchy.dir("a"), "--cgroup", hierarchy.dir("d"))
    claim_exactly(t, made, LABELS, f"{hierarchy.name}: all selected together")
    made = t.record("-r", "1khz", "-d", 1, "--cgroup", hierarchy.dir("a"), "--exclude",
                    f"cgroup={hierarchy.dir('a/b')}")
    claim_exactly(t, made, ("alpha",), f"{hierarchy.name}: one without what is below")
    made = t.record("-r", "1khz", "-d", 1, "--exclude", f"cgroup={hierarchy.dir('a')}")
    claim_exactly(t, made, ("delta",), f"{hierarchy.name}: all but one")
    made = t.record("-r", "1khz", "-d", 1, "--cgroup", os.stat(hierarchy.dir("a/b")).st_ino) \
        if hierarchy.name == "v2" and unique_id(hierarchy.dir("a/b")) else None
    if made:
        claim_exactly(t, made, ("beta", "gamma"), "by its id")
    return below


def unique_id(path):
    """No other hierarchy has a cgroup of that id."""
    wanted, found = os.stat(path).st_ino, set()
    with open("/proc/self/mounts") as mounts:
        places = [line.split()[1] for line in mounts if line.split()[2].startswith("cgroup")]
    for place in places:
        for parent, _, _ in os.walk(place):
            if os.stat(parent).st_ino == wanted:
                found.add(os.stat(parent).st_dev)
    return len(found) == 1


def test_v2(t):
    """version 2, nested three deep"""
    hierarchy = groups.v2(t)
    nested(t, hierarchy)
    made = t.record("-r", "1khz", "-d", 1, "--cgroup", hierarchy.path("a/b"))
    claim_exactly(t, made, ("beta", "gamma"), "by the path from the hierarchy's root")


def test_v1_controller(t):
    """version 1, a hierarchy with a controller"""
    nested(t, groups.controller(t))


def test_v1_named(t):
    """version 1, a hierarchy that has only a name"""
    nested(t, groups.named(t))


def test_shares(t, seconds=20):
    """groups of both versions that work only while they are recorded: what the kernel counted is what was sampled"""
    python, hierarchies = hosts.on_host(t.pythons), (groups.v2(t), groups.controller(t))
    for hierarchy in hierarchies:
        hierarchy.make("one", "two", "three")
    # All three together keep the CPUs busy for that long.
    each = seconds * min(os.cpu_count(), 3) / 3
    targets = {group: groups.start(t, python, [hierarchy.procs(group) for hierarchy in hierarchies], each, label, "go")
               for group, label in zip(("one", "two", "three"), LABELS)}
    before = {(hierarchy, group): hierarchy.cpu_ns(group) for hierarchy in hierarchies for group in targets}
    made = t.panopy_record("-r", "1khz", "--cgroup", hierarchies[0].dir("one"), "--cgroup", hierarchies[1].dir("three"))
    time.sleep(SETTLE)
    groups.go(*targets.values())
    for target in targets.values():
        target.read_until("done", timeout=5 * seconds)
    time.sleep(0.2)
    made.interrupt().finish()
    t.require(made.status == 0, "the recording succeeds", made.explain())
    used = {key: key[0].cpu_ns(key[1]) - cpu_ns for key, cpu_ns in before.items()}
    summary = made.summary()
    recorded = summary.data["duration_ns"]
    t.claim(recorded >= seconds * 1e9, f"{seconds} s were recorded", recorded)
    for hierarchy in hierarchies:
        for group in ("one", "three"):
            weight = summary.process(targets[group].pid)["weight_ns"]
            off = abs(weight - used[hierarchy, group]) / recorded
            t.claim(off <= 0.02, f"{hierarchy.name} {group}: {weight / 1e9:.3f} s sampled, "
                    f"{used[hierarchy, group] / 1e9:.3f} s by the cgroup's own account: {off:.2%} of the recorded time "
                    "apart, at most 2 %")
        total = summary.data["weight_ns"]
        t.claim(abs(total - used[hierarchy, "one"] - used[hierarchy, "three"]) / recorded <= 0.02,
                f"{hierarchy.name}: both together agree as well", total, used)
    t.claim(summary.process(targets["two"].pid) is None, "the one not selected is not there")


def moves(t, hierarchy):
    python = hosts.on_host(t.pythons)
    hierarchy.make("first", "second")
    target = groups.start(t, python, [], 4, "alpha", "move", hierarchy.procs("first"), hierarchy.procs("second"))
    stolen = stolen_seconds()
    made = t.panopy_record("-r", "1khz", "--cgroup", hierarchy.dir("first"))
    time.sleep(SETTLE)
    groups.go(target)
    target.read_until("done", timeout=60)
    time.sleep(0.2)
    made.interrupt().finish()
    t.require(made.status == 0, "the recording succeeds", made.explain())
    labels = [f"alpha_{side}{kind}" for side in ("first", "second") for kind in ("", "_forked", "_execed")]
    found = groups.counts(made, *labels)
    wrong = {label: count for label, count in found.items() if label.startswith("alpha_second")}
    t.claim(not wrong, f"{hierarchy.name}: no sample from the wrong side of a move", found)
    # Timers go on while the host has the CPU, the program's clock does not.
    stolen = stolen_seconds() - stolen
    for label, seconds in (("alpha_first", 2.0), ("alpha_first_forked", 0.3), ("alpha_first_execed", 0.3)):
        t.claim(0.8 * seconds <= found.get(label, 0) / 1000 <= 1.2 * seconds + stolen,
                f"{hierarchy.name}: {label} has its {seconds} s ({found.get(label, 0)} samples)", found)
    row = made.summary().process(target.pid)
    t.claim(row["selected"] == "part" and 1.6e9 <= row["outside_ns"] <= 2.6e9,
            f"{hierarchy.name}: the summary says that it was selected for a part of the time", row)
    left = row["cpu_ns"] - row["outside_ns"] - row["weight_ns"]
    t.claim(abs(left) <= 0.05 * row["cpu_ns"], f"{hierarchy.name}: its CPU time is its samples and what was outside", row)
    t.claim(not made.summary().lost_samples(), f"{hierarchy.name}: nothing counts as lost")
    kernel = made.summary().data["kernel"]
    t.claim(kernel["ticks_outside"] >= 1600, f"{hierarchy.name}: ticks outside are counted as such", kernel)


def test_moves_v2(t):
    """a process that moves, forks and execs, in version 2"""
    moves(t, groups.v2(t))


def test_moves_v1(t):
    """the same in version 1"""
    moves(t, groups.controller(t))


def test_moves_named(t):
    """the same in a named hierarchy"""
    moves(t, groups.named(t))


def test_wait(t):
    """--wait: a cgroup that appears later, and the duration counts from then"""
    v2, controller = groups.v2(t), groups.controller(t)
    # The path alone would mean the one of version 2 by then.
    for hierarchy, path in ((v2, v2.path("late/inner")), (controller, controller.dir("late/inner"))):
        hierarchy.make("there")
        made = t.panopy_record("-r", "1khz", "-d", 3, "--wait", "--cgroup", path)
        time.sleep(SETTLE + 1)
        t.claim(made.process.poll() is None, f"{hierarchy.name}: it waits", made.errors)
        hierarchy.make("late", "late/inner")
        # What a service manager needs to start something in a cgroup that it made.
        time.sleep(0.1)
        python = hosts.on_host(t.pythons)
        stolen = stolen_seconds()
        target = groups.start(t, python, [hierarchy.procs("late/inner")], 1, "alpha", wait=False)
        made.finish()
        stolen = stolen_seconds() - stolen
        t.require(made.status == 0, "the recording succeeds", made.explain())
        found = groups.counts(made, "alpha").get("alpha", 0)
        t.claim(800 <= found <= 1200 + 1000 * stolen, f"{hierarchy.name}: all of the second that ran in it", found)
        t.claim(abs(made.summary().data["duration_ns"] - 3e9) <= 0.3e9, "the duration is that of the recording")
        t.claim({stack.pid for stack in made.stacks()} == {target.pid}, "and no other process")


def test_wait_unit(t):
    """--wait --unit: the same for what is found by name"""
    hierarchy = groups.v2(t)
    hierarchy.top = ""
    if not os.path.isdir(hierarchy.dir("system.slice")):
        hierarchy.make("system.slice")
    unit = f"panopy-test-{os.getpid()}.service"
    made = t.panopy_record("-r", "1khz", "-d", 3, "--wait", "--unit", unit)
    time.sleep(SETTLE)
    hierarchy.make(f"system.slice/{unit}")
    time.sleep(0.5)
    groups.start(t, hosts.on_host(t.pythons), [hierarchy.procs(f"system.slice/{unit}")], 1, "alpha", wait=False)
    made.finish()
    found = groups.counts(made, "alpha").get("alpha", 0)
    t.claim(made.status == 0 and 800 <= found <= 1200, "all of the second that ran in it", found, made.explain())


def test_come_later(t):
    """containers that start during the recording: one in the slot of those that ended, one that is excluded"""
    hierarchy = groups.v2(t)
    hierarchy.top = ""
    mark = f"{os.getpid():08x}"
    ended = [f"docker/{mark}{i:056x}" for i in range(64)]
    where = {"alpha": f"docker/{mark}{64:056x}", "beta": f"docker/{mark}{'f' * 56}"}
    hierarchy.make(*([] if os.path.isdir(hierarchy.dir("docker")) else ["docker"]), *ended)
    made = t.panopy_record("-r", "1khz", "--container", mark, "--exclude", f"container={mark}ffff")
    time.sleep(SETTLE)
    for group in ended:
        hierarchy.remove(group)
    hierarchy.make(*where.values())
    targets = [groups.start(t, hosts.on_host(t.pythons), [hierarchy.procs(group)], 0.5, label, wait=False)
               for label, group in where.items()]
    for target in targets:
        target.finish()
    made.interrupt().finish()
    found = groups.counts(made, *LABELS)
    t.claim(made.status == 0 and set(found) == {"alpha"} and found["alpha"] >= 350,
            "the new one has its half second, the excluded one nothing", found, made.explain())
    t.claim(f"nothing to leave out yet, ignoring: there is no container '{mark}ffff'" in made.errors,
            "an exclusion of what is not there is told", made.errors)


def test_wait_interrupted(t):
    """--wait ends by Ctrl-C with an empty file and status 4"""
    made = t.panopy_record("--wait", "--cgroup", "/panopy-never-there")
    time.sleep(SETTLE)
    made.interrupt().finish()
    t.claim(made.status == 4 and made.text() == "", "status 4 and an empty file", made.explain())


def test_missing(t):
    """a cgroup or unit that is not there: one sentence with the nearest, status 1"""
    hierarchy = groups.v2(t)
    hierarchy.make("webserver", "webserver/inner")
    for command in ("record", "ps"):
        for wanted in (hierarchy.path("websrver"), "/elsewhere/webserver"):
            done = subprocess.run([t.panopy, command, "--cgroup", wanted], capture_output=True, text=True,
                                  cwd=t.directory)
            lines = [line for line in done.stderr.split("\n") if line]
            t.claim(done.returncode == 1 and len(lines) == 1 and hierarchy.path("webserver") in lines[0],
                    f"{command}: {wanted} names webserver", done)
    done = subprocess.run([t.panopy, "ps", "--unit", "panopy-no-such"], capture_output=True, text=True)
    t.claim(done.returncode == 1 and "panopy-no-such.service" in done.stderr, "a unit", done)
    done = subprocess.run([t.panopy, "record", "--wait", "--cgroup", "987654321"], capture_output=True, text=True,
                          cwd=t.directory)
    t.claim(done.returncode == 1 and "give the path to wait for" in done.stderr, "an id is not waited for", done)
    for namespace, wanted in (((), False), (("unshare", "-C"), True)):
        done = subprocess.run([*namespace, t.panopy, "ps", "--container", "panopy-no-such"], capture_output=True, text=True)
        t.claim(done.returncode == 1 and ("--cgroupns=host" in done.stderr) == wanted,
                "a container" + (", from a cgroup namespace" if namespace else ""), done)
    t.claim(not [name for name in os.listdir(t.directory) if name.endswith(".folded")], "no file is left")


def test_covered(t):
    """a cgroup is found by the mount that still shows it; what is mounted over a cgroup is none"""
    hierarchy = groups.v2(t)
    hierarchy.make("group")
    target = groups.start(t, hosts.on_host(t.pythons), [hierarchy.procs("group")], 600, "alpha", "go")
    covers = ["mount -t tmpfs none /sys/fs/cgroup", f"mount -t tmpfs none {hierarchy.dir('group')}"]
    for cnt, wanted in ((1, {target.pid}), (2, None)):
        command = " && ".join([*covers[:cnt], f"exec {t.panopy} ps --json --cgroup {hierarchy.path('group')}"])
        done = subprocess.run(["unshare", "-m", "sh", "-c", command], capture_output=True, text=True)
        found = {process["pid"] for process in json.loads(done.stdout)["processes"]} if done.stdout else None
        t.claim(found == wanted and (wanted or "there is no cgroup" in done.stderr), covers[cnt - 1], done)


def test_recreated(t):
    """a cgroup that is removed and made anew by the same path"""
    python = hosts.on_host(t.pythons)
    for hierarchy in (groups.v2(t), groups.controller(t), groups.named(t)):
        hierarchy.make("group")
        first = groups.start(t, python, [hierarchy.procs("group")], 0.5, "alpha", "go")
        made = t.panopy_record("-r", "1khz", "--cgroup", hierarchy.dir("group"))
        time.sleep(SETTLE)
        groups.go(first)
        first.read_until("done")
        first.kill()
        old = os.stat(hierarchy.dir("group")).st_ino
        hierarchy.remove("group")
        os.mkdir(hierarchy.dir("group"))
        new = os.stat(hierarchy.dir("group")).st_ino
        second = groups.start(t, python, [hierarchy.procs("group")], 0.5, "beta", wait=False)
        time.sleep(1.5)
        made.interrupt().finish()
        t.require(made.status == 0, "the recording succeeds", made.explain())
        found = groups.counts(made, "alpha", "beta")
        t.claim(old != new, "it has another id")
        t.claim(found.get("alpha", 0) >= 350 and found.get("beta", 0) >= 350,
                f"{hierarchy.name}: both have their half second", found)
        second.kill()


def test_empty(t):
    """no Python in the selection: status 4 and an empty file; a sleeping one is a Python"""
    hierarchy = groups.v2(t)
    hierarchy.make("none", "asleep")
    groups.start(t, hosts.on_host(t.pythons), [hierarchy.procs("asleep")], 1, "alpha", "go")
    none = t.panopy_record("-d", 1, "--cgroup", hierarchy.dir("none"), folder="none").finish()
    t.claim(none.status == 4 and none.text() == "", "none: status 4", none.explain())
    asleep = t.panopy_record("-d", 1, "--cgroup", hierarchy.dir("asleep"), folder="asleep").finish()
    t.claim(asleep.status == 0, "asleep: status 0", asleep.explain())


def test_users(t):
    """--user and --exclude user=, by name and number"""
    python = hosts.on_host(t.pythons)
    # The pyenv of root is not for others: the distribution's is.
    common = next((p for p in t.pythons if not p.root and p.command.startswith("/usr/")), None)
    if not common:
        t.skip("needs a Python that every user may run")
    home = t.folder("public")
    for name in ("groups.py", "pace.py"):
        shutil.copy(os.path.join(hosts.TARGETS, name), home)
    os.chmod(t.directory, 0o755)
    for name in (home, *(os.path.join(home, name) for name in os.listdir(home))):
        os.chmod(name, 0o755)
    mine = t.start(python, "groups.py", 600, "alpha")
    other = t.start(common, "groups.py", 600, "beta", directory=home, user=65534, group=65534)
    both = f"{mine.pid},{other.pid}"
    for options, wanted in ((("-u", "65534"), "beta"), (("--user", "nobody"), "beta"), (("--user", "root"), "alpha"),
                            (("--exclude", "user=root"), "beta"), (("--exclude", "user=65534"), "alpha")):
        made = t.record("-r", "1khz", "-d", 1.5, "-p", both, *options)
        found = groups.counts(made, *LABELS)
        t.claim(set(found) == {wanted} and found[wanted] >= 100, f"{' '.join(options)}: {wanted}", found)
    made = t.record("-r", "1khz", "-d", 1.5, "-p", both, "-u", "root", "-u", "nobody")
    t.claim(set(groups.counts(made, *LABELS)) == {"alpha", "beta"}, "two users are ORed")


def copies(t, *scripts):
    """groups.py under other names, in a folder that needs no staging."""
    home = t.folder("scripts")
    shutil.copy(os.path.join(hosts.TARGETS, "pace.py"), home)
    for script in scripts:
        shutil.copy(os.path.join(hosts.TARGETS, "groups.py"), os.path.join(home, script))
    return home


def listed(t, *options):
    done = subprocess.run([t.panopy, "ps", "--json", *map(str, options)], capture_output=True, text=True)
    t.require(done.returncode == 0, f"ps {' '.join(map(str, options))} succeeds", done.stderr)
    return {process["pid"] for process in json.loads(done.stdout)["processes"]}


def test_kinds(t):
    """--name, --exe, --python, --exclude, and how they go together; ps lists what record takes"""
    pythons = [python for python in hosts.one_per_minor(t.pythons) if not python.root]
    if len(pythons) < 2:
        t.skip("needs two versions on the host itself")
    old, new = pythons[0], pythons[-1]
    home = copies(t, "worker.py", "server.py")
    label = dict(zip(LABELS, ((old, "worker.py"), (old, "server.py"), (new, "worker.py"), (new, "server.py"))))
    targets = {name: t.start(python, script, 600, name, directory=home) for name, (python, script) in label.items()}
    everyone = ("-p", ",".join(str(target.pid) for target in targets.values()))
    exe = {python: os.readlink(f"/proc/{target.pid}/exe") for (python, _), target in
           zip(label.values(), targets.values())}
    text = {python: ".".join(map(str, python.minor)) for python in (old, new)}
    cases = (
        (("--name", "worker"), ("alpha", "gamma")),
        (("--name", r"^server\.py$"), ("beta", "delta")),
        (("--name", "worker", "--name", "server"), LABELS),
        (("--exe", exe[old]), ("alpha", "beta")),
        (("--exe", os.path.dirname(exe[new]) + "/*"), ("gamma", "delta")),
        (("--python", text[old]), ("alpha", "beta")),
        (("--python", text[new] + "+"), ("gamma", "delta")),
        (("--python", f"{text[old]}-{text[new]}"), LABELS),
        (("--name", "worker", "--python", text[new]), ("gamma",)),
        (("--name", "worker", "--exclude", f"python={text[old]}"), ("gamma",)),
        (("--exclude", "name=worker"), ("beta", "delta")),
        (("--exclude", "name=worker", "--exclude", f"exe={exe[new]}"), ("beta",)),
    )
    for options, wanted in cases:
        made = t.record("-r", "1khz", "-d", 1.5, *everyone, *options)
        found = groups.counts(made, *LABELS)
        t.claim(set(found) == set(wanted), f"{' '.join(options)}: {', '.join(wanted)}", found)
        pids = {targets[name].pid for name in wanted}
        t.claim(listed(t, *everyone, *options) == pids, "ps lists the same")
        t.claim({p["pid"] for p in made.summary().data["processes"]} == pids, "the summary, too",
                made.summary().data["processes"])


def test_no_arguments(t):
    """a process whose arguments are gone is decided on by its name; ps lists what record takes"""
    target = t.start(hosts.on_host(t.pythons), "noarguments.py")
    with open(f"/proc/{target.pid}/cmdline") as cmdline:
        t.require(cmdline.read() == "", "it has none")
    for options, is_wanted in ((("--exclude", "name=worker"), True), (("--name", "worker"), False)):
        made = t.panopy_record("-r", "1khz", "-d", 2.5, "-p", target.pid, *options).finish()
        found = groups.counts(made, "without_arguments")
        t.claim(made.status == (0 if is_wanted else 4) and bool(found) == is_wanted,
                f"{' '.join(options)}: {'recorded' if is_wanted else 'left out'}", found, made.explain())
        t.claim(listed(t, "-p", target.pid, *options) == ({target.pid} if is_wanted else set()), "ps says the same")


def test_containers_and_units(t):
    """--container, --pod and --unit by the cgroups that runtimes and systemd make; none that a container made"""
    hierarchy = groups.v2(t)
    hierarchy.top = ""
    mark = f"{os.getpid():08x}"
    outer, inner, pod = mark * 8, mark[::-1] * 8, f"{mark}-1111-2222-3333-444455556666"
    unit = f"panopy-test-{mark}.service"
    where = {"alpha": f"docker/{outer}", "beta": f"docker/{outer}/docker/{inner}", "gamma": f"system.slice/{unit}",
             "delta": f"kubepods/besteffort/pod{pod}/{inner}"}
    fake = f"docker/{outer}/system.slice/{unit}"
    for group in (*where.values(), fake):
        parts = group.split("/")
        for depth in range(1, len(parts) + 1):
            if not os.path.isdir(hierarchy.dir("/".join(parts[:depth]))):
                hierarchy.make("/".join(parts[:depth]))
    busy_in(t, hierarchy, where)
    groups.start(t, hosts.on_host(t.pythons), [hierarchy.procs(fake)], 600, "fake")
    for options, wanted in ((("--container", outer[:12]), ("alpha", "beta", "fake")), (("--container", inner), ("delta",)),
                            (("--unit", unit), ("gamma",)), (("--unit", unit[:-8]), ("gamma",)),
                            (("--unit", "system.slice"), ("gamma",)), (("--pod", pod), ("delta",)),
                            (("--container", outer, "--exclude", f"cgroup={hierarchy.dir(where['beta'])}"),
                             ("alpha", "fake")),
                            (("--unit", unit, "--container", outer), ())):
        made = t.panopy_record("-r", "1khz", "-d", 1, *options).finish()
        found = groups.counts(made, *LABELS, "fake")
        t.claim(set(found) == set(wanted) and made.status == (0 if wanted else 4),
                f"{' '.join(options)}: {', '.join(wanted) or 'nothing, status 4'}", found, made.explain())
    done = subprocess.run([t.panopy, "ps", "--container", "ffffffff"], capture_output=True, text=True)
    t.claim(done.returncode == 1 and "there is no container 'ffffffff'" in done.stderr, "one that is not there", done)


def test_real_containers(t):
    """--container and --pod of containers that real runtimes started: each alone, and all together"""
    wanted = [expected for expected in start_all(t) if expected.container]
    cases = [(("--container", expected.container["name"] or expected.container["id"][:12]), [expected])
             for expected in wanted]
    cases += [(("--pod", pod), [expected]) for expected in wanted if expected.pod
              for pod in (f"{expected.pod['namespace']}/{expected.pod['name']}", expected.pod["uid"])]
    cases.append(([word for options, _ in cases[:len(wanted)] for word in options], wanted))
    for options, those in cases:
        made = t.record("-r", "1khz", "-d", 1, *options)
        found = {stack.pid for stack in made.stacks()}
        t.claim(found == {expected.target.pid for expected in those},
                f"{' '.join(options)}: {', '.join(expected.label for expected in those)} and nothing else", found)
        for expected in those:
            have = {name for stack in made.stacks(expected.target.pid) for name in names(stack)}
            others = {other.function for other in wanted} - {expected.function}
            t.claim(expected.function in have and not have & others, f"{expected.label}: its own function only", have)
        t.claim(not made.summary().lost_samples(), "nothing is lost", made.summary().lost_samples())
        t.claim(listed(t, *options) == found, "ps lists the same")


def test_started_later(t):
    """processes that start during the recording are decided before their first sample, and anew at an exec"""
    python = hosts.on_host(t.pythons)
    home = copies(t, "worker.py", "server.py")
    made = t.panopy_record("-r", "1khz", "--name", "worker")
    time.sleep(SETTLE)
    targets = [t.start(python, script, 0.5, name, *rest, directory=home, wait=False) for script, name, *rest in (
        ("worker.py", "alpha"), ("server.py", "beta"),
        ("worker.py", "gamma", "exec", os.path.join(home, "server.py")),
        ("server.py", "delta", "exec", os.path.join(home, "worker.py")))]
    for target in targets:
        target.finish()
    made.interrupt().finish()
    t.require(made.status == 0, "the recording succeeds", made.explain())
    labels = [name + after for name in LABELS for after in ("", "_after")]
    found = groups.counts(made, *labels)
    wanted = {"alpha", "gamma", "delta_after"}
    t.claim(set(found) == wanted, "exactly the images whose script is worker.py", found)
    t.claim(all(400 <= found.get(name, 0) <= 650 for name in wanted), "each with its half second", found)


def test_cgroup_and_name(t):
    """kinds of both sides together: the cgroup in the kernel, the name before"""
    hierarchy = groups.v2(t)
    hierarchy.make("in", "out")
    python = hosts.on_host(t.pythons)
    home = copies(t, "worker.py", "server.py")
    for name, group, script in (("alpha", "in", "worker.py"), ("beta", "in", "server.py"),
                                ("gamma", "out", "worker.py"), ("delta", "out", "server.py")):
        t.start(python, script, 600, name, directory=home, preexec_fn=groups.enter(hierarchy.procs(group)))
    made = t.record("-r", "1khz", "-d", 2, "--cgroup", hierarchy.dir("in"), "--name", "worker")
    claim_exactly(t, made, ("alpha",), "--cgroup and --name")
    outside = made.summary().data["kernel"]["ticks_outside"]
    t.claim(outside >= 20, "the worker outside is counted as outside", outside)


def test_samplers(t):
    """every build of the sampler that this kernel takes selects alike"""
    v2, v1, name = groups.v2(t), groups.controller(t), groups.named(t)
    for hierarchy in (v2, v1, name):
        hierarchy.make("in")
    for label, hierarchy in zip(LABELS, (v2, v1, name)):
        groups.start(t, hosts.on_host(t.pythons), [hierarchy.procs("in")], 600, label)
    groups.start(t, hosts.on_host(t.pythons), [], 600, "delta")
    for sampler in ("resume", "may_goto", "callback", "bounded"):
        for label, hierarchy in zip(LABELS, (v2, v1, name)):
            made = t.panopy_record("-r", "1khz", "-d", 1, "--cgroup", hierarchy.dir("in"),
                                   popen={"env": {**os.environ, "PANOPY_SAMPLER": sampler}}).finish()
            # Every kernel takes the one that is bounded.
            if made.status == 5 and "does not take the sampler" in made.errors and sampler != "bounded":
                t.note(f"not run, this kernel does not take it: {sampler}")
                break
            found = groups.counts(made, *LABELS)
            t.claim(made.status == 0 and set(found) == {label}, f"{sampler}, {hierarchy.name}: {label}", found,
                    made.explain())


