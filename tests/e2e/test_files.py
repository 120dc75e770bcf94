# SPDX-License-Identifier: Apache-2.0
"""Files of a target that are not what they were: replaced by what must not be opened, deleted, or on overlayfs. Each
costs at most the target's own samples."""
import ctypes
import os
import re
import shutil
import struct
import subprocess

from lib.folded import names
from lib.hosts import on_host
from test_embed import Apps, counts, listing
from test_hostile import whole
from test_privileges import public_copy, NOBODY

SPARSE = 10 << 30
MAIN_WORK = ("main_work",)
IN_OPEN = 0x20
# Without CAP_CHECKPOINT_RESTORE a mapped file is only to be had by its name.
FEW = "+bpf,+perfmon,+sys_ptrace,+dac_read_search"
BY_NAME = ("prlimit", "--memlock=65536:65536", "--", *NOBODY, f"--inh-caps={FEW}", f"--ambient-caps={FEW}")
SPIN = "import time\ndef spin():\n  while True: time.monotonic()\nprint('ready', flush=True)\nspin()\n"
MAP = """
import mmap, os, time
file = os.open(PATH, os.O_RDONLY)
held = mmap.mmap(file, 1 << 20, SHARE, mmap.PROT_READ | mmap.PROT_EXEC)
def spin():
  while True: time.monotonic()
print('ready', flush=True)
spin()
"""


class Opens:
    """Counts how often files are opened, other than by O_PATH."""

    def __init__(self, t, *paths):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self.libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        t.at_end(lambda: os.close(self.fd))
        for path in paths:
            if self.libc.inotify_add_watch(self.fd, path.encode(), IN_OPEN) < 0:
                raise OSError(ctypes.get_errno(), path)

    def count(self):
        try:
            data = os.read(self.fd, 65536)
        except BlockingIOError:
            return 0
        found = 0
        while data:
            _, _, _, size = struct.unpack_from("iIII", data)
            found, data = found + 1, data[16 + size:]
        return found


def swap_fifo(path, _):
    os.mkfifo(path)


def swap_device(path, _):
    os.mknod(path, 0o666 | 0o020000, os.makedev(1, 5))


def swap_sparse(path, _):
    with open(path, "wb") as file:
        file.truncate(SPARSE)


def swap_link(path, secret):
    os.symlink("../" * 20 + secret.lstrip("/"), path)


SWAPS = {"a FIFO": swap_fifo, "a device": swap_device, "10 GiB of nothing": swap_sparse,
         "a link to the host's files": swap_link}


def start_worker(apps, library):
    """The program that is linked to libpython, with a libpython of its own."""
    apps.shell(f"mkdir -p lib && cp {apps.libpython()} lib/{os.path.basename(library)}")
    return apps.start(apps.inside + "/worker", 600, env={"LD_LIBRARY_PATH": apps.inside + "/lib"})


def check_cheap(t, recording, what):
    own = recording.summary().data["own"]
    spent = (own["user_ns"] + own["system_ns"]) / 1e9
    t.claim(spent < 2 and own["peak_rss_bytes"] < 512 << 20, f"{what}: panopy itself took {spent:.2f} s of CPU time and "
            f"{own['peak_rss_bytes'] >> 20} MiB", own)


def judge_swapped(t, process, bystander, opens, what, by_name):
    """A recording while the library is not what it was."""
    mode = "by name" if by_name else "as root"
    folder = t.folder(f"{what}-{mode}".replace(" ", "-").replace("'", ""))
    os.chmod(folder, 0o777)
    opens.count()
    recording = t.panopy_record("-r", "1khz", "-d", 2, folder=folder, prefix=BY_NAME if by_name else ())
    recording.finish()
    opened = opens.count()
    t.claim(recording.status == 0 and recording.seconds < 15, f"{what}, {mode}: status 0", recording.explain())
    if recording.status:
        return
    t.claim(opened == 0, f"{what}, {mode}: nothing of it was opened", opened)
    whole(t, recording, bystander, 1, f"{what}, {mode}")
    check_cheap(t, recording, f"{what}, {mode}")
    found = counts(recording.stacks(process.pid))
    main = sum(count for stack, count in found.items() if stack[-1:] == MAIN_WORK)
    if by_name:
        t.claim(all(stack[-1:] in (MAIN_WORK, ("from_thread",), ()) for stack in found), f"{what}, {mode}: no stack is "
                f"invented ({main} of its own)", found)
    else:
        t.claim(main > 20, f"{what}, {mode}: the mapped library is still read, {main} samples", found)


def test_replaced_library(t):
    """libpython is replaced by a FIFO, a device, 10 GiB of nothing, a link out of the container"""
    apps = Apps(t)
    apps.shell("gcc -o worker embedded.c $(python3.13-config --embed --cflags --ldflags) -lpthread")
    library = os.path.join(apps.outside, "lib", os.path.basename(apps.libpython()))
    bystander = t.start(on_host(t.pythons), "shares.py", 600)
    secret = os.path.join(t.directory, "secret")
    public_copy(t)
    for what, swap in SWAPS.items():
        process = start_worker(apps, library)
        with open(secret, "w", encoding="ascii") as file:
            file.write("not for panopy")
        os.rename(library, library + ".kept")
        swap(library, secret)
        opens = Opens(t, secret, *([] if os.path.islink(library) else [library]))
        for by_name in (False, True):
            judge_swapped(t, process, bystander, opens, what, by_name)
        process.kill()
        process.wait()
        os.unlink(library)


def test_replaced_executable(t):
    """the same of the executable, which /proc/PID/root leads to by its path"""
    apps = Apps(t)
    binary = os.path.join(apps.outside, "interpreter")
    bystander = t.start(on_host(t.pythons), "shares.py", 600)
    secret = os.path.join(t.directory, "secret")
    with open(secret, "w", encoding="ascii") as file:
        file.write("not for panopy")
    for what, swap in SWAPS.items():
        apps.shell("cp /usr/bin/python3.13 interpreter")
        process = apps.start(apps.inside + "/interpreter", "-c", SPIN)
        os.unlink(binary)
        swap(binary, secret)
        opens = Opens(t, secret, *([] if os.path.islink(binary) else [binary]))
        recording = t.record("-r", "1khz", "-d", 1.5, folder=what.replace(" ", "-").replace("'", ""))
        t.claim(opens.count() == 0, f"{what}: nothing of it was opened")
        found = counts(recording.stacks(process.pid))
        t.claim(found.get(("<module>", "spin"), 0) >= 0.99 * sum(found.values()) > 100, f"{what}: its stacks are exact",
                found)
        whole(t, recording, bystander, 0.5, what)
        check_cheap(t, recording, what)
        process.kill()
        process.wait()
        os.unlink(binary)


def test_mapped_as_library(t):
    """what a process itself maps under the name of a libpython: 10 GiB of nothing, a device"""
    bystander = t.start(on_host(t.pythons), "shares.py", 600)
    python = on_host(t.pythons)
    for what in ("10 GiB of nothing", "a device"):
        path = os.path.join(t.folder(what.replace(" ", "-")), "libpython3.13.so.1.0")
        SWAPS[what](path, "")
        code = f"PATH, SHARE = {path!r}, {'mmap.MAP_SHARED' if what == 'a device' else 'mmap.MAP_PRIVATE'}\n{MAP}"
        code = "import mmap\n" + code
        process = subprocess.Popen([python.command, "-c", code], stdout=subprocess.PIPE)
        t.at_end(lambda p=process: (p.kill(), p.wait(), p.stdout.close()))
        t.require(process.stdout.readline() == b"ready\n", f"{what} can be mapped")
        recording = t.record("-r", "1khz", "-d", 1.5, folder="record-" + what.replace(" ", "-"))
        whole(t, recording, bystander, 0.5, what)
        check_cheap(t, recording, what)
        found = counts(recording.stacks(process.pid))
        t.note(f"{what}: its own samples: {sum(found.values())}")
        t.claim(all(names_of in (("<module>", "spin"), ("<module>",), ()) for names_of in found),
                f"{what}: no stack of it is invented", found)


class Overlay:
    """A root on overlayfs: the lower layer is the root `apps`, the upper one a tmpfs."""

    def __init__(self, t, apps):
        self.t, base = t, t.folder("overlay")
        run(["mount", "-t", "tmpfs", "none", base])
        t.at_end(lambda: run(["umount", "-l", base], check=False))
        for name in ("upper", "work", "merged"):
            os.mkdir(os.path.join(base, name))
        self.root = os.path.join(base, "merged")
        layers = f"lowerdir={apps.root},upperdir={base}/upper,workdir={base}/work"
        if run(["mount", "-t", "overlay", "-o", layers, "none", self.root], check=False).returncode:
            t.skip("overlayfs cannot be mounted here")
        t.at_end(lambda: run(["umount", "-l", self.root], check=False))

    def start(self, *argv):
        process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "chroot", self.root, *map(str, argv)],
                                   stdout=subprocess.PIPE)
        self.t.at_end(lambda: (process.kill(), process.wait(), process.stdout.close()))
        self.t.require(process.stdout.readline() == b"ready\n", f"{os.path.basename(argv[0])} runs on overlayfs")
        return process


def run(argv, check=True):
    return subprocess.run(argv, check=check, stderr=subprocess.DEVNULL)


def judge_overlay(t, process, what, prefix=()):
    folder = t.folder(what.replace(" ", "-"))
    os.chmod(folder, 0o777)
    recording = t.panopy_record("-r", "1khz", "-d", 1.5, "-p", process.pid, folder=folder, prefix=prefix).finish()
    t.claim(recording.status == 0, f"{what}: status 0", recording.explain())
    found = counts(recording.stacks(process.pid)) if recording.status == 0 else {}
    t.claim(found.get(("<module>", "spin"), 0) >= 0.99 * sum(found.values()) > 100, f"{what}: its stacks are exact", found)


def test_overlay(t):
    """interpreters from the lower layer of overlayfs: as they are, copied up, deleted"""
    apps = Apps(t)
    overlay = Overlay(t, apps)
    public_copy(t)
    inside = "/usr/bin/python3.13"
    outside = overlay.root + inside
    process = overlay.start(inside, "-c", SPIN)
    shown = listing(t, process.pid)
    t.claim(shown and shown["version"].startswith("3.13"), "ps names its version", shown)
    judge_overlay(t, process, "lower layer")
    judge_overlay(t, process, "lower layer by name", prefix=BY_NAME)
    # A new date of the file copies it to the upper layer; the process keeps the lower one.
    os.utime(outside)
    judge_overlay(t, process, "copied up")
    judge_overlay(t, overlay.start(inside, "-c", SPIN), "upper layer")
    shutil.copy(outside, outside + ".new")
    os.rename(outside + ".new", outside)
    judge_overlay(t, process, "replaced")
    os.unlink(outside)
    judge_overlay(t, process, "deleted")


def test_fifo_in_package(t):
    """folders of Python sources where FIFOs and endless links stand for __init__.py"""
    python = on_host(t.pythons)
    package = t.folder("package/inner")
    os.mkfifo(os.path.join(t.directory, "package", "__init__.py"))
    os.symlink("__init__.py", os.path.join(package, "__init__.py"))
    with open(os.path.join(package, "spin.py"), "w", encoding="ascii") as file:
        file.write(SPIN)
    opens = Opens(t, os.path.join(t.directory, "package", "__init__.py"))
    process = subprocess.Popen([python.command, os.path.join(package, "spin.py")], stdout=subprocess.PIPE)
    t.at_end(lambda: (process.kill(), process.wait(), process.stdout.close()))
    process.stdout.readline()
    opens.count()
    recording = t.record("-r", "1khz", "-d", 1, "-p", process.pid)
    stacks = [stack for stack in recording.stacks(process.pid) if names(stack) == ("<module>", "spin")]
    t.claim(sum(s.count for s in stacks) > 300 and opens.count() == 0, "its stacks are there, and no FIFO was opened")


# One 64-bit value of 3.13's _Py_DebugOffsets: where it is, what it becomes (old value in), what must come of it. None:
# taken, as it only leads to the thread states; what is shown then is true.
WRONG_VALUES = (
    (232, lambda value: value + 8, "layout_unknown"),   # interpreter_frame.previous
    (264, lambda value: value + 1, "layout_unknown"),   # interpreter_frame.owner
    (288, lambda value: value + 8, "offsets_invalid"),  # code_object.name, over the next
    (40, lambda value: 1 << 40, "offsets_invalid"),     # runtime_state.interpreters_head
    (72, lambda value: value + 8, None),                # interpreter_state.threads_head
    (32, lambda value: value + 8, None),                # runtime_state.finalizing
)


def test_wrong_offsets(t):
    """a libpython whose file has one wrong value in its table of offsets: refused by name, or true stacks"""
    python = next((p for p in t.pythons if not p.root and p.minor == (3, 13)), None)
    library = python and subprocess.run(["ldd", os.path.realpath(python.command)], stdout=subprocess.PIPE, text=True,
                                        check=False).stdout.partition("libpython3.13.so.1.0 => ")[2].partition(" (")[0]
    if not library:
        t.skip("needs a 3.13 with a shared libpython on the host")
    with open(library, "rb") as file:
        image = bytearray(file.read())
    table = re.search(rb"xdebugpy..\x0d\x03\0{4}", image, re.DOTALL).start()
    targets = []
    for number, (offset, change, refusal) in enumerate(WRONG_VALUES):
        folder = t.folder(f"library{number}")
        (value,) = struct.unpack_from("<Q", image, table + offset)
        struct.pack_into("<Q", image, table + offset, change(value))
        with open(os.path.join(folder, os.path.basename(library)), "wb") as file:
            file.write(image)
        struct.pack_into("<Q", image, table + offset, value)
        targets.append((offset, refusal, t.start(python, "shares.py", 600, env={**os.environ, "LD_LIBRARY_PATH": folder})))
    recording = t.record("-r", "1khz", "-d", 2, "-p", ",".join(str(target.pid) for _, _, target in targets))
    for offset, refusal, target in targets:
        found = recording.summary().process(target.pid)
        t.claim(found and found["refusal"] == refusal, f"value {offset}: {refusal or 'taken'}", found)
        wrong = [s.raw for s in recording.stacks(target.pid) if s.status == "exact"
                 and (refusal or names(s)[:2] != ("<module>", "main"))]
        t.claim(not wrong, f"value {offset}: no stack that is not there", wrong[:3])
