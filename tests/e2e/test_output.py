# SPDX-License-Identifier: Apache-2.0
"""The file: sorted, whole or not there, in every form that the options ask for."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

from lib import folded
from lib.folded import names


def no_leftovers(t, directory, allowed):
    left = sorted(set(os.listdir(directory)) - set(allowed))
    t.claim(not left, "no temporary file is left", left)


def test_form(t):
    """sorted, one line per stack, counts that add up"""
    targets = [t.start(python, "kinds.py", 600) for python in t.pythons[:3]]
    recording = t.record("-r", "1khz", "-d", 3)
    lines = recording.text().split("\n")
    t.claim(lines[-1] == "", "the last line ends with a newline")
    stacks = [line.rpartition(" ")[0].encode("utf-8", "surrogateescape") for line in lines[:-1]]
    t.claim(stacks == sorted(stacks), "lines are sorted by their bytes",
            [pair for pair in zip(stacks, sorted(stacks)) if pair[0] != pair[1]][:2])
    t.claim(len(set(stacks)) == len(stacks), "one line per distinct stack")
    summary = recording.summary()
    for target in targets:
        counted = sum(s.count for s in recording.stacks(target.pid))
        said = (summary.process(target.pid) or {}).get("samples")
        t.claim(counted == said, f"{target.python}: {counted} samples in the file, {said} in the summary")
    no_leftovers(t, recording.directory, {"out.folded", "summary.json", "stderr.txt"})


def test_options_of_form(t):
    """--per thread|none, --no-lines, --full-paths, -o -, the default name"""
    target = t.start(t.pythons[-1], "shares.py", 600)
    short = ("-r", "1khz", "-d", "1", "-p", target.pid)
    thread = t.record(*short, per="thread", folder="thread")
    t.claim(all(s.thread and s.thread[1] == target.pid for s in thread.stacks()), "--per thread: `thread NAME (tid)`",
            thread.text()[:300])
    none = t.record(*short, per="none", folder="none")
    t.claim(all(line.startswith("<module> (shares.py:") for line in none.text().splitlines()),
            "--per none: no root frame", none.text()[:300])
    bare = t.record(*short, "--no-lines", folder="bare")
    t.claim(all(f.line is None for s in bare.stacks() for f in s.frames) and "sixty (shares.py)" in bare.text(),
            "--no-lines: `name (file)`", bare.text()[:300])
    full = t.record(*short, "--full-paths", folder="full")
    path = os.path.join(t.pythons[-1].stage(), "shares.py")
    t.claim({f.file for s in full.stacks() for f in s.frames if f.name == "sixty"} == {path},
            f"--full-paths: {path}", full.text()[:300])
    stdout = t.record(*short, output="-", folder="stdout")
    parsed = folded.parse(stdout.stdout.decode("utf-8", "surrogateescape"))
    t.claim(any(names(s)[-1:] == ("sixty",) for s in parsed), "-o -: stdout is the profile and nothing else")


def test_default_name(t):
    """without -o: panopy-HOST-TIME.folded in the current folder"""
    target = t.start(t.pythons[-1], "shares.py", 600)
    folder = t.folder("here")
    run = subprocess.run([t.panopy, "record", "-d", "1", "-p", str(target.pid)], cwd=folder,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    made = os.listdir(folder)
    t.claim(run.returncode == 0 and len(made) == 1 and re.match(r"^panopy-.+-.+\.folded$", made[0]),
            "one file of that name", made, run.stderr[-500:])
    t.claim(made and made[0] in run.stderr, "and the summary says its name", run.stderr[-500:])


def test_default_name_taken(t):
    """recordings of the same second in one folder: none replaces another's file"""
    target = t.start(t.pythons[-1], "shares.py", 600)
    folder = t.folder("together")
    runs = [subprocess.Popen([t.panopy, "record", "-q", "-d", "1", "-p", str(target.pid)], cwd=folder,
                             stdin=subprocess.DEVNULL) for _ in range(4)]
    statuses = [run.wait(60) for run in runs]
    t.claim(statuses == [0] * 4 and len(os.listdir(folder)) == 4, "as many files as recordings", statuses,
            os.listdir(folder))


def test_unwritable(t):
    """an output that cannot be written: one sentence, status 1, at once"""
    target = t.start(t.pythons[-1], "shares.py", 600)
    recording = t.panopy_record("-d", 4, "-p", target.pid, output="/nonexistent/folder/out.folded").finish()
    t.claim(recording.status == 1, "status 1", recording.explain())
    t.claim("/nonexistent/folder" in recording.errors, "the sentence names the path", recording.explain())
    t.claim(recording.seconds < 3, "said before the recording, not after it", f"{recording.seconds:.1f} s")
    os.symlink(t.directory, os.path.join(t.directory, "link"))
    twice = subprocess.run([t.panopy, "record", "-d", "4", "-p", str(target.pid), "-o", "one", "--summary", "link/./one"],
                           cwd=t.directory, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=60)
    t.claim(twice.returncode == 2 and "both write to" in twice.stderr, "stacks and summary in one file: usage", twice.stderr)


def test_full_disk(t):
    """a full disk leaves the previous file whole"""
    folder = t.folder("small")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", folder], check=True)
    t.at_end(lambda: subprocess.run(["umount", "-l", folder], check=False))
    path = os.path.join(folder, "out.folded")
    before = "previous;profile 1\n" * 100
    with open(path, "w", encoding="utf-8") as file:
        file.write(before)
    targets = [t.start(python, "ladder.py", 600, 200, 8) for python in t.pythons]
    recording = t.panopy_record("-r", "1khz", "-d", 2, "-p", ",".join(str(x.pid) for x in targets), output=path).finish()
    t.claim(recording.status == 1, "status 1", recording.explain())
    t.claim("No space left" in recording.errors, "the sentence says why", recording.explain())
    with open(path, encoding="utf-8") as file:
        t.claim(file.read() == before, "the previous file is as it was")
    no_leftovers(t, folder, {"out.folded"})


def test_file_size_limit(t):
    """a limit of file sizes (ulimit -f) is told as a full disk is"""
    target = t.start(t.pythons[-1], "shares.py", 600)
    recording = t.panopy_record("-q", "-d", 1, "-p", target.pid, prefix=("prlimit", "--fsize=3000", "--")).finish()
    t.claim(recording.status == 1, "status 1", recording.explain())
    t.claim("File too large" in recording.errors, "the sentence says why", recording.explain())
    no_leftovers(t, recording.directory, {"stderr.txt", "out.folded"})


def test_read_only_system(t):
    """a read-only file system except for the output"""
    target = t.start(t.pythons[-1], "shares.py", 600)
    folder = t.folder("record")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", folder], check=True)
    t.at_end(lambda: subprocess.run(["umount", "-l", folder], check=False))
    script = "mount --make-rprivate / && mount -o remount,bind,ro / && ! touch /read-only-probe 2>/dev/null && exec \"$@\""
    recording = t.record("-r", "1khz", "-d", 1, "-p", target.pid, prefix=("unshare", "-m", "sh", "-c", script, "sh"))
    t.claim(sum(s.count for s in recording.stacks(target.pid)) > 200, "the profile is whole")


def on_terminal(columns, argv, **popen):
    """What a program writes to a terminal of that width, and its exit status."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(argv, stdin=slave, stdout=slave, stderr=slave, env={**os.environ, "TERM": "xterm"}, **popen)
    os.close(slave)
    text = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # nobody has the other end any more
            break
        if not part:
            break
        text += part
    os.close(master)
    return text.decode("utf-8", "replace"), process.wait(30)


def test_terminal(t):
    """on a terminal of 80 columns: a progress line, and a summary of which no line wraps"""
    target = t.start(t.pythons[-1], "longname.py", 600)
    text, status = on_terminal(80, [t.panopy, "record", "-d", "2.3", "-p", str(target.pid), "-o", "out.folded"],
                               cwd=t.folder("terminal"))
    t.claim(status == 0, "status 0", text)
    t.claim(re.search(r"\r\x1b\[K2/2 s  1 process  1 thread  \d+ samples  0 lost  own CPU [\d.]+ %", text),
            "time, processes, threads, samples, lost and own CPU", text[:400])
    lines = re.sub(r"\x1b\[[0-9;]*[mK]", "", text.rpartition("\x1b[K")[2]).replace("\r\n", "\n").split("\n")
    t.claim(len(lines) > 12 and any("a_function_of_a_long_name" in line for line in lines), "the summary is there", text)
    wide = [line for line in lines if len(line) > 80]
    t.claim(not wide, "and fits", wide)


def test_closed_streams(t):
    """standard streams that came closed: nothing else takes their place"""
    target = t.start(t.pythons[-1], "shares.py", 600)
    folder = t.folder("closed")
    path = os.path.join(folder, "out.folded")
    record = ("record", "-r", "1khz", "-d", "0.3", "-p", str(target.pid))

    def run(*arguments, closed, **popen):
        script = " ".join(('exec "$@"', *(f"{fd}>&-" for fd in closed)))
        return subprocess.run(["sh", "-c", script, "sh", t.panopy, *arguments], cwd=folder, timeout=60, text=True, **popen)

    for closed in ((1,), (2,), (0, 1, 2)):
        status = run(*record, "-o", path, closed=closed, stderr=subprocess.DEVNULL).returncode
        with open(path, encoding="utf-8") as file:
            stacks = folded.parse(file.read())
        os.unlink(path)
        t.claim(status == 0 and stacks, f"without {closed}: the profile is written", status)
    for arguments in ((*record, "-o", "-"), (*record, "-o", path, "--summary", "-"), ("ps",), ("doctor",), ("--help",)):
        result = run(*arguments, closed=(1,), stderr=subprocess.PIPE)
        t.claim(result.returncode == 1 and "standard output" in result.stderr,
                f"{arguments[0]} that is to write to it: status 1 and one sentence", result.returncode, result.stderr[-300:])
    t.claim(not os.listdir(folder), "and no recording was made for that", os.listdir(folder))
    status = run("record", "-q", "-o", path, "--", "sh", "-c", "[ -e /proc/self/fd/1 ] && exit 3; exit 4", closed=(1,)).returncode
    t.claim(status == 4, "the command finds it closed, too", status)
