# SPDX-License-Identifier: Apache-2.0
"""The profilers: how each is started on a process, and how what it wrote is read.

Where a tool can show running threads only, it is told to on workloads with many threads or processes, and only
there: with one busy thread the plain mode is the cheaper one and shows the same."""
import json
import os
import shutil
import subprocess

import peer_output
from fetch_peers import Missing

NEWEST = (3, 15)
HERE = os.path.dirname(os.path.abspath(__file__))


def _text(path):
    with open(path, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        return file.read()


class Tool:
    """`newest`: the newest CPython that it can read; `ranked`: whether it counts as a whole tool."""

    newest, ranked, hz, missing = NEWEST, True, 1000, None

    def __init__(self, name, path=None):
        self.name, self.path = name, path
        if isinstance(path, Missing):
            self.missing = str(path)

    def refusal(self, _workload):
        """Why it cannot do this workload, or None."""
        return None

    def prepare(self, stage):
        """Puts into the stage what it needs there."""

    def outputs(self, stage):
        return [stage.path("out")]

    def succeeded(self, status, _messages):
        return status == 0

    def startup(self, _stage):
        """Seconds until it samples, if it says so."""
        return None

    def kernel_seconds(self, _stage):
        """CPU that it spent in the kernel outside its own processes."""
        return 0.0


class Panopy(Tool):
    def __init__(self, name, path, hz=1000, newest=NEWEST):
        super().__init__(name, path)
        self.hz, self.newest = hz, newest

    def argv(self, stage, running, seconds):
        return [self.path, "record", "-r", self.hz, "-d", seconds, "-p", running.pid, "--full-paths",
                "-o", stage.path("out"), "--summary", stage.path("summary.json")]

    def summary(self, stage):
        return json.loads(_text(stage.path("summary.json")))

    def read(self, stage, _messages):
        return peer_output.panopy(_text(stage.path("out")), self.summary(stage))

    def startup(self, stage):
        return self.summary(stage)["startup_ns"] / 1e9

    def kernel_seconds(self, stage):
        return self.summary(stage)["own"]["kernel_ns"] / 1e9


class Tachyon(Tool):
    def __init__(self, name, blocking=False):
        super().__init__(name)
        self.blocking = ["--blocking"] if blocking else []

    def argv(self, stage, running, seconds):
        many = []
        if running.workload.threads:
            many = ["-a", "--mode", "gil"]
        if running.workload.processes:
            many = ["-a", "--mode", "gil", "--subprocesses"]
        return stage.command(stage.python.command, "-m", "profiling.sampling", "attach", *self.blocking, *many, "-r",
                             self.hz, "-d", seconds, "--no-gc", "--collapsed", "-o", os.path.join(stage.inside, "out"),
                             running.pid)

    def outputs(self, stage):
        """Its own and those of its children, which are named by pid."""
        folder = stage.outside
        return [os.path.join(folder, name) for name in os.listdir(folder) if name.startswith("out")]

    def read(self, stage, messages):
        return peer_output.tachyon("".join(map(_text, self.outputs(stage))), messages)


class RawUnwinder(Tachyon):
    ranked = False

    def refusal(self, workload):
        return "it reads one process" if workload.processes else None

    def prepare(self, stage):
        shutil.copy(os.path.join(HERE, "raw_unwinder.py"), stage.outside)

    def argv(self, stage, running, seconds):
        return stage.command(stage.python.command, os.path.join(stage.inside, "raw_unwinder.py"), running.pid, self.hz,
                             seconds, os.path.join(stage.inside, "out"), "gil" if running.workload.threads else "main")


class Austin(Tool):
    newest = (3, 14)

    def prepare(self, stage):
        shutil.copy(self.path, stage.path("austin"))

    def argv(self, stage, running, seconds):
        many = ["-c"] if running.workload.threads else []
        many += ["-c", "-C"] if running.workload.processes else []
        # Built against glibc 2.38, so it runs inside the root; whole seconds only.
        return stage.command(os.path.join(stage.inside, "austin"), "-i", f"{round(1e6 / self.hz)}us", "-x",
                             round(seconds), *many, "-o", os.path.join(stage.inside, "out"), "-p", running.pid)

    def succeeded(self, status, messages):
        """It ends with 254 when its time is up on a process that it did not start."""
        return status == 0 or (status == 254 and "Error rate" in messages)

    def read(self, stage, messages):
        with open(stage.path("out"), "rb") as file:
            return peer_output.austin(file.read(), messages)


class PySpy(Tool):
    def __init__(self, name, path, nonblocking=False):
        super().__init__(name, path)
        self.nonblocking = ["--nonblocking"] if nonblocking else []

    def argv(self, stage, running, seconds):
        many = ["--subprocesses"] if running.workload.processes else []
        return [self.path, "record", *self.nonblocking, *many, "-r", self.hz, "-d", round(seconds), "-f", "raw",
                "--full-filenames", "-o", stage.path("out"), "-p", running.pid]

    def read(self, stage, messages):
        return peer_output.py_spy(_text(stage.path("out")), messages)


class Otel(Tool):
    """Sends its profile to a collector and writes no file: only what it costs can be measured here."""

    ranked = False

    def argv(self, _stage, _running, seconds):
        # Nobody listens there. It has no duration of its own, and some 3 s of start-up.
        return ["timeout", "-s", "INT", seconds + 3, self.path, "-collection-agent", "127.0.0.1:1", "-disable-tls",
                "-samples-per-second", self.hz, "-tracers", "python"]

    def outputs(self, _stage):
        return []

    def read(self, _stage, _messages):
        return peer_output.Output({}, 0, 0)


def all_tools(panopy, fetched, otel):
    tools = [
        Panopy("panopy", panopy),
        Panopy("panopy 10 kHz", panopy, hz=10000),
        Tachyon("tachyon"),
        Tachyon("tachyon --blocking", blocking=True),
        RawUnwinder("RemoteUnwinder"),
        PySpy("py-spy", fetched["py-spy"]),
        PySpy("py-spy --nonblocking", fetched["py-spy"], nonblocking=True),
        Austin("austin", fetched["austin"]),
        Panopy("panopy on 3.14", panopy, newest=(3, 14)),
        Otel("opentelemetry", otel or Missing("no binary named (--otel PATH)")),
    ]
    return {tool.name.replace(" ", ""): tool for tool in tools}


def versions(tools):
    """What each program calls itself, for the record."""
    said = {}
    for tool in tools.values():
        if tool.path and not tool.missing and isinstance(tool, (Panopy, PySpy)):
            shown = subprocess.run([tool.path, "--version"], stdout=subprocess.PIPE, text=True).stdout.split("\n")
            said[os.path.basename(tool.path)] = shown[0]
    return said
