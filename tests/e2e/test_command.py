# SPDX-License-Identifier: Apache-2.0
"""`panopy record -- command`."""
import os
import pwd
import shutil
import signal
import subprocess
import time

from lib.folded import names
from lib.hosts import on_host, one_per_minor


def run(t, *command, options=(), stdin=None, folder="record", popen=None, left_running=False, prefix=()):
    settings = {"stdin": subprocess.PIPE if stdin is not None else subprocess.DEVNULL, **(popen or {})}
    recording = t.panopy_record("-r", "1khz", *options, "--", *command, folder=folder, popen=settings, prefix=prefix)
    if stdin is not None:
        recording.process.stdin.write(stdin)
    return recording.finish(left_running=left_running)


def test_pass_through(t):
    """stdin, stdout and stderr are the command's own"""
    for python in one_per_minor(t.pythons):
        recording = run(t, *python.argv("status.py", "echo"), stdin=b"some input\n")
        t.claim(recording.stdout == b"SOME INPUT\n", f"{python}: stdout is the command's and nothing else",
                recording.stdout)
        t.claim("to stderr\n" in recording.errors, f"{python}: stderr passes through", recording.errors)
        t.claim(recording.status == 0, f"{python}: its status 0", recording.explain())
        burned = sum(s.count for s in recording.stacks() if names(s) == ("<module>", "busy", "burn"))
        t.claim(200 <= burned <= 400, f"{python}: its 300 ms are there (200 to 400 samples)", burned)


def test_status(t):
    """the command's own exit status, or 128 and its signal"""
    python = on_host(t.pythons)
    for arguments, want in ((("exit", 0), 0), (("exit", 7), 7), (("exit", 255), 255), (("kill", 9), 137),
                            (("kill", 15), 143)):
        recording = run(t, *python.argv("status.py", *arguments))
        t.claim(recording.status == want, f"{arguments[0]} {arguments[1]}: status {want}", recording.explain())
        t.claim(recording.stacks(), "and the profile is written", recording.explain())


def test_ignored_children(t):
    """panopy was started with SIGCHLD ignored: the command's end is seen, and its status; the command ignores it, too"""
    python = on_host(t.pythons)
    ignoring = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    asked = "import signal, sys; print(signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN, flush=True); sys.exit(7)"
    recording = run(t, python.command, "-c", asked, prefix=(python.command, "-c", ignoring))
    t.claim(recording.status == 7, "status 7", recording.explain())
    t.claim(recording.stdout == b"True\n", "SIGCHLD is ignored in the command", recording.stdout)


def test_left_running(t):
    """-d ends first: what runs goes on; panopy's status is 0, or that of a command that had ended"""
    python = on_host(t.pythons)
    for prefix, status, what in (((), 0, "the command"), (("sh", "-c", '"$@" & exit 3', "sh"), 3, "a child of the command")):
        done = os.path.join(t.directory, f"done{status}")
        recording = run(t, *prefix, *python.argv("status.py", "wait", 3, done), options=("-d", "1"), left_running=True)
        t.claim(recording.status == status and recording.seconds < 3, f"panopy ends after its second, with {status}",
                recording.explain(), f"{recording.seconds:.1f} s")
        t.claim(not os.path.exists(done), f"{what} still runs")
        end = time.monotonic() + 8
        while not os.path.exists(done) and time.monotonic() < end:
            time.sleep(0.1)
        t.claim(os.path.exists(done), "and it ends on its own")


def test_children_of_command(t):
    """the command's children are followed, and only they"""
    other = t.start(t.pythons[0], "shares.py", 600)
    python = on_host(t.pythons)
    recording = run(t, *python.argv("children.py", 2), folder="children")
    found = {name for s in recording.stacks() for name in names(s)}
    t.claim({"in_parent", "in_child"} <= found, "parent and child are there", sorted(found)[:10])
    t.claim(not recording.stacks(other.pid), "a Python that is not the command's is not")
    shell = run(t, "sh", "-c", " ".join(python.argv("brief.py")) + "; exit 3", folder="shell")
    t.claim(shell.status == 3, "through a shell: the shell's status", shell.explain())
    t.claim(any("short_life" in names(s) for s in shell.stacks()), "through a shell: the Python is there")
    spawns = run(t, *python.argv("status.py", "spawn", 1), options=("-r", "10khz"), folder="spawns")
    parent = max(spawns.stacks(), key=lambda s: s.count).pid
    short = [s for s in spawns.stacks() if s.pid != parent]
    t.claim(short and not spawns.summary().lost_samples(),
            f"children that run another program at once: none of {len(short)} stacks is lost", spawns.explain())


def test_signals_of_command(t):
    """the command's signals are as they were: a broken pipe ends it"""
    recording = run(t, "bash", "-c", "yes | head -n 1; echo ${PIPESTATUS[0]}")
    t.claim(recording.stdout.split() == [b"y", b"141"], "SIGPIPE is not ignored", recording.stdout, recording.errors)


def test_no_such_command(t):
    """a command that cannot be executed: one sentence, the shell's status, and no profile"""
    for command, status in (("/nonexistent/program", 127), ("/dev/null", 126)):
        recording = run(t, command, folder=f"record{status}")
        t.claim(recording.status == status, f"{command}: status {status}", recording.explain())
        lines = recording.errors.strip().split("\n")
        t.claim(len(lines) == 1 and command in lines[0], "one sentence, which names it", recording.errors)
        written = [name for name in os.listdir(t.folder(f"record{status}")) if name in ("out.folded", "summary.json")]
        t.claim(not written, "nothing is written", written)


def public_python(t):
    """One that any user may run, if there is one."""
    return "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else on_host(t.pythons).command


def test_invoking_user(t):
    """under sudo the command runs as the invoking user, who owns the files"""
    os.chmod(t.directory, 0o755)
    folder = t.folder("owned")
    os.chmod(folder, 0o777)
    environment = {**os.environ, "SUDO_UID": "65534", "SUDO_GID": "65534", "SUDO_USER": "nobody",
                   "HOME": pwd.getpwuid(0).pw_dir, "USER": "root", "LOGNAME": "somebody"}
    script = os.path.join(folder, "ids.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write("import os, time\nend = time.time() + 0.3\nwhile time.time() < end: pass\n"
                   "print(os.getuid(), os.getgid(), os.getgroups())\n"
                   "print(os.environ['HOME'], os.environ['USER'], os.environ['LOGNAME'])\n")
    recording = run(t, public_python(t), script, folder="owned", popen={"env": environment})
    t.claim(recording.stdout.startswith(b"65534 65534 ") and b" 0" not in recording.stdout.split(b"[")[-1],
            "the command runs as that user, without root's groups", recording.stdout, recording.explain())
    t.claim(recording.stdout.splitlines()[-1:] == [f"{pwd.getpwuid(65534).pw_dir} nobody somebody".encode()],
            "with that user's home and name, but not in place of what is not root's", recording.stdout)
    for path in (recording.output, recording.summary_path):
        owner = os.stat(path).st_uid if os.path.exists(path) else None
        t.claim(owner == 65534, f"{os.path.basename(path)} is that user's", owner)


SUDO_USER = 4711
SUDO_STAGE = r"""
set -e
sed '/^panopy-test:/d' /etc/passwd >"$0/passwd"
echo 'panopy-test:*:4711:4711::/:/bin/sh' >>"$0/passwd"
echo 'panopy-test ALL=(root) NOPASSWD: ALL' >"$0/sudoers"
chmod 440 "$0/sudoers"
mount --bind "$0/passwd" /etc/passwd
mount --bind "$0/sudoers" /etc/sudoers
exec setpriv --reuid=4711 --regid=4711 --clear-groups sudo -n "$@"
"""
IDS = """import os, sys, time
print(os.getuid(), os.getgid(), os.getpid(), flush=True)
end = time.time() + float(sys.argv[1])
while time.time() < end: pass
"""


def start_under_sudo(t, seconds):
    """sudo itself, among users and rules of its own; a command that prints who it is."""
    if not shutil.which("sudo") or not shutil.which("setpriv"):
        t.skip("needs sudo and setpriv (util-linux)")
    os.chmod(t.directory, 0o755)
    folder = f"sudo-{seconds}"
    os.chmod(t.folder(folder), 0o777)
    return t.panopy_record("-r", "1khz", "--", public_python(t), "-S", "-c", IDS, seconds, folder=folder,
                           prefix=("unshare", "--mount", "sh", "-c", SUDO_STAGE, t.folder("stage")))


def claim_invoking_users(t, recording, said, what):
    t.claim(said.split()[:2] == [b"4711", b"4711"], f"{what}: the command runs as the invoking user", recording.explain())
    t.claim(len(recording.stacks()) > 0, f"{what}: the profile is there", recording.explain())
    for path in (recording.output, recording.summary_path):
        t.claim(os.stat(path).st_uid == SUDO_USER, f"{what}: {os.path.basename(path)} is that user's")


def test_sudo(t):
    """under sudo itself: the command's end, and sudo asked to end"""
    recording = start_under_sudo(t, 0.5).finish()
    t.claim(recording.status == 0, "status 0", recording.explain())
    claim_invoking_users(t, recording, recording.stdout, "the command ends")
    recording = start_under_sudo(t, 60)
    said = recording.process.stdout.readline()
    command = int(said.split()[2])
    t.at_end(lambda: os.kill(command, signal.SIGKILL))
    time.sleep(1)
    recording.interrupt(signal.SIGTERM).finish(left_running=True)
    claim_invoking_users(t, recording, said, "SIGTERM to sudo")


def test_group_of_root(t):
    """under sudo of a user whose group is root's the command does not run as root"""
    environment = {**os.environ, "SUDO_UID": "65534", "SUDO_GID": "0"}
    environment.pop("SUDO_USER", None)
    recording = run(t, "sh", "-c", "id -u; id -g", popen={"env": environment})
    t.claim(recording.stdout.split() == [b"65534", b"0"], "it is that user's", recording.stdout, recording.explain())


def test_open_files(t):
    """a low limit of open files is raised for panopy, and as it was for the command"""
    recording = t.panopy_record("--", "sh", "-c", "ulimit -n", prefix=("prlimit", "--nofile=24:4096", "--")).finish()
    t.claim(recording.status == 0, "the recording runs", recording.explain())
    t.claim(recording.stdout.split() == [b"24"], "the command has the limit that was set", recording.stdout)
    for limit in (16, 40):
        recording = t.panopy_record("-d", 1, prefix=("prlimit", f"--nofile={limit}:{limit}", "--"), folder=f"of-{limit}").finish()
        t.claim(recording.status == 1 and "limit of open files" in recording.errors,
                f"at most {limit}: status 1, and what to raise", recording.explain())
