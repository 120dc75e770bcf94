#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Captures a memory image of a stopped process for the replay tests (format: README.md, "Memory images").

  capture.py PID IMAGE [--range START-END]... [--writable MAX] [--path TEXT]...

  --range START-END   these addresses (hexadecimal, END not included)
  --writable MAX      every writable private mapping of at most MAX bytes (suffixes k, m), stacks included
  --path TEXT         every readable mapping whose path contains TEXT

Ranges may overlap; unreadable pages are left out. Stop the process first (SIGSTOP): an image of a running
one is torn.
"""
import argparse
import os
import re
import struct

MAGIC, VERSION, PAGE = b"PANOPYMI", 1, 4096


def parse_size(text):
    factor = {"k": 1 << 10, "m": 1 << 20}.get(text[-1].lower(), 1)
    return int(text[:-1] if factor > 1 else text) * factor


def parse_range(text):
    start, end = (int(part, 16) for part in text.split("-"))
    if start >= end:
        raise argparse.ArgumentTypeError(f"{text}: empty")
    return start, end


def wanted_ranges(pid, options):
    ranges = list(options.range)
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            start, end, perms, path = re.match(r"(\w+)-(\w+) (\S+) \S+ \S+ \d+ *(.*)", line).groups()
            start, end = int(start, 16), int(end, 16)
            small = end - start <= options.writable
            if (perms.startswith("rw") and perms.endswith("p") and small
                    or perms.startswith("r") and any(text in path for text in options.path)):
                ranges.append((start, end))
    return merge(ranges)


def merge(ranges):
    merged = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def read_range(mem, start, end):
    """[(address, bytes)] of what can be read, page by page."""
    pieces = []
    at = start
    while at < end:
        part = min(end, (at // PAGE + 1) * PAGE) - at
        try:
            data = os.pread(mem, part, at)
        except OSError:
            data = b""
        if len(data) == part:
            if pieces and pieces[-1][0] + len(pieces[-1][1]) == at:
                pieces[-1][1].extend(data)
            else:
                pieces.append((at, bytearray(data)))
        at += part
    return pieces


def write_image(path, pieces):
    offset = 16 + 24 * len(pieces)
    with open(path, "wb") as file:
        file.write(MAGIC + struct.pack("<II", VERSION, len(pieces)))
        for address, data in pieces:
            file.write(struct.pack("<QQQ", address, len(data), offset))
            offset += len(data)
        for _, data in pieces:
            file.write(data)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pid", type=int)
    parser.add_argument("image")
    parser.add_argument("--range", type=parse_range, action="append", default=[])
    parser.add_argument("--writable", type=parse_size, default=0)
    parser.add_argument("--path", action="append", default=[])
    options = parser.parse_args()
    mem = os.open(f"/proc/{options.pid}/mem", os.O_RDONLY)
    pieces = []
    for start, end in wanted_ranges(options.pid, options):
        pieces += read_range(mem, start, end)
    os.close(mem)
    write_image(options.image, pieces)
    print(f"{options.image}: {len(pieces)} segments, {sum(len(data) for _, data in pieces)} bytes")


if __name__ == "__main__":
    main()
