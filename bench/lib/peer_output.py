# SPDX-License-Identifier: Apache-2.0
"""Reads what each profiler writes into one form: stacks of (name, file, line), root first, with their samples.

Names are reduced to what all tools give: the last part of a qualified name, the last part of a path."""
import functools
import re
from typing import NamedTuple

from lib import folded


class Output(NamedTuple):
    stacks: dict      # ((name, file, line), ...), root first -> samples
    flagged: int      # samples that the tool itself marks as not whole, not proven or not named
    lost: int         # samples that the tool itself says it lost, could not read or came too late for
    empty: int = 0    # samples of Python threads that run no Python code, said so by the tool

    @property
    def samples(self):
        return sum(self.stacks.values()) + self.empty


@functools.lru_cache(maxsize=1 << 16)
def plain(name, file, line):
    return name.rsplit(".", 1)[-1], file.rsplit("/", 1)[-1], line or 0


def _is_entry(name, file, line):
    """The interpreter's own entry frames (around __init__) come out of some tools as a function in a file of its
    name, without a line; they are left out, for they are no fault of the stack."""
    return name == file and line <= 0


def _add(stacks, frames, count):
    stacks[frames] = stacks.get(frames, 0) + count


def panopy(text, summary):
    """The collapsed file and the JSON of --summary."""
    stacks, flagged, empty = {}, 0, 0
    for stack in folded.parse(text):
        if stack.status == "no python frame":
            empty += stack.count
        elif stack.flagged or stack.status != "exact":
            flagged += stack.count
        else:
            _add(stacks, tuple(plain(*frame) for frame in stack.frames), stack.count)
    lost = summary["lost"]
    dropped = sum(count for name, count in lost.items() if name.startswith("samples_") or name == "records_invalid")
    return Output(stacks, flagged, dropped, empty)


SPY_FRAME = re.compile(r"^(?P<name>.*) \((?P<file>.*?)(?::(?P<line>\d+))?\)$")


def py_spy(text, messages):
    """`--format raw --full-filenames`; the last line on standard error has the errors."""
    stacks = {}
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        frames = []
        for part in stack.split(";") if stack else ():
            match = SPY_FRAME.match(part)
            if part.startswith("process ") and not frames:
                continue
            if not match:
                raise ValueError(f"py-spy: no frame: {part!r}")
            number = int(match["line"] or 0)
            if not _is_entry(match["name"], match["file"], number):
                frames.append(plain(match["name"], match["file"], number))
        _add(stacks, tuple(frames), int(count))
    errors = re.search(r"Errors: (\d+)", messages)
    return Output(stacks, 0, int(errors[1]) if errors else 0)


def tachyon(text, messages):
    """`--collapsed`: `tid:N;file:name:line;...`. Each process of --subprocesses prints its own figures."""
    stacks = {}
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        frames = []
        for part in stack.split(";")[1:]:
            fields = part.rsplit(":", 1)
            if len(fields) == 1:
                continue  # <GC> and the like
            file, _, name = fields[0].partition(":")
            if not _is_entry(name, file, int(fields[1])):
                frames.append(plain(name, file, int(fields[1])))
        if frames:
            _add(stacks, tuple(frames), int(count))
    lost = 0.0
    for taken, rate in re.findall(r"Captured ([\d,]+) samples?.*?Error rate: ([\d.,]+)", messages, re.DOTALL):
        lost += int(taken.replace(",", "")) * float(rate.replace(",", "")) / 100
    lost += sum(int(count) for count in re.findall(r"missed (\d+) samples", messages))
    return Output(stacks, 0, round(lost))


class _Mojo:
    """A reader of austin's binary format: events of one byte and their fields."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self):
        byte = self.data[self.at]
        self.at += 1
        value, shift = byte & 0x3F, 6
        negative = byte & 0x40
        while byte & 0x80:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
        return -value if negative else value

    def text(self):
        end = self.data.index(b"\0", self.at)
        value = self.data[self.at:end].decode("utf-8", "replace")
        self.at = end + 1
        return value


def austin(data, messages):
    """MOJO: strings and frames are defined once and then referred to; a stack ends with its metric."""
    if data[:3] != b"MOJ":
        raise ValueError("austin: no MOJO file")
    reader = _Mojo(data)
    reader.at = 3
    version = reader.number()
    strings, frames, stacks = {1: "<unknown>"}, {}, {}
    pid, stack, broken, invalid = 0, None, False, 0

    def end_of_stack():
        nonlocal stack, invalid
        if stack and broken:
            invalid += 1
        elif stack:
            _add(stacks, tuple(stack), 1)
        stack = None

    while reader.at < len(data):
        event = data[reader.at]
        reader.at += 1
        if event == 1:
            reader.text(), reader.text()
        elif event == 2:
            end_of_stack()
            pid = reader.number()
            if version >= 3:
                reader.number()  # interpreter
            reader.text()
            stack, broken = [], False
        elif event == 3:
            key, file, name, line = (reader.number() for _ in range(4))
            if version >= 2:
                for _ in range(3):
                    reader.number()
            frames[pid, key] = plain(strings.get((pid, name), "?"), strings.get((pid, file), "?"), line)
        elif event == 4:
            broken = True
        elif event == 5:
            stack.append(frames[pid, reader.number()])
        elif event == 6:
            reader.text()
        elif event in (9, 10):
            reader.number()
        elif event == 11:
            key = reader.number()
            strings[pid, key] = reader.text()
        elif event == 12:
            reader.number()
        elif event not in (0, 7, 8):
            raise ValueError(f"austin: event {event} at {reader.at}")
    end_of_stack()
    errors = re.search(r"Error rate.*?(\d+)/\d+", re.sub(r"\x1b\[[\d;]*m", "", messages), re.DOTALL)
    return Output(stacks, invalid, int(errors[1]) if errors else 0)
