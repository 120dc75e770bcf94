# SPDX-License-Identifier: Apache-2.0
"""What a test function gets: the Pythons, panopy, a folder of its own, and claims that are printed as they
are checked. A failed claim shows what it saw and the test goes on; require() stops the test."""
import os
import shutil
import signal
import subprocess
import tempfile
import time

from . import recording, stall
from .hosts import TARGETS


class Skip(Exception):
    pass


class Stop(Exception):
    pass


class Topic:
    def __init__(self, name, panopy, pythons, out=print):
        self.name, self.panopy, self.pythons, self._print = name, panopy, pythons, out
        self.directory = tempfile.mkdtemp(prefix="panopy-e2e-")
        self.claims = self.failures = 0
        self._open = []

    def claim(self, ok, text, *detail):
        self.claims += 1
        self._print(f"  {'ok  ' if ok else 'FAIL'} {text}")
        if not ok:
            self.failures += 1
            for line in detail:
                for part in (line if isinstance(line, (list, tuple)) else [line]):
                    self._print(f"       {str(part)[:600]}")
        return bool(ok)

    def require(self, ok, text, *detail):
        if not self.claim(ok, text, *detail):
            raise Stop

    def skip(self, why):
        raise Skip(why)

    def note(self, text):
        self._print(f"       {text}")

    def table(self, cells):
        """A row of a table that the whole run's report shows."""
        self._print("  | " + " | ".join(f"{cell:12}" for cell in cells))

    def compile(self, name):
        """A C program of tests/targets, in a folder of its own; its path."""
        compiler = shutil.which("cc") or shutil.which("gcc")
        if not compiler:
            self.skip("needs a C compiler")
        program = os.path.join(tempfile.mkdtemp(dir=self.directory), name)
        subprocess.run([compiler, "-o", program, os.path.join(TARGETS, f"{name}.c"), "-ldl"], check=True)
        return program

    def libpythons(self, pythons):
        """(python, its shared library) of those that have one; the others are listed as not run."""
        found = [(python, python.libpython()) for python in pythons]
        for python, library in found:
            if not library:
                self.note(f"not run: {python} (it has no shared libpython)")
        found = [(python, library) for python, library in found if library]
        return found or self.skip("needs a Python with a shared libpython")

    def start(self, python, script, *args, wait=True, **keywords):
        target = python.start(script, *args, **keywords)
        self._open.append(target.kill)
        return target.read_until("ready") if wait else target

    def start_all(self, jobs):
        """Targets for (python, script, *args) each. A ready one waits for the others, stopped: else the last of
        many would warm up on a crumb of the CPU."""
        started = []
        for python, script, *args in jobs:
            started.append(self.start(python, script, *args))
            os.kill(started[-1].pid, signal.SIGSTOP)
        for target in started:
            os.kill(target.pid, signal.SIGCONT)
        return started

    def folder(self, name):
        path = os.path.join(self.directory, name)
        os.makedirs(path, exist_ok=True)
        return path

    def panopy_record(self, *args, folder="record", per=None, output=None, prefix=(), popen=None):
        """Starts `panopy record` with an output and a summary file; finish() waits for it."""
        directory = self.folder(folder)
        path = output or os.path.join(directory, "out.folded")
        split = args.index("--") if "--" in args else len(args)
        mine = ["--per", per] if per else []
        argv = [*prefix, self.panopy, "record", "-o", path, "--summary", os.path.join(directory, "summary.json"),
                *mine, *map(str, args[:split]), *map(str, args[split:])]
        made = recording.Recording(argv, directory, per or "process", output, popen)
        self._open.append(made.close)
        return made

    def record(self, *args, **keywords):
        """A whole recording; it must succeed."""
        made = self.panopy_record(*args, **keywords).finish()
        self.require(made.status == 0, f"panopy record {' '.join(map(str, args))} succeeds", made.explain())
        return made

    def at_end(self, function):
        self._open.append(function)

    def close(self):
        for function in reversed(self._open):
            function()
        shutil.rmtree(self.directory, ignore_errors=True)


def run_test(function, panopy, pythons, out=print):
    """(claims, failures, why skipped or None) of one test function. One that failed while the host stood still
    is run once more, and says so."""
    watch = stall.StallWatch()
    result = run_once(function, panopy, pythons, out)
    stalled = watch.verdict()
    if not stalled or not result[1]:
        return result
    out(f"  AGAIN: {stalled}")
    return run_once(function, panopy, pythons, out)


def run_once(function, panopy, pythons, out):
    topic = Topic(function.__name__, panopy, pythons, out)
    started = time.monotonic()
    out(f"{function.__module__}.{function.__name__}: {(function.__doc__ or '').strip()}")
    skipped = None
    try:
        function(topic)
    except Skip as skip:
        skipped = str(skip)
        out(f"  skip {skipped}")
    except Stop:
        pass
    except Exception as error:  # a broken test is a failed one, and the others still run
        import traceback
        topic.claim(False, f"the test itself runs: {error!r}", traceback.format_exc().split("\n"))
    finally:
        topic.close()
    out(f"  ({time.monotonic() - started:.1f} s)")
    return topic.claims, topic.failures, skipped
