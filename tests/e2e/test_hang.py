# SPDX-License-Identifier: Apache-2.0
"""Targets that would make panopy wait for good: a file system or memory that does not answer."""
import os
import struct
import subprocess
import sys
import tempfile
import time

from lib import hosts
from lib.folded import names

SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", "fuse_server.py")
# Its arguments, and so /proc/PID/cmdline, lie on a page that nobody serves.
CMDLINE_HANGS = r"""
import ctypes, fcntl, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
number = 282 if os.uname().machine == "aarch64" else 323
fd = libc.syscall(number, os.O_CLOEXEC)
if fd < 0:
    print("failed userfaultfd", flush=True)
    sys.exit()
fcntl.ioctl(fd, 0xC018AA3F, struct.pack("QQQ", 0xAA, 0, 0))  # UFFDIO_API
with open("/proc/self/stat", encoding="ascii", errors="replace") as file:
    page = int(file.read().rsplit(")", 1)[1].split()[45]) & ~4095  # arg_start
fcntl.ioctl(fd, 0xC020AA00, struct.pack("QQQQ", page, 4096, 1, 0))  # UFFDIO_REGISTER, missing pages
if libc.madvise(ctypes.c_void_p(page), ctypes.c_size_t(4096), 4):  # MADV_DONTNEED: now it is missing
    print("failed madvise", flush=True)
    sys.exit()
print("ready", flush=True)
while True:
    sum(range(1000))
"""



def costly_elf(symbols, strings):
    """An executable without .gnu.hash that has so many bytes of symbols and of names, all zeros behind its head."""
    names = b"\0.shstrtab\0.dynsym\0.dynstr\0.symtab\0"

    def section(name, kind, offset, size, link):
        return struct.pack("<IIQQQQIIQQ", names.index(name), kind, 2, offset, offset, size, link, 0, 8, 24)
    machine = 183 if os.uname().machine == "aarch64" else 62
    return b"".join((
        struct.pack("<4sBBB9xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 2, machine, 1, 0, 64, 120, 0, 64, 56, 1, 64, 5, 1),
        struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 4096, 4096, 4096), bytes(64),
        section(b".shstrtab", 3, 440, len(names), 0), section(b".dynsym", 11, 65536, symbols, 3),
        section(b".dynstr", 3, 65536, strings, 0), section(b".symtab", 2, 65536, symbols, 3), names))


def start_server(t, binary):
    if not os.path.exists("/dev/fuse"):
        t.skip("there is no /dev/fuse")
    mount = tempfile.mkdtemp(dir=t.directory)
    server = subprocess.Popen([sys.executable, "-B", SERVER, mount, binary], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)

    def stop():
        server.stdin.close()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
    t.at_end(stop)
    said = server.stdout.readline().strip()
    if said != "ready":
        t.skip(f"FUSE cannot be mounted: {said}")
    return server, mount


def start_from(t, python, binary):
    """A busy interpreter whose executable lies on the mount; its pid."""
    home = subprocess.run([python.command, "-c", "import sys; print(sys.base_prefix)"], stdout=subprocess.PIPE,
                          text=True, check=True).stdout.strip()
    process = subprocess.Popen([binary, "-S", "-B", "-c", "print('up', flush=True)\nwhile True: sum(range(1000))"],
                               stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONHOME": home})
    t.at_end(process.kill)
    t.require(process.stdout.readline() == "up\n", "an interpreter on the mount runs")
    return process.pid


def holds_interpreter(python):
    """Whether the executable does, not a libpython beside it."""
    return "libpython" not in subprocess.run(["ldd", os.path.realpath(python.command)], stdout=subprocess.PIPE,
                                             text=True, check=False).stdout


def static_python(t):
    for python in (python for python in t.pythons if not python.root):
        if holds_interpreter(python):
            return python
    return t.skip("needs an interpreter without libpython")


def record_beside(t, bystander, what, duration=3):
    recording = t.panopy_record("-r", "1khz", "-d", duration).finish(timeout=60)
    t.claim(recording.status == 0 and recording.seconds < 12, f"{what}: the recording ends ({recording.seconds:.1f} s)",
            recording.explain())
    stacks = recording.stacks(bystander.pid)
    count = sum(s.count for s in stacks if names(s)[:2] == ("<module>", "main"))
    t.claim(count >= 50 * duration, f"{what}: the other process has its stacks ({count} samples)", recording.explain())
    return recording


def stop_answering(t, server, *requests):
    server.stdin.write(" ".join(requests) + "\n")
    server.stdin.flush()
    t.require(server.stdout.readline() == "hanging\n", f"the server stops answering {' and '.join(requests)}".rstrip())


def test_file(t):
    """an interpreter's file that does not answer, on a FUSE mount whose server takes requests and is silent"""
    python = static_python(t)
    server, mount = start_server(t, os.path.realpath(python.command))
    pids = [start_from(t, python, os.path.join(mount, "python3")) for _ in range(3)]
    stop_answering(t, server)
    bystander = t.start(t.pythons[-1], "shares.py", 600)
    recording = record_beside(t, bystander, "a hanging file")
    found = [recording.summary().process(pid) for pid in pids]
    t.claim(all(p and p.get("refusal") == "file_hangs" for p in found), "it is refused by name", found)
    t.claim(not recording.stacks(*pids), "and has no stacks")
    begin = time.monotonic()
    listing = subprocess.run([t.panopy, "ps"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             check=False, timeout=60)
    t.claim(listing.returncode == 0 and "file_hangs" in listing.stdout and time.monotonic() - begin < 8,
            "ps says so, in time", listing.stdout[-800:], listing.stderr[-400:])


def test_closing(t):
    """a file that can be opened, but not closed, or neither read nor closed: each close asks the server"""
    static = static_python(t)
    # Where the interpreter lies in another file, the read of this one hangs to the end, and it is still open then.
    shared = [python for python in t.pythons if not python.root and not holds_interpreter(python)][-1:]
    cases = [(static, ("flush",), 3), (static, ("read", "flush"), 3)]
    for python, requests, duration in cases + [(python, ("read", "flush"), 1) for python in shared]:
        server, mount = start_server(t, os.path.realpath(python.command))
        start_from(t, python, os.path.join(mount, "python3"))
        stop_answering(t, server, *requests)
        bystander = t.start(t.pythons[-1], "shares.py", 600)
        try:
            record_beside(t, bystander, f"no answer to {' and '.join(requests)}, {duration} s", duration)
        finally:
            # A panopy that waits for the server cannot be killed before.
            server.stdin.close()
            server.wait(10)
            bystander.kill()


def test_cmdline(t):
    """a process whose arguments are memory that does not answer"""
    python = hosts.on_host(t.pythons)
    process = subprocess.Popen([python.command, "-S", "-B", "-c", CMDLINE_HANGS], stdout=subprocess.PIPE, text=True)
    t.at_end(process.kill)
    said = process.stdout.readline().strip()
    if said != "ready":
        t.skip(f"such memory cannot be made: {said}")
    bystander = t.start(t.pythons[-1], "shares.py", 600)
    recording = record_beside(t, bystander, "hanging arguments")
    t.claim(recording.stacks(process.pid), "it has its stacks too", recording.explain())


def test_costly(t):
    """a process that maps file upon file that take long to look through"""
    program = t.compile("mapper")
    folder = tempfile.mkdtemp(dir=t.directory)
    for i in range(300):
        with open(os.path.join(folder, str(i)), "wb") as file:
            file.write(costly_elf(4 << 20, 8 << 20) if i % 2 else costly_elf(32 << 20, 128 << 20))
            file.truncate(160 << 20)
    process = subprocess.Popen([program, folder, "300"])
    t.at_end(process.kill)
    bystander = t.start(t.pythons[-1], "shares.py", 600)
    record_beside(t, bystander, "costly files")
    t.claim(process.poll() is None, "it maps them all the time")
