# SPDX-License-Identifier: Apache-2.0
"""Containers of real runtimes, each with its own Python and pid namespace, busy with different functions at once."""
import hashlib
import json
import os
import signal
import subprocess
import time

from lib import boxes, folded, groups
from lib.hosts import TARGETS, on_host
from lib.source import Source, patterns, starts_like, stack_matches

BOXED = Source("boxed.py")
# What docs/containers.md asks for.
CAPABILITIES = ("CAP_BPF", "CAP_PERFMON", "CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH", "CAP_CHECKPOINT_RESTORE")
POD = "2f0e5f0c-1234-4b1c-9d1e-%012x"


class Expected:
    """What panopy must say of one target."""

    def __init__(self, target, function, label, container=None, pod=None):
        self.target, self.function, self.label = target, function, label
        self.container, self.pod = container, pod


def oci(t, python, function, tool):
    if not boxes.runtime(tool):
        t.note(f"skipped: {tool} is not here")
        return []
    name = f"panopy-{function}-{os.getpid()}"
    box = boxes.start_oci(t, tool, python, function, name, f"/panopy-e2e/{name}")
    return [Expected(box, function, name, {"id": name, "name": name, "named_by": tool, "runtime": "oci"})]


def in_pod(t, python, function):
    """As containerd's shim runs it: its state folder, its annotations, the kubelet's cgroup."""
    if not boxes.runtime("runc"):
        t.note("skipped: runc is not here, so there is no pod")
        return []
    container, uid = hashlib.sha256(f"{function}{os.getpid()}".encode()).hexdigest(), POD % os.getpid()
    box = boxes.start_oci(t, "runc", python, function, container, f"/kubepods/burstable/pod{uid}/{container}",
                          root="/run/containerd/runc/k8s.io",
                          annotations={"io.kubernetes.cri.container-name": "app",
                                       "io.kubernetes.cri.sandbox-name": "web-0",
                                       "io.kubernetes.cri.sandbox-namespace": "prod",
                                       "io.kubernetes.cri.sandbox-uid": uid})
    return [Expected(box, function, "prod/web-0/app",
                     {"id": container, "name": "app", "named_by": "containerd", "runtime": "kubernetes"},
                     {"uid": uid, "namespace": "prod", "name": "web-0"})]


def unnamed(t, python, function):
    if not boxes.runtime("runc"):
        t.note("skipped: runc is not here, so there is no unnamed container")
        return []
    container = hashlib.sha256(f"unnamed{os.getpid()}".encode()).hexdigest()
    box = boxes.start_oci(t, "runc", python, function, container, f"/docker/{container}")
    return [Expected(box, function, container[:12],
                     {"id": container, "name": None, "named_by": None, "runtime": "docker"})]


def nspawn(t, python, function):
    if not boxes.runtime("systemd-nspawn"):
        t.note("skipped: systemd-nspawn is not here")
        return []
    name = f"e2e-{os.getpid()}"
    # Its /tmp, where targets lie in roots, is a new one.
    command = ["systemd-nspawn", "-q", "--register=no", "--keep-unit", "--read-only", "--link-journal=no",
               "--pipe", f"--bind-ro={TARGETS}:/mnt", "-M", name, "-D", python.root]
    box = boxes.start_in_group(t, f"/machine.slice/machine-{name.replace('-', chr(92) + 'x2d')}.scope",
                               command, python, function, folder="/mnt")
    return [Expected(box, function, name,
                     {"id": name, "name": name, "named_by": "cgroup", "runtime": "systemd-nspawn"})]


def lxc(t, python, function):
    """The groups of LXC around unshare, which makes the same namespaces."""
    name = f"e2e-{os.getpid()}.x"
    box = boxes.start_in_group(t, f"/lxc.payload.{name}/init.scope",
                               ["unshare", "-p", "-f", "-C", "-u", "-i", "--mount-proc", "-R", python.root],
                               python, function)
    return [Expected(box, function, name, {"id": name, "name": name, "named_by": "cgroup", "runtime": "lxc"})]


def bubblewrap(t, python, function):
    """Namespaces without a container's group: it is the host's."""
    if not boxes.runtime("bwrap"):
        t.note("skipped: bwrap is not here")
        return []
    box = boxes.start_in_group(t, "/panopy-e2e-plain", ["bwrap", "--die-with-parent", "--ro-bind", python.root, "/",
                                                        "--proc", "/proc", "--dev", "/dev", "--unshare-pid"],
                               python, function)
    return [Expected(box, function, "host")]


def start_all(t):
    rooted = [python for python in t.pythons if python.root]
    other = boxes.second_release(t.pythons)
    if not rooted or not other or not boxes.mounted_hierarchies():
        t.skip("needs the roots of scripts/fetch-roots and mounted cgroups")
    first, last = rooted[0], rooted[-1]
    t.at_end(other.unstage)
    if first.root == last.root == other.root:
        t.skip("needs root file systems of two Debian releases (scripts/fetch-roots)")
    t.note(f"releases: {', '.join(sorted({boxes.release(p) for p in (first, last, other)}))}")
    wanted = [*oci(t, other, "alder", "runc"), *oci(t, last, "birch", "crun"), *in_pod(t, first, "cedar"),
              *unnamed(t, last, "hazel"), *nspawn(t, other, "elder"), *bubblewrap(t, first, "maple")]
    t.require(any(e.container and e.container["runtime"] == "oci" for e in wanted), "at least one OCI runtime runs")
    return wanted


def listing(t):
    text = subprocess.run([t.panopy, "ps", "--json"], stdout=subprocess.PIPE, check=True).stdout
    return {process["pid"]: process for process in json.loads(text)["processes"]}


def same_place(t, what, process, expected):
    """What ps and the summary say of where it runs."""
    pid = expected.target.pid
    if not t.claim(process is not None, f"{what}: {expected.label} (pid {pid}) is there"):
        return
    got = process["container"]
    shown = {key: got[key] for key in expected.container} if got and expected.container else got
    t.claim(shown == expected.container, f"{what}: {expected.label}: its container", got, expected.container)
    t.claim(process["pod"] == expected.pod, f"{what}: {expected.label}: its pod", process["pod"], expected.pod)
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        ns_pid = int(next(line for line in file if line.startswith("NSpid:")).split()[-1])
    t.claim(process["namespace_pid"] == ns_pid and ns_pid != pid, f"{what}: and its pid inside, {ns_pid}", process)
    with open(f"/proc/{pid}/cgroup", encoding="utf-8") as file:
        groups = {line.rstrip("\n").split(":", 2)[2] for line in file}
    t.claim(folded.unescape(process["cgroup"]) in groups, f"{what}: and its cgroup {process['cgroup']}", groups)


def wrong_stacks(lines, label, function):
    """Those that are not the known stack of that function below that root."""
    want = patterns(BOXED, "<module>@top", "main@main", f"{function}@{function}", "pace:burn")
    between = patterns(BOXED, "<module>@top", "main@main", "pace:running")
    wrong = []
    for line in lines:
        root, _, rest = line.partition(";")
        stack = folded.parse_line(rest, "none")
        known = stack_matches(stack, want) or starts_like(stack, want) or stack_matches(stack, between)
        if root != label or not known or stack.status != "exact":
            wrong.append(line)
    return wrong


def count(lines):
    return sum(int(line.rpartition(" ")[2]) for line in lines)


def read_parts(directory):
    """{file name without suffix: its lines}"""
    parts = {}
    for name in sorted(os.listdir(directory)):
        with open(os.path.join(directory, name), encoding="utf-8") as file:
            parts[name.removesuffix(".folded")] = file.read().splitlines()
    return parts


def test_each_has_its_own(t):
    """who is where, with exact stacks and each only its own"""
    wanted = start_all(t)
    t.start(on_host(t.pythons), "boxed.py", 600, "maple")
    processes = listing(t)
    for expected in wanted:
        same_place(t, "ps", processes.get(expected.target.pid), expected)
    table = subprocess.run([t.panopy, "ps"], stdout=subprocess.PIPE, check=True, text=True).stdout
    t.claim("CONTAINER" in table.split("\n")[0] and all(e.label in table for e in wanted if e.container),
            "and the table has a column of them", table)
    parts_dir = os.path.join(t.directory, "parts", "new")
    os.mkdir(os.path.dirname(parts_dir))
    recording = t.record("-r", "1khz", "-d", 4, "--split", parts_dir, per="container")
    summary = recording.summary()
    parts = read_parts(parts_dir)
    with open(recording.output, encoding="utf-8") as file:
        whole = file.read().splitlines()
    t.claim(sorted(line for lines in parts.values() for line in lines) == sorted(whole),
            "the files together are the whole profile", sorted(parts))
    t.claim(summary.data["split_files"] == len(parts) and summary.data["split"] == parts_dir, "and counted",
            summary.data["split_files"])
    t.claim(not summary.lost_samples(), "nothing is lost", summary.data["lost"])
    for expected in wanted:
        pid = expected.target.pid
        process = summary.process(pid)
        same_place(t, "summary", process, expected)
        if not expected.container:
            continue
        lines = parts.get(expected.label.replace("/", "_"), [])
        wrong = wrong_stacks(lines, expected.label, expected.function)
        t.claim(count(lines) > 100 and count(wrong) <= 0.005 * count(lines),
                f"{expected.label}: {count(lines)} samples, of {expected.function} alone", wrong[:5])
        t.claim(process and process["samples"] == count(lines), "as many as the summary says", process and process["samples"])
    others = {e.function for e in wanted if e.container}
    host = [line for line in parts.get("host", []) if any(f";{name} (" in line for name in others)]
    t.claim("host" in parts and not host, "the host has none of theirs", host[:3])
    versions = {summary.process(e.target.pid)["version"].rsplit(".", 1)[0] for e in wanted}
    t.claim(len(versions) >= 2, f"they run different Pythons: {', '.join(sorted(versions))}")


def test_groups_of_others(t):
    """LXC's groups, --per cgroup and --per user"""
    rooted = [python for python in t.pythons if python.root]
    if not rooted or not boxes.mounted_hierarchies():
        t.skip("needs a root of scripts/fetch-roots and mounted cgroups")
    expected = lxc(t, rooted[-1], "alder")[0]
    same_place(t, "ps", listing(t).get(expected.target.pid), expected)
    group = listing(t)[expected.target.pid]["cgroup"]
    by_cgroup = t.record("-r", "1khz", "-d", 1.5, "-p", expected.target.pid, per="cgroup", folder="cgroup").text()
    wrong = wrong_stacks(by_cgroup.splitlines(), group, "alder")
    t.claim(count(by_cgroup.splitlines()) > 100 and not wrong, f"--per cgroup: all below {group}", wrong[:3])
    by_user = t.record("-r", "1khz", "-d", 1.5, "-p", expected.target.pid, per="user", folder="user").text()
    wrong = wrong_stacks(by_user.splitlines(), "root", "alder")
    t.claim(count(by_user.splitlines()) > 100 and not wrong, "--per user: all below root", wrong[:3])


def test_user_after_fork(t):
    """a process that becomes another user without exec, as daemons do"""
    python = on_host(t.pythons)
    code = "import os, sys; os.setuid(65534); print('ready', flush=True)\nx = 0\nwhile True: x += 1"
    process = subprocess.Popen([python.command, "-c", code], stdout=subprocess.PIPE)
    t.at_end(lambda: (process.kill(), process.wait(), process.stdout.close()))
    process.stdout.readline()
    recording = t.record("-r", "1khz", "-d", 1, "-p", process.pid, per="user")
    roots = {line.split(";")[0] for line in recording.text().splitlines()}
    user = recording.summary().process(process.pid)["user"]
    t.claim(roots == {user} and user != "root", "it is that user's", roots, user)


def test_unreaped(t):
    """children that end at once and stay zombies, whose cgroup version 1 no longer tells, are their parent's container's"""
    hierarchy = groups.controller(t)
    hierarchy.top = ""
    container = hashlib.sha256(f"unreaped{os.getpid()}".encode()).hexdigest()
    if not os.path.isdir(hierarchy.dir("docker")):
        hierarchy.make("docker")
    hierarchy.make(f"docker/{container}")
    target = t.start(on_host(t.pythons), "unreaped.py", 40, stdin=subprocess.PIPE,
                     preexec_fn=groups.enter(hierarchy.procs(f"docker/{container}")))
    recording = t.panopy_record("-r", "1khz", "-p", target.pid, per="container")
    time.sleep(1.5)
    # It comes to look at each when it is over.
    os.kill(recording.process.pid, signal.SIGSTOP)
    groups.go(target)
    target.read_until("done")
    os.kill(recording.process.pid, signal.SIGCONT)
    recording.interrupt().finish()
    t.require(recording.status == 0, "the recording succeeds", recording.explain())
    roots = {}
    for line in recording.text().splitlines():
        root = line.split(";")[0]
        roots[root] = roots.get(root, 0) + int(line.rpartition(" ")[2])
    t.claim(set(roots) == {container[:12]} and sum(roots.values()) >= 500, "all of their samples", roots)
    processes = recording.summary().data["processes"]
    t.claim(len(processes) >= 41 and all((p["container"] or {}).get("id") == container for p in processes),
            "and each in the summary", processes[-1])


def test_split_on_a_full_disk(t):
    """--split onto a disk that is full: status 1, and what was there before stays whole"""
    folder = os.path.join(t.directory, "full")
    os.mkdir(folder)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", folder], check=True)
    t.at_end(lambda: subprocess.run(["umount", folder], check=False))
    python = on_host(t.pythons)
    target = t.start(python, "boxed.py", 600, "alder")
    first = t.record("-r", "1khz", "-d", 1, "-p", target.pid, "--split", folder, folder="first")
    before = read_parts(folder)
    t.claim(len(before) == 1, "one file for the process", sorted(before))
    with open(os.path.join(folder, "filler"), "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1024))
        except OSError:
            pass
    second = t.panopy_record("-r", "1khz", "-d", 1, "-p", target.pid, "--split", folder, folder="second").finish()
    os.unlink(os.path.join(folder, "filler"))
    t.claim(second.status == 1 and "No space left" in second.errors, "status 1 and the reason", second.explain())
    t.claim(read_parts(folder) == before, "the file of the first run is whole, and no other there", os.listdir(folder))
    with open(second.output, encoding="utf-8") as file:
        t.claim(file.read().startswith("python"), "the --output beside it is written all the same")
    t.claim(first.summary().data["split_files"] == 1, "the first summary counts one file")


def test_split_through_sudo(t):
    """--split as root for SUDO_UID: folder and files are that user's"""
    folder = os.path.join(t.directory, "mine")
    target = t.start(on_host(t.pythons), "boxed.py", 600, "alder")
    argv = [t.panopy, "record", "-d", "1", "-p", str(target.pid), "--split", folder, "-q"]
    status = subprocess.run(argv, env={**os.environ, "SUDO_UID": "4711", "SUDO_GID": "4712"}, cwd=t.directory,
                            check=False).returncode
    made = [folder, *(os.path.join(folder, name) for name in os.listdir(folder))]
    owners = {(os.stat(path).st_uid, os.stat(path).st_gid) for path in made}
    t.claim(status == 0 and len(made) == 2 and owners == {(4711, 4712)}, "folder and file", status, made, owners)
    t.claim(not [n for n in os.listdir(t.directory) if n.startswith("panopy-")], "and nothing else is written",
            os.listdir(t.directory))


def test_from_inside(t):
    """panopy in a container that shares the host's pids, with the documented capabilities and no more"""
    rooted = [python for python in t.pythons if python.root]
    if not boxes.runtime("runc") or not rooted or not boxes.mounted_hierarchies():
        t.skip("needs runc, a root of scripts/fetch-roots and mounted cgroups")
    wanted = [*oci(t, rooted[-1], "alder", "runc"), *in_pod(t, rooted[0], "birch")]
    host = t.start(on_host(t.pythons), "boxed.py", 600, "maple")
    for name, own_namespace in (("hostns", False), ("ownns", True)):
        out = t.folder("out-" + name)
        inside = boxes.Inside(t, name, CAPABILITIES, [out], own_namespace)
        listed = subprocess.run(inside.command([t.panopy, "ps", "--json"]), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, check=False)
        t.require(listed.returncode == 0, f"{name}: ps runs in it", listed.stderr[-400:])
        processes = {process["pid"]: process for process in json.loads(listed.stdout)["processes"]}
        argv = [t.panopy, "record", "-r", "1khz", "-d", "2", "--per", "container", "--split", out + "/parts",
                "--summary", out + "/summary.json"]
        recorded = subprocess.run(inside.command(argv), stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        t.require(recorded.returncode == 0, f"{name}: so does record", recorded.stderr[-800:])
        parts = read_parts(out + "/parts")
        for expected in wanted:
            process = processes.get(expected.target.pid)
            got = process and process["container"]
            shown = {key: got[key] for key in expected.container} if got else got
            # A group of a name that only its state explains is not known by its path from another namespace.
            known = not own_namespace or expected.pod
            t.claim(process and (shown == expected.container if known else not got), f"{name}: ps: {expected.label}"
                    f"{'' if known else ' is not known'}", process)
            if not known:
                continue
            lines = parts.get(expected.label.replace("/", "_"), [])
            wrong = wrong_stacks(lines, expected.label, expected.function)
            t.claim(count(lines) > 100 and count(wrong) <= 0.005 * count(lines),
                    f"{name}: {expected.label}: {count(lines)} samples, of {expected.function} alone", wrong[:3])
        mine = [line for line in parts.get("host", []) if ";maple (" in line]
        t.claim(count(mine) > 100 and processes[host.pid]["container"] is None, f"{name}: the host's are the host's",
                sorted(parts))


def test_podman(t):
    """Podman's: its name, a rename, and panopy in one with the documented flags"""
    rooted = [python for python in t.pythons if python.root]
    if not boxes.runtime("podman") or not boxes.runtime("runc") or not rooted or not boxes.mounted_hierarchies():
        t.skip("needs podman, runc, a root of scripts/fetch-roots and mounted cgroups")
    podman, name = boxes.Podman(t), f"panopy-alder-{os.getpid()}"
    refusal = podman.refusal()
    if refusal:
        t.skip(f"podman runs no container here: {refusal}")
    box = podman.start(rooted[-1], "alder", name)
    # Read through the root of pid 1, which a sandbox may keep from everyone.
    label = name if os.access("/proc/1/root", os.X_OK) else box.identity[:12]
    expected = Expected(box, "alder", name, {"id": box.identity, "name": name, "named_by": "podman",
                                             "runtime": "podman"})
    same_place(t, "ps", listing(t).get(box.pid), expected)
    out = t.folder("out-podman")
    argv = podman.run(f"{name}-inside", "--pid=host", "--cgroupns=host", "--read-only", "--cap-drop=ALL",
                      *(f"--cap-add={capability}" for capability in CAPABILITIES), "--security-opt=no-new-privileges",
                      "--security-opt=apparmor=unconfined", "--security-opt=seccomp=unconfined",
                      "-v", f"{out}:/srv", "-v", "/usr:/usr:ro", "-v", f"{os.path.dirname(t.panopy)}:/mnt:ro")
    recorded = subprocess.run([*argv, "/mnt/" + os.path.basename(t.panopy), "record", "-r", "1khz", "-d", "2",
                               "--per", "container", "--split", "/srv/parts"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False)
    t.require(recorded.returncode == 0, "panopy runs in one", recorded.stderr[-800:])
    parts = read_parts(out + "/parts")
    lines = parts.get(label, [])
    wrong = wrong_stacks(lines, label, "alder")
    t.claim(count(lines) > 100 and count(wrong) <= 0.005 * count(lines), f"{count(lines)} samples, of alder alone",
            sorted(parts), wrong[:3])
    podman.call("rename", name, name + "-renamed")
    expected.container["name"] = name + "-renamed"
    same_place(t, "renamed", listing(t).get(box.pid), expected)
    stacks = t.record("-r", "1khz", "-d", 1, "--container", name + "-ren", per="container").text().splitlines()
    t.claim(count(stacks) > 50 and not wrong_stacks(stacks, name + "-renamed", "alder"), "--container: it alone",
            stacks[:3])
