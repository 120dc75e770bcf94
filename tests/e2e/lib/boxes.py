# SPDX-License-Identifier: Apache-2.0
"""Targets in containers, made with the distribution's own tools: OCI runtimes, systemd-nspawn, bubblewrap, unshare.
Root file systems are those of the Pythons; they are shared, so containers only read them."""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import time

from .hosts import TARGETS, TOP, Target, Python

HIERARCHIES = "/sys/fs/cgroup"


def second_release(pythons):
    """A Python of another Debian release than most of the roots', or None."""
    cache = subprocess.run([os.path.join(TOP, "scripts", "cache-dir")], stdout=subprocess.PIPE, text=True,
                           check=True).stdout.strip()
    for name, version in (("bookworm", "3.11"), ("apps", "3.13")):
        root = os.path.join(cache, "roots", name)
        if os.path.exists(os.path.join(root, ".complete")):
            known = [p for p in pythons if p.root == root]
            return known[0] if known else Python(version + ".0", root, f"/usr/bin/python{version}")
    return None


def release(python):
    with open(os.path.join(python.root, "etc/os-release"), encoding="utf-8") as file:
        return dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)["PRETTY_NAME"].strip('"')


def mounted_hierarchies():
    """{mount point: whether it is v2} of every cgroup hierarchy that is mounted."""
    found = {}
    with open("/proc/self/mounts", encoding="utf-8") as file:
        for line in file:
            _, where, kind = line.split()[:3]
            if kind in ("cgroup", "cgroup2") and where.startswith(HIERARCHIES):
                found[where] = kind == "cgroup2"
    return found


class Group:
    """A cgroup of the same path in every hierarchy; gone at the end of the test."""

    def __init__(self, t, path):
        self.path = path
        t.at_end(lambda: remove_tree(path))
        for where in mounted_hierarchies():
            if not where.endswith("/cpuset"):  # takes no process before it was given CPUs
                os.makedirs(os.path.join(where, path.strip("/")), exist_ok=True)

    def add(self, pid):
        for where in mounted_hierarchies():
            procs = os.path.join(where, self.path.strip("/"), "cgroup.procs")
            if os.path.exists(procs):
                with open(procs, "w", encoding="ascii") as file:
                    file.write(str(pid))


def try_rmdir(folder):
    """A group is busy for a moment after its last process."""
    for _ in range(50):
        try:
            os.rmdir(folder)
            return True
        except FileNotFoundError:
            return True
        except OSError:
            time.sleep(0.02)
    return False


def remove_tree(path):
    """That group and those in it, in every hierarchy, and what this leaves empty above it."""
    for where in mounted_hierarchies():
        parts = path.strip("/").split("/")
        below = [folder for folder, _, _ in os.walk(os.path.join(where, *parts), topdown=False)]
        for folder in below:
            try_rmdir(folder)
        for depth in range(len(parts) - 1, 0, -1):
            folder = os.path.join(where, *parts[:depth])
            if not os.path.isdir(folder) or next(os.scandir(folder), None) is None:
                continue
            if any(entry.is_dir() for entry in os.scandir(folder)):
                break
            try_rmdir(folder)


def runtime(name):
    """The runtime's path, or None."""
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")


def bundle(directory, root, argv, group, annotations=None):
    """Writes config.json of the OCI runtime specification; returns what it says."""
    path = os.path.join(directory, "config.json")
    if os.path.exists(path):
        os.unlink(path)
    subprocess.run([runtime("runc") or runtime("crun"), "spec"], cwd=directory, check=True)
    with open(path, encoding="utf-8") as file:
        spec = json.load(file)
    spec["process"].update(terminal=False, args=list(map(str, argv)), cwd="/")
    spec["process"]["env"].append("PYTHONHASHSEED=0")
    spec["process"].pop("rlimits", None)
    spec["root"] = {"path": root, "readonly": True}
    spec["annotations"] = annotations or {}
    spec["linux"]["cgroupsPath"] = group
    write_spec(directory, spec)
    return spec


def write_spec(directory, spec):
    with open(os.path.join(directory, "config.json"), "w", encoding="utf-8") as file:
        json.dump(spec, file)


def enter_private_v1():
    """crun refuses hosts that mount v2 beside v1: it is shown the v1 hierarchies alone."""
    kinds = set(mounted_hierarchies().values())
    v2 = [where for where, is_v2 in mounted_hierarchies().items() if is_v2]
    if kinds != {True, False}:
        return []
    return ["unshare", "-m", "sh", "-c", "umount " + " ".join(v2) + ' && exec "$@"', "sh"]


class Box(Target):
    """A target whose pid is that of the container's init, on the host."""

    def __init__(self, python, process, pid, stop):
        super().__init__(python, "boxed.py", process)
        self.pid, self._stop = pid, stop

    def kill(self):
        self._stop()
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()


def popen(argv):
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            start_new_session=True)


def inside_argv(python, *words, folder=None):
    return [python.command, "-B", os.path.join(folder or python.stage(), "boxed.py"), *words]


def start_oci(t, name, python, function, container_id, group, root=None, annotations=None):
    """In a container of runc or crun."""
    directory = t.folder("bundle-" + container_id)
    bundle(directory, python.root, inside_argv(python, "600", function), group, annotations)
    command = [runtime(name), *(["--root", root] if root else [])]
    enter = enter_private_v1() if name == "crun" else []
    pid_file = os.path.join(directory, "pid")

    def stop():
        subprocess.run([*command, "kill", container_id, "KILL"], stderr=subprocess.DEVNULL, check=False)
        time.sleep(0.2)
        subprocess.run([*enter, *command, "delete", "-f", container_id], stderr=subprocess.DEVNULL, check=False)
        remove_tree(group)

    process = popen([*enter, *command, "run", "-b", directory, "--pid-file", pid_file, container_id])
    box = Box(python, process, None, stop)
    t.at_end(box.kill)
    box.read_until("ready")
    with open(pid_file, encoding="ascii") as file:
        box.pid = int(file.read())
    return box


def bare_root(t):
    """A root file system for Podman's --rootfs, which gets its /usr as a mount: it may make files in it."""
    root = t.folder("bare-root")
    for name in ("usr", "proc", "sys", "dev", "etc", "run", "tmp", "var", "mnt", "srv"):
        os.makedirs(os.path.join(root, name), exist_ok=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        if not os.path.lexists(os.path.join(root, name)):
            os.symlink("usr/" + name, os.path.join(root, name))
    return root


class Podman:
    """Containers of Podman without systemd, in its own place, where their names are looked for."""

    # Its own are higher ones than root may set where CAP_SYS_RESOURCE is missing.
    LIMITS = ("--ulimit=nofile=1024:1024", "--ulimit=nproc=4096:4096", "--pids-limit=0")

    def __init__(self, t):
        self.t = t
        self.command = [runtime("podman"), "--runtime", runtime("runc"), "--cgroup-manager=cgroupfs",
                        "--events-backend=none"]
        t.at_end(self.drop_groups)

    def run(self, name, *options):
        """The command of a container of that name; the program follows."""
        self.t.at_end(lambda: self.remove(name))
        return [*self.command, "run", "--rm", "--name", name, "--network=none", "--log-driver=none",
                *self.LIMITS, *options, "--rootfs", bare_root(self.t)]

    def call(self, *argv):
        return subprocess.run([*self.command, *argv], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()

    def remove(self, name):
        subprocess.run([*self.command, "rm", "-f", "-i", "-t", "0", name], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False)

    def refusal(self):
        """Why it runs no container on this host, or ""."""
        argv = [*self.run(f"panopy-probe-{os.getpid()}", "-v", "/usr:/usr:ro"), "/usr/bin/true"]
        done = subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        return done.stderr.strip()[-300:] or f"status {done.returncode}" if done.returncode else ""

    def start(self, python, function, name):
        argv = self.run(name, "-v", f"{python.root}/usr:/usr:ro", "-v", f"{TARGETS}:/mnt:ro")
        process = popen([*argv, *inside_argv(python, "600", function, folder="/mnt")])
        box = Box(python, process, None, lambda: self.remove(box.identity))
        box.identity = name
        self.t.at_end(box.kill)
        box.read_until("ready")
        box.identity, pid = self.call("inspect", "--format", "{{.Id}} {{.State.Pid}}", name).split()
        box.pid = int(pid)
        return box

    @staticmethod
    def drop_groups():
        for where in mounted_hierarchies():
            for name in ("conmon", ""):
                with contextlib.suppress(OSError):
                    os.rmdir(os.path.join(where, "libpod_parent", name))


def kill_all(*pids):
    """The init first: what watches it may die without taking it along."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


class Inside:
    """Runs commands in a container that sees the host's files and shares its pids, with few capabilities."""

    def __init__(self, t, name, capabilities, writable, own_cgroup_namespace=False):
        self.root = t.folder("host-" + name)
        subprocess.run(["mount", "--bind", "/", self.root], check=True)
        t.at_end(lambda: subprocess.run(["umount", "-l", self.root], check=False))
        self.directory, self.name = t.folder("inside-" + name), f"panopy-{name}-{os.getpid()}"
        self.group = f"/panopy-e2e/{self.name}"
        t.at_end(self.end)
        spec = bundle(self.directory, self.root, ["true"], self.group)
        for kind in ("bounding", "effective", "permitted"):
            spec["process"]["capabilities"][kind] = list(capabilities)
        for kind in ("ambient", "inheritable"):
            spec["process"]["capabilities"].pop(kind, None)
        kinds = [n for n in spec["linux"]["namespaces"] if n["type"] not in ("pid", "cgroup")]
        spec["linux"]["namespaces"] = kinds + [{"type": "cgroup"}] * own_cgroup_namespace
        # panopy needs none, and runc cannot mount a hierarchy that appears or goes meanwhile.
        spec["mounts"] = [mount for mount in spec["mounts"] if mount["type"] != "cgroup"]
        for path in writable:
            spec["mounts"].append({"destination": path, "type": "bind", "source": path, "options": ["rbind", "rw"]})
        self.spec = spec

    def command(self, argv):
        self.spec["process"]["args"] = list(map(str, argv))
        write_spec(self.directory, self.spec)
        return [runtime("runc"), "run", "-b", self.directory, self.name]

    def end(self):
        subprocess.run([runtime("runc"), "delete", "-f", self.name], stderr=subprocess.DEVNULL, check=False)
        remove_tree(self.group)


def only_child(pid):
    while True:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            children = file.read().split()
        if len(children) != 1:
            return pid
        pid = int(children[0])


def start_in_group(t, group, command, python, function, folder=None):
    """By another tool, which is put into the group first."""
    made = Group(t, group)
    gate, opened = os.pipe()
    process = subprocess.Popen(["sh", "-c", f'read line <&{gate}; exec "$@"', "sh", *command,
                                *inside_argv(python, "600", function, folder=folder)],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               start_new_session=True, pass_fds=(gate,))
    box = Box(python, process, process.pid, lambda: kill_all(box.pid, process.pid))
    t.at_end(box.kill)
    made.add(process.pid)
    os.write(opened, b"go\n")
    os.close(gate)
    os.close(opened)
    box.read_until("ready")
    box.pid = only_child(process.pid)
    return box
