# SPDX-License-Identifier: Apache-2.0
"""Runs panopy and reads what it wrote."""
import json
import os
import signal
import subprocess
import time

from . import folded

SHOWN_LINES = 16  # of standard error, at both ends


class Summary:
    """The JSON of --summary, by the keys that docs/summary.md names."""

    def __init__(self, data):
        self.data = data

    def process(self, pid):
        return next((p for p in self.data["processes"] if p["pid"] == pid), None)

    @property
    def samples(self):
        return self.data["samples"]

    def lost_samples(self):
        """Samples that fired and did not get into the profile, by reason; what must be empty."""
        return {name: count for name, count in self.data["lost"].items()
                if count and (name.startswith("samples_") or name == "records_invalid")}


class Recording:
    def __init__(self, argv, directory, per="process", output=None, popen=None):
        self.directory, self.per = directory, per
        self.output = output or os.path.join(directory, "out.folded")
        self.summary_path = os.path.join(directory, "summary.json")
        self.argv = argv
        self.started = time.monotonic()
        self._stacks = None
        # A folder's files are this recording's alone: a second one must not read the first one's.
        for path in (self.output, self.summary_path):
            if os.path.isfile(path) and not output:
                os.unlink(path)
        self.stderr = open(os.path.join(directory, "stderr.txt"), "w+b")
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": self.stderr, **(popen or {})}
        self.process = subprocess.Popen(argv, **options)
        self.stdout = b""

    def interrupt(self, number=signal.SIGINT):
        self.process.send_signal(number)
        return self

    def finish(self, timeout=90, left_running=False):
        """Waits for panopy's end; with `left_running` not for that of its output, which a command holds open."""
        if left_running:
            self.process.wait(timeout)
        else:
            self.stdout, _ = self.process.communicate(timeout=timeout)
        self.seconds = time.monotonic() - self.started
        return self

    @property
    def status(self):
        return self.process.returncode

    @property
    def errors(self):
        self.stderr.flush()
        self.stderr.seek(0)
        return self.stderr.read().decode("utf-8", "replace")

    def text(self):
        with open(self.output, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            return file.read()

    def stacks(self, *pids):
        if self._stacks is None:
            self._stacks = {}
            for stack in folded.load(self.output, self.per):
                self._stacks.setdefault(stack.pid, []).append(stack)
        return [stack for pid in pids or self._stacks for stack in self._stacks.get(pid, ())]

    def summary(self):
        with open(self.summary_path, encoding="utf-8") as file:
            return Summary(json.load(file))

    def explain(self):
        lines = self.errors.split("\n")
        if len(lines) > 2 * SHOWN_LINES:
            lines[SHOWN_LINES:-SHOWN_LINES] = ["..."]
        return [f"command: {' '.join(self.argv)}", f"exit status: {self.status}",
                *(f"stderr: {line}" for line in lines)]

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()
        self.stderr.close()


def find_panopy(top):
    """$PANOPY, or the newest build/*/panopy."""
    if os.environ.get("PANOPY"):
        return os.path.abspath(os.environ["PANOPY"])
    found = []
    build = os.path.join(top, "build")
    for parent, directories, files in os.walk(build):
        if parent.count(os.sep) - build.count(os.sep) > 2:
            directories.clear()
        found += [os.path.join(parent, name) for name in files if name == "panopy"]
    found = [path for path in found if os.access(path, os.X_OK)]
    return max(found, key=os.path.getmtime) if found else None
