# SPDX-License-Identifier: Apache-2.0
"""Cgroups that a test makes, in hierarchies that it mounts, and processes in them."""
import os
import subprocess
import time

from .folded import names


class Hierarchy:
    """A mounted hierarchy and the groups made in it; all of it goes at the test's end."""

    def __init__(self, t, name, options):
        self.t, self.name = t, name
        self.mount = t.folder("mount-" + name)
        kind = "cgroup2" if name == "v2" else "cgroup"
        command = ["mount", "-t", kind, *(["-o", options] if options else []), "none", self.mount]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            t.skip(f"{' '.join(command)}: {done.stderr.strip()}")
        t.at_end(lambda: subprocess.run(["umount", self.mount], check=False))
        self.top = f"/panopy-test-{os.getpid()}"

    def make(self, *groups):
        """Groups below this test's own one, parents first; their paths from the hierarchy's root."""
        if self.top and not os.path.isdir(self.mount + self.top):
            os.mkdir(self.mount + self.top)
            self.t.at_end(lambda: self.remove(""))
        for group in groups:
            os.mkdir(self.dir(group))
            self.t.at_end(lambda group=group: self.remove(group))
        return [self.path(group) for group in groups]

    def path(self, group):
        return self.top + ("/" + group if group else "")

    def dir(self, group):
        return self.mount + self.path(group)

    def procs(self, group):
        return os.path.join(self.dir(group), "cgroup.procs")

    def remove(self, group):
        """Processes that were just killed may be in it for a moment."""
        for _ in range(100):
            try:
                os.rmdir(self.dir(group))
                return
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(0.05)

    def cpu_ns(self, group):
        if self.name != "v2":
            with open(os.path.join(self.dir(group), "cpuacct.usage")) as file:
                return int(file.read())
        with open(os.path.join(self.dir(group), "cpu.stat")) as file:
            return next(int(line.split()[1]) for line in file if line.startswith("usage_usec")) * 1000


def v2(t):
    return Hierarchy(t, "v2", "")


def controller(t, name="cpuacct"):
    """Version 1, by a controller; where one has been mounted with others, all of them are named."""
    with open("/proc/self/cgroup") as file:
        lists = [line.split(":")[1] for line in file]
    options = next((names for names in lists if name in names.split(",")), name)
    return Hierarchy(t, name, options)


def named(t):
    return Hierarchy(t, "named", f"none,name=panopy-test-{os.getpid()}")


def enter(*files):
    """For Popen: the process is in these groups from its first instruction."""
    def enter_now():
        for path in files:
            with open(path, "w") as file:
                file.write(str(os.getpid()))
    return enter_now


def start(t, python, procs, *args, **keywords):
    """groups.py with its input open, in the groups of these cgroup.procs files."""
    return t.start(python, "groups.py", *args, stdin=subprocess.PIPE, preexec_fn=enter(*procs), **keywords)


def go(*targets):
    for target in targets:
        target.process.stdin.write(b"\n")
        target.process.stdin.flush()


def counts(recording, *labels):
    """label -> samples with a function of that name, those without any left out."""
    found = {}
    for stack in recording.stacks():
        for label in set(labels) & set(names(stack)):
            found[label] = found.get(label, 0) + stack.count
    return found
