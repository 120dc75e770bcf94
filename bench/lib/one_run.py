# SPDX-License-Identifier: Apache-2.0
"""One tool on one workload, once: a window without it, the recording, a window without it."""
import ctypes
import os
import signal
import subprocess
import time

MARK = 1.0         # after the launch: every tool samples by then
REST = 0.8         # length of a window without the tool
POLL = 0.05
# Beyond the recording's length, for start-up and writing; some tools start one process of their own for each of many.
PATIENCE, PATIENCE_MANY = 4.0, 25.0
EXAMPLES = 5
LIBC = ctypes.CDLL(None)
KCMP, KCMP_VM = {"x86_64": 312, "aarch64": 272}[os.uname().machine], 1  # include/uapi/linux/kcmp.h


def window(first, last):
    """(units per second, CPU per second, [section nanoseconds]) between two snapshots."""
    seconds = last[0] - first[0]
    cells = [b - a for a, b in zip(first[2], last[2])]
    return cells[0] / seconds, (last[1] - first[1]) / seconds, cells[1:]


def descendants(pid):
    found = [pid]
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                for child in file.read().split():
                    found += descendants(int(child))
    except OSError:
        pass
    return found


def cpu_of(pids):
    total = 0.0
    for pid in pids:
        try:
            total += time.clock_gettime((~pid << 3) | 2)
        except OSError:
            pass
    return total


def share_memory(pid, other):
    """Processes of one address space (clone with CLONE_VM)."""
    return LIBC.syscall(KCMP, pid, other, KCMP_VM, 0, 0) == 0


def peak_of(pids):
    total, counted = 0, []
    for pid in pids:
        if any(share_memory(pid, other) for other in counted):
            continue
        counted.append(pid)
        try:
            with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
                total += next((int(line.split()[1]) for line in file if line.startswith("VmHWM")), 0)
        except OSError:
            pass
    return total * 1024


class Launched:
    """The tool's process, watched until it ends."""

    def __init__(self, argv, stage, timeout):
        self.messages_path = stage.path("messages")
        with open(self.messages_path, "wb") as file:
            self.process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *map(str, argv)],
                                            stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                                            start_new_session=True, env={**os.environ, "NO_COLOR": "1"})
        self.started = time.monotonic()
        self.track = []  # (seconds since the launch, CPU seconds of the tool so far)
        self.end = self.started + timeout
        self.peak, self.status, self.usage, self.timed_out, self.interrupted = 0, None, None, False, False

    def watch_until(self, moment):
        """False once it has ended."""
        while self.status is None:
            pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if pid:
                self.status, self.usage = os.waitstatus_to_exitcode(status), usage
                self.process.returncode = self.status
                self.seconds = time.monotonic() - self.started
                break
            now = time.monotonic()
            if now >= moment:
                return True
            if now > self.end and not self.timed_out:
                self.timed_out = True
                os.killpg(self.process.pid, signal.SIGKILL)
            pids = descendants(self.process.pid)
            self.peak = max(self.peak, peak_of(pids))
            self.track.append((time.monotonic() - self.started, cpu_of(pids)))
            time.sleep(min(POLL, max(0.001, moment - now)))
        return False

    def interrupt(self):
        self.interrupted = True
        os.killpg(self.process.pid, signal.SIGINT)

    def messages(self):
        with open(self.messages_path, encoding="utf-8", errors="replace") as file:
            return file.read()


def judge(running, truth, output):
    """Samples by what they are worth: (good, impossible by fault, [samples by section], examples of faults)."""
    good, faults, examples = 0, {}, []
    sections = [0] * len(running.workload.sections)
    for frames, count in output.stacks.items():
        fault = running.workload.fault(truth, frames)
        if fault is None:
            good += count
        else:
            faults[fault[0]] = faults.get(fault[0], 0) + count
            if len(examples) < EXAMPLES:
                examples.append([fault[0], str(fault[1]), ";".join(f"{n} ({f}:{line})" for n, f, line in frames[-6:])])
        section = running.workload.section(frames)
        if section is not None:
            sections[section] += count
    return good, faults, sections, examples


def one_run(tool, stage, running, truth, seconds):
    """The figures of one run, as they go into the JSON."""
    for path in tool.outputs(stage):
        if os.path.exists(path):
            os.unlink(path)
    tool.prepare(stage)
    patience = PATIENCE_MANY if running.workload.processes else PATIENCE
    snapshots = [running.snapshot()]
    time.sleep(REST)
    snapshots.append(running.snapshot())
    launched = Launched(tool.argv(stage, running, seconds), stage, timeout=seconds + patience + 15)
    marks = []
    for moment in (MARK, seconds - 0.1):
        if launched.watch_until(launched.started + moment):
            marks.append(running.snapshot())
    if launched.watch_until(launched.started + seconds + patience):
        # A tool that counts passes instead of time would go on for minutes where it is too slow.
        launched.interrupt()
        launched.watch_until(float("inf"))
        seconds += patience
    snapshots.append(running.snapshot())
    time.sleep(REST)
    snapshots.append(running.snapshot())
    if launched.timed_out or len(marks) < 2 or not tool.succeeded(launched.status, launched.messages()):
        why = "timed out" if launched.timed_out else f"exit status {launched.status}"
        return {"failed": f"{why}: {' '.join(launched.messages().split())[-300:]}"}
    return figures(tool, stage, running, truth, seconds, launched, snapshots, marks)


def figures(tool, stage, running, truth, seconds, launched, snapshots, marks):
    before, after = window(*snapshots[:2]), window(*snapshots[2:])
    during = window(*marks)
    try:
        output = tool.read(stage, launched.messages())
    except (ValueError, OSError, KeyError) as error:
        return {"failed": f"unreadable output: {error!r}"}
    good, faults, sections, examples = judge(running, truth, output)
    cpu = launched.usage.ru_utime + launched.usage.ru_stime
    kernel = tool.kernel_seconds(stage)
    startup = tool.startup(stage)
    other = launched.seconds - seconds  # start-up, or all that is not recording where the tool does not tell
    start = startup if startup is not None else min(other, MARK)
    since, so_far = next(((t, spent) for t, spent in launched.track if t >= max(start, MARK)), (None, None))
    cost = recording = None
    if good and since is not None:
        share = min(1.0, (start + seconds - since) / seconds)
        cost = (cpu - so_far + kernel * share) / (good * share)
        until, spent = max((entry for entry in launched.track if entry[0] <= start + seconds), default=(since, so_far))
        within = (until - since) / seconds
        recording = (spent - so_far + kernel * within) / (good * within) if within > 0 else None
    return {
        "expected": tool.hz * seconds * during[1], "samples": output.samples, "good": good,
        "impossible": sum(faults.values()), "flagged": output.flagged, "empty": output.empty, "lost": output.lost,
        "cpu_s": cpu, "kernel_s": kernel, "cpu_end_s": cpu - max(launched.track)[1], "cost_s_per_good_sample": cost,
        "cost_recording_s": recording, "cost_with_startup_s": (cpu + kernel) / good if good else None,
        "target_slowdown": 1 - during[0] / ((before[0] + after[0]) / 2) if before[0] + after[0] else None,
        "target_cpu": during[1], "work_per_s": during[0],
        "interrupted": int(launched.interrupted), "peak_bytes": launched.peak,
        "bytes_written": sum(map(os.path.getsize, tool.outputs(stage))), "startup_s": startup,
        "wall_less_recording_s": other, "faults": faults, "examples": examples, "sections": sections,
        "true_sections": during[2][:len(sections)],
    }
