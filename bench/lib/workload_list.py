# SPDX-License-Identifier: Apache-2.0
"""The workloads, what they may look like (learned by the truth harness's oracle) and how their time is split."""
import glob
import json
import os
import re
import signal
import subprocess
import sys
import time

import judge
import peer_output
from lib import hosts

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WORKLOADS = os.path.join(HERE, "workloads")
TRUTH = os.path.join(hosts.TOP, "tests", "truth")
sys.path.insert(0, WORKLOADS)

import board  # noqa: E402

LEARN_CPU, LEARN_WALL = 2.0, 40.0  # seconds of the workload's own CPU, and when to give up on a busy host

# The judge knows them by their whole names.
FINALISERS = {peer_output.plain(name, file, 0)[:2]: name for name, file in judge.FINALISERS}


class Workload:
    def __init__(self, name, what, sections=(), threads=False, processes=0, kinds=()):
        self.name, self.what, self.sections = name, what, sections
        self.threads, self.processes, self.kinds = threads, processes, kinds or (name,)
        self._section = {section: number for number, section in enumerate(sections)}
        self._judged = {}

    def section(self, frames):
        """Number of the section that this stack belongs to, or None."""
        return next((self._section[name] for name, _, _ in frames if name in self._section), None)

    def fault(self, truth, frames):
        """None, or (fault, what it is about) for a stack that this program cannot have."""
        key = id(truth), frames
        if key not in self._judged:
            whole = [(FINALISERS.get(frame[:2], frame[0]), *frame[1:]) for frame in frames]
            self._judged[key] = truth.judge(whole) if frames else (judge.ROOT_MISSING, "no frames")
        return self._judged[key]


def all_workloads():
    return [
        Workload("basic", "basic mixed work", ("numbers", "texts", "tables", "objects", "descent")),
        Workload("static_deep", "static stack, 924 deep"),
        Workload("threads", "40 threads coming and going", ("crunch", "spell", "gather"), threads=True),
        Workload("ladder", "recursion, a name per level", tuple(f"family{i}" for i in range(4))),
        Workload("busy", "busy loop, 29 deep"),
        Workload("deep_leaf", "904 deep, its leaf moves", ("near", "middle", "far")),
        Workload("generators", "generators and coroutines", ("red", "blue", "walk", "wait")),
        Workload("real", "real program (sqlglot)", ("tokens", "trees", "text")),
        Workload("mixed", "100 mixed processes", processes=100,
                 kinds=("basic", "ladder", "generators", "real", "deep_leaf", "mixed")),
    ]


class Stage:
    """The files of all workloads where an interpreter (in its root) sees them, and a folder for outputs."""

    def __init__(self, python, site):
        self.python = python
        self.workloads = python.stage(WORKLOADS)
        self.truth = python.stage(TRUTH)
        self.site = python.stage(site)
        self.inside = os.path.join("/tmp", f"panopy-bench-{os.getpid()}-{python.text}")
        self.outside = (python.root or "") + self.inside
        os.makedirs(self.outside, exist_ok=True)

    def path(self, name):
        return os.path.join(self.outside, name)

    def command(self, program, *args):
        return [*(["chroot", self.python.root] if self.python.root else []), program, *map(str, args)]

    def environment(self):
        return {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPYCACHEPREFIX": os.path.join(self.inside, "pycache")}


class Running:
    """A started workload, its board and its processes."""

    def __init__(self, stage, workload, learn_to=None):
        self.stage, self.workload = stage, workload
        path = stage.path(f"board-{workload.name}")
        board.create(path)
        self.cells = board.cells(path)
        row = 0 if learn_to else workload.processes
        learn = ["0", stage.truth, learn_to] if learn_to else []
        command = stage.command(stage.python.command, os.path.join(stage.workloads, "drive.py"), workload.name,
                                os.path.join(stage.inside, f"board-{workload.name}"), row, stage.site, *learn)
        # Learning is not timed, and leaves the CPUs to whoever measures.
        polite = ["nice", "-n", "19"] if learn_to else []
        self.process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *polite, *command], stdout=subprocess.PIPE,
                                        env=stage.environment(), start_new_session=True)
        self.target = hosts.Target(stage.python, workload.name, self.process).read_until("ready")
        self.pid = self.target.pid
        self.pids = [self.pid]
        if workload.processes and not learn_to:
            self.target.read_until("all", timeout=300)
            with open(f"/proc/{self.pid}/task/{self.pid}/children", encoding="ascii") as file:
                self.pids += [int(pid) for pid in file.read().split()]

    def cpu(self):
        """CPU seconds so far of all its processes, ended threads included."""
        return sum(time.clock_gettime((~pid << 3) | 2) for pid in self.pids)

    def snapshot(self):
        return time.monotonic(), self.cpu(), board.totals(self.cells)

    def stop(self):
        self.cells[board.STOP] = 1
        self.process.wait(60)

    def pause(self):
        os.killpg(self.pid, signal.SIGSTOP)

    def go_on(self):
        os.killpg(self.pid, signal.SIGCONT)

    def kill(self):
        if self.process.returncode is None:
            self.target.kill()


def _plain_names(learned):
    for code in learned["codes"]:
        code[0], code[1], _ = peer_output.plain(code[0], code[1], 0)
    return learned


def learn(stage, workload):
    """All call paths of the workload under this interpreter."""
    truth = judge.Truth()
    for kind in workload.kinds:
        base = os.path.join(stage.outside, f"learned-{kind}")
        if not glob.glob(glob.escape(base) + ".*.json"):
            running = Running(stage, Workload(kind, ""), learn_to=os.path.join(stage.inside, f"learned-{kind}"))
            # Threads come one by one while the oracle watches: the first of them must have ended and been replaced.
            wanted = LEARN_CPU * (4 if kind == "threads" else 1)
            end = time.monotonic() + LEARN_WALL
            while running.cpu() < wanted and time.monotonic() < end:
                time.sleep(0.1)
            running.stop()
        for path in glob.glob(glob.escape(base) + ".*.json"):
            with open(path, encoding="utf-8", errors="surrogatepass") as file:
                truth.add(_plain_names(json.load(file)))
    if truth.node_cnt == 0:
        raise RuntimeError(f"nothing was learned of {workload.name}")
    return truth


def names_of(text, known):
    chosen = re.split(r"[,\s]+", text.strip()) if text else list(known)
    for name in chosen:
        if name not in known:
            raise SystemExit(f"unknown: {name} (there are: {', '.join(known)})")
    return chosen
