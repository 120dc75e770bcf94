# SPDX-License-Identifier: Apache-2.0
"""Reads the collapsed output: `root;frame;frame COUNT` lines, `qualname (file:line)` per frame, a marker
frame in brackets right below the process for a stack that is not exact."""
import functools
import re
from typing import NamedTuple, Optional

FRAME = re.compile(r"^(?P<name>.*?) \((?P<file>.+?)(?::(?P<line>-?\d+))?\)$", re.DOTALL)
PROCESS = re.compile(r"^(?P<comm>.*) \((?P<pid>\d+)\)$")
THREAD = re.compile(r"^thread (?P<name>.*) \((?P<tid>\d+)\)$")
ESCAPE = re.compile(r"\\x([0-9a-fA-F]{2})")
# Whole-stack markers; `[unnamed]` and `[folded]` stand for single frames and are kept among them.
STATUS_MARKER = re.compile(r"^\[(truncated|late|no python frame)(?:: (.*))?\]$")


class Frame(NamedTuple):
    name: str
    file: str
    line: Optional[int]


class Stack(NamedTuple):
    comm: str
    pid: int
    thread: Optional[tuple]  # (name, tid) with --per thread
    status: str  # "exact", "truncated", "late" or "no python frame"
    reason: str
    frames: tuple  # of Frame, root first
    count: int
    raw: str

    @property
    def flagged(self):
        """Not whole, not proven, or not named: what --strict counts."""
        return self.status in ("truncated", "late") or any(f.name in ("[unnamed]", "[folded]") for f in self.frames)


def unescape(text):
    """`\\x3b` style escapes back to the bytes they stand for; invalid UTF-8 as surrogates."""
    raw = text.encode("utf-8", "surrogateescape")
    out = re.sub(rb"\\x([0-9a-fA-F]{2})", lambda m: bytes([int(m.group(1), 16)]), raw)
    return out.decode("utf-8", "surrogateescape")


@functools.lru_cache(maxsize=1 << 18)
def parse_frame(text):
    if text in ("[unnamed]", "[folded]"):
        return Frame(text, "", None)
    match = FRAME.match(text)
    if not match:
        raise ValueError(f"not `name (file:line)`: {text!r}")
    line = match.group("line")
    return Frame(unescape(match.group("name")), unescape(match.group("file")), int(line) if line else None)


def parse_line(line, per="process"):
    text, _, count = line.rpartition(" ")
    if not text or not count.isdigit() or int(count) < 1:
        raise ValueError(f"no sample count at the end: {line!r}")
    parts = text.split(";")
    comm, pid, thread, status, reason = "", 0, None, "exact", ""
    if per != "none":
        match = PROCESS.match(parts.pop(0))
        if not match:
            raise ValueError(f"no `comm (pid)` at the root: {line!r}")
        comm, pid = unescape(match.group("comm")), int(match.group("pid"))
    markers = []
    while parts and (STATUS_MARKER.match(parts[0]) or (per == "thread" and THREAD.match(parts[0]))):
        part = parts.pop(0)
        match = STATUS_MARKER.match(part)
        if match:
            markers.append(match)
        else:
            match = THREAD.match(part)
            thread = (unescape(match.group("name")), int(match.group("tid")))
    if markers:
        status, reason = markers[0].group(1), markers[0].group(2) or ""
    frames = tuple(parse_frame(part) for part in parts)
    return Stack(comm, pid, thread, status, reason, frames, int(count), line)


def parse(text, per="process"):
    return [parse_line(line, per) for line in text.split("\n") if line]


def load(path, per="process"):
    with open(path, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        return parse(file.read(), per)


def names(stack):
    return tuple(frame.name for frame in stack.frames)
