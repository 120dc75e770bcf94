# SPDX-License-Identifier: Apache-2.0
"""Without root: refused with one sentence, or enough capabilities."""
import os
import shutil
import subprocess

NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


def public_copy(t):
    """A panopy that any user may run."""
    os.chmod(t.directory, 0o755)
    path = os.path.join(t.directory, "panopy")
    shutil.copy2(t.panopy, path)
    os.chmod(path, 0o755)
    t.panopy = path
    os.chmod(t.folder("record"), 0o777)


def test_nobody(t):
    """as nobody: status 3 and one sentence"""
    if not shutil.which("setpriv"):
        t.skip("needs setpriv (util-linux)")
    target = t.start(t.pythons[-1], "shares.py", 600)
    public_copy(t)
    for select in ((), ("-p", target.pid)):
        recording = t.panopy_record("-d", 2, *select, prefix=NOBODY).finish()
        t.claim(recording.status == 3, f"record {' '.join(map(str, select))}: status 3", recording.explain())
        lines = [line for line in recording.errors.split("\n") if line.strip()]
        t.claim(len(lines) == 1, "one line on stderr", lines)
        t.claim("sudo" in recording.errors or "CAP_" in recording.errors, "which says what is missing", lines)


def test_capabilities(t):
    """CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE and two for files are enough, with a small memlock limit"""
    if not shutil.which("setpriv"):
        t.skip("needs setpriv (util-linux)")
    target = t.start(t.pythons[-1], "shares.py", 600)
    public_copy(t)
    names = "+bpf,+perfmon,+sys_ptrace,+dac_read_search,+checkpoint_restore"
    prefix = ("prlimit", "--memlock=65536:65536", "--", *NOBODY, f"--inh-caps={names}", f"--ambient-caps={names}")
    recording = t.panopy_record("-r", "1khz", "-d", 2, "-p", target.pid, prefix=prefix).finish()
    t.claim(recording.status == 0, "status 0", recording.explain())
    if recording.status == 0:
        t.claim(sum(s.count for s in recording.stacks(target.pid)) > 500, "and the profile is whole")
    if tuple(int(n) for n in os.uname().release.split(".")[:2]) >= (5, 11):
        t.claim("memlock" not in recording.errors, "the limit, which counts no maps here, made no ring smaller",
                recording.errors)


def test_no_ptrace(t):
    """root without CAP_SYS_PTRACE, as in many containers: status 3, and the capability is named"""
    if not shutil.which("setpriv"):
        t.skip("needs setpriv (util-linux)")
    target = t.start(t.pythons[0], "shares.py", 600)
    prefix = ("setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace", "--")
    for select in ((), ("-p", target.pid)):
        recording = t.panopy_record("-d", 1, *select, prefix=prefix, folder=f"record{len(select)}").finish()
        t.claim(recording.status == 3, f"record {' '.join(map(str, select))}: status 3", recording.explain())
        t.claim("CAP_SYS_PTRACE" in recording.errors.rstrip().split("\n")[-1], "CAP_SYS_PTRACE is named",
                recording.explain())


def test_proc(t):
    """no /proc, or one that hides processes: said, and not taken for a host without Python"""
    if not shutil.which("setpriv"):
        t.skip("needs setpriv (util-linux)")
    t.start(t.pythons[0], "shares.py", 600)
    public_copy(t)

    def run(script, *arguments):
        argv = ["unshare", "-m", "sh", "-c", f"{script} && exec \"$@\"", "sh", *arguments]
        return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, cwd=t.directory)

    for command in (("ps",), ("record", "-d", "1"), ("doctor",)):
        result = run("umount -l /proc", t.panopy, *command)
        said = result.stdout if command[0] == "doctor" else result.stderr
        t.claim(result.returncode == 1 and "mount -t proc" in said and "sudo" not in said,
                f"{command[0]} without /proc: status 1, and the fix", result.returncode, result.stdout, result.stderr)
    hidden = run("mount -t proc -o hidepid=2 none /proc", *NOBODY, t.panopy, "ps")
    t.claim("hidepid" in hidden.stderr, "ps where others' processes are hidden says so", hidden.stderr)
    shown = run("true", *NOBODY, t.panopy, "ps")
    t.claim("hidepid" not in shown.stderr, "and only there", shown.stderr)
