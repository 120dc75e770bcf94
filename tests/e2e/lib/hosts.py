# SPDX-License-Identifier: Apache-2.0
"""The Pythons of this machine, as scripts/find-pythons lists them, and targets started under them."""
import functools
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
TARGETS = os.path.join(TOP, "tests", "targets")
SUPPORTED = ((3, 6), (3, 7), (3, 8), (3, 9), (3, 10), (3, 11), (3, 12), (3, 13), (3, 14), (3, 15))


# root -> {folder: its copy inside the root}; interpreters of one root share them.
STAGED = {}
STAGING = threading.Lock()


class Target:
    """A started target: its pid is the interpreter's, and its output so far is in `lines`."""

    def __init__(self, python, name, process):
        self.python, self.name, self.process = python, name, process
        self.pid = process.pid
        self.lines = []
        self._rest = b""

    def read_until(self, word, timeout=30.0):
        end = time.monotonic() + timeout
        while not any(line.split(" ")[0] == word for line in self.lines):
            left = end - time.monotonic()
            ready = left > 0 and select.select([self.process.stdout], [], [], left)[0]
            data = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            if not data:
                raise RuntimeError(f"{self}: no {word!r} in {timeout} s; it said {self.lines}")
            *lines, self._rest = (self._rest + data).split(b"\n")
            self.lines += [line.decode("utf-8", "replace") for line in lines]
        return self

    def value(self, word):
        return next(line.split(" ", 1)[1] for line in self.lines if line.startswith(word + " "))

    def finish(self, timeout=60.0):
        out, _ = self.process.communicate(timeout=timeout)
        self.lines += [line.decode("utf-8", "replace") for line in (self._rest + out).split(b"\n") if line]
        self._rest = b""
        return self

    def kill(self):
        """Its children too: left running, they would hold our stderr open and be in later recordings."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()

    def __repr__(self):
        return f"{self.name} under {self.python} (pid {self.pid})"


class Python:
    def __init__(self, version, root, command):
        self.version = tuple(int(part) for part in re.findall(r"\d+", version)[:3])
        # "", "t" free-threaded, "d" debug, "td", "m" musl, "j" one that runs its JIT
        self.build = version.lstrip("0123456789.")
        self.text, self.root, self.command = version, root, command
        self._staged = STAGED.setdefault(root, {})

    def __repr__(self):
        return f"{self.text} ({self.root or 'host'}: {self.command})"

    @property
    def minor(self):
        return self.version[:2]

    def ask(self, expression):
        """What the interpreter says of itself, as text."""
        enter = ["chroot", self.root] if self.root else []
        code = f"import os, sys, sysconfig; print({expression})"
        return subprocess.run([*enter, self.command, "-c", code], stdout=subprocess.PIPE, text=True,
                              check=True).stdout.strip()

    def libpython(self):
        """The shared library of it, as its own root has it; None where there is none."""
        path = self.ask("os.path.join(sysconfig.get_config_var('LIBDIR') or '', "
                        "sysconfig.get_config_var('INSTSONAME') or sysconfig.get_config_var('LDLIBRARY') or '')")
        return path if ".so" in path and os.path.isfile((self.root or "") + path) else None

    def stage(self, directory=TARGETS):
        """The folder as the interpreter sees it: the folder itself, or a copy inside the root."""
        if not self.root:
            return directory
        with STAGING:  # the truth harness starts programs from several threads
            if directory not in self._staged:
                inside = os.path.join("/tmp", f"panopy-{os.getpid()}-{len(self._staged)}")
                shutil.copytree(directory, self.root + inside, ignore=shutil.ignore_patterns("__pycache__"))
                self._staged[directory] = inside
            return self._staged[directory]

    def argv(self, script, *args, directory=TARGETS, options=("-B",)):
        path = os.path.join(self.stage(directory), script)
        enter = ["chroot", self.root] if self.root else []
        if "j" in self.build:
            enter += ["env", "PYTHON_JIT=1"]
        return [*enter, self.command, *options, path, *map(str, args)]

    def start(self, script, *args, directory=TARGETS, options=("-B",), **keywords):
        keywords.setdefault("stdout", subprocess.PIPE)
        keywords.setdefault("env", {**os.environ, "PYTHONHASHSEED": "0"})
        # A test run that is killed takes its targets with it.
        tie = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
        argv = self.argv(script, *args, directory=directory, options=options)
        # In any case a group of its own, to be killed whole.
        if not keywords.setdefault("start_new_session", True):
            keywords["process_group"] = 0
        process = subprocess.Popen([*tie, *argv], **keywords)
        return Target(self, script, process)

    def unstage(self):
        for inside in self._staged.values():
            shutil.rmtree(self.root + inside, ignore_errors=True)
        self._staged.clear()


@functools.lru_cache(maxsize=None)
def _listing(path):
    """(what scripts/find-pythons prints, the lines that say what is not here). `path`: a file that holds the former."""
    if path:
        with open(path, encoding="utf-8") as file:
            return file.read(), ()
    asked = subprocess.run([os.path.join(TOP, "scripts", "find-pythons")], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, check=True, text=True)
    sys.stderr.write(asked.stderr)
    return asked.stdout, tuple(line for line in asked.stderr.split("\n") if line.startswith("not run: "))


def not_run(listing=None):
    """Versions and builds that are not here: "not run: VERSION (why)"."""
    return _listing(listing)[1]


@functools.lru_cache(maxsize=None)
def _has_jit(root, command):
    """Built with a JIT that PYTHON_JIT=1 turns on, as Debian's are from 3.14 on. (3.13 does not tell; the listing does.)"""
    enter = ["chroot", root] if root else []
    asked = [*enter, "env", "PYTHON_JIT=1", command, "-S", "-c", "import sys; sys.exit(not sys._jit.is_enabled())"]
    return subprocess.run(asked, stderr=subprocess.DEVNULL).returncode == 0


def find_pythons(listing=None, builds=("",)):
    """Every supported Python of these builds, oldest first. `listing`: a file in the form that scripts/find-pythons
    prints; which of them have a JIT is asked here."""
    found = []
    for line in _listing(listing)[0].split("\n"):
        fields = line.split("\t")
        if line.startswith("#") or len(fields) < 3:
            continue
        version, root, command = fields[:3]
        python = Python(version, "" if root == "-" else root, command)
        if python.minor in SUPPORTED and python.build in builds:
            found.append(python)
        if "j" in builds and python.minor >= (3, 14) and not python.build and _has_jit(python.root, python.command):
            found.append(Python(version + "j", python.root, python.command))
    return sorted(found, key=lambda python: (python.version, python.root))


def one_per_minor(pythons):
    """The newest patch release of each minor version: for tests that need every version, but once."""
    return list({python.minor: python for python in sorted(pythons, key=lambda p: p.version)}.values())


def on_host(pythons):
    """Newest interpreter that runs without a chroot (tests that need the host's users and paths)."""
    return max((python for python in pythons if not python.root), key=lambda p: p.version)
