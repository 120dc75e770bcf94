# SPDX-License-Identifier: Apache-2.0
"""Programs that have a CPython inside, from Debian's packages and from tests/targets/embed, and what is no CPython.
They run in the root `apps` of scripts/fetch-roots."""
import http.client
import json
import os
import shutil
import signal
import subprocess
import threading
import time

from lib.folded import names
from lib.hosts import TARGETS, TOP

HERE = os.path.dirname(os.path.abspath(__file__))
HANDLER = ("application", "handler", "hot_function")
# Of bundled.py under 3.13, whose comprehensions have no frame of their own.
BUNDLED = [("<module>", "bundled.py"), ("bundled_work", "bundled.py"), ("parse", "bundled_parts/parsing.py"),
           ("JSONDecoder.decode", "json/decoder.py"), ("JSONDecoder.raw_decode", "json/decoder.py"),
           ("hook", "bundled_parts/parsing.py"), ("hook.<locals>.<genexpr>", "bundled_parts/parsing.py")]


class Apps:
    """The root, with a folder of this test's inside."""

    def __init__(self, t):
        cache = subprocess.run([os.path.join(TOP, "scripts", "cache-dir")], stdout=subprocess.PIPE, text=True,
                               check=True).stdout.strip()
        self.root = os.path.join(cache, "roots", "apps")
        if not os.path.exists(os.path.join(self.root, ".complete")):
            t.skip("there is no root `apps`: scripts/fetch-roots apps makes it")
        self.t, self.inside = t, f"/tmp/embed-{os.getpid()}"
        self.outside = self.root + self.inside
        shutil.copytree(os.path.join(TARGETS, "embed"), self.outside)
        os.chmod(self.outside, 0o777)
        t.at_end(lambda: shutil.rmtree(self.outside, ignore_errors=True))

    def shell(self, command):
        subprocess.run(["chroot", self.root, "sh", "-c", f"cd {self.inside} && {command}"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def start(self, *argv, ready=True, env=None):
        process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "chroot", self.root, *map(str, argv)],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   start_new_session=True, env={**os.environ, **(env or {})})
        self.t.at_end(lambda: stop(process))
        if ready:
            line = process.stdout.readline().decode()
            self.t.require(line.strip() == "ready", f"{os.path.basename(argv[0])} runs", line)
        return process

    def libpython(self):
        folder = os.path.join(self.root, "usr/lib", os.uname().machine + "-linux-gnu")
        name = next(n for n in sorted(os.listdir(folder)) if n.startswith("libpython3.") and n.endswith(".so.1.0"))
        return os.path.join(folder, name)[len(self.root):]


def stop(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    process.stdout.close()


def listing(t, pid):
    data = json.loads(subprocess.run([t.panopy, "ps", "--json"], stdout=subprocess.PIPE, check=True).stdout)
    return next((p for p in data["processes"] if p["pid"] == pid), None)


def counts(stacks):
    found = {}
    for stack in stacks:
        found[names(stack)] = found.get(names(stack), 0) + stack.count
    return found


def compile_worker(apps):
    apps.shell("gcc -o worker embedded.c $(python3.13-config --embed --cflags --ldflags) -lpthread")


def test_linked(t):
    """a C program linked to libpython, with no python in its name, and a thread of its own that comes and goes"""
    apps = Apps(t)
    compile_worker(apps)
    process = apps.start(apps.inside + "/worker", 60)
    shown = listing(t, process.pid)
    t.claim(shown and shown["version"].startswith("3.13") and not shown["refusal"], "ps names its version", shown)
    recording = t.record("-r", "1khz", "-d", 6, "-p", process.pid)
    found = counts(recording.stacks(process.pid))
    main, visits = found.get(("<module>", "main_work"), 0), found.get(("from_thread",), 0)
    without = sum(count for stack, count in found.items() if not stack or stack[0].startswith("[no python frame"))
    total = sum(found.values())
    t.claim(main >= 1000, f"{main} of {total} samples are the main thread's", found)
    t.claim(visits >= 300, f"{visits} are its thread's inside Python, without the main thread's frames", found)
    # The thread burns as much in C as in Python; while it waits for the GIL it runs nothing.
    t.claim(0.5 * visits <= without <= 2 * visits, f"{without} are its thread's in C", found)
    t.claim(main + visits + without >= 0.99 * total, "and there is nothing else", found)


def test_bundle(t):
    """a program that loads its own libpython from a folder that it then removes, itself as well"""
    apps = Apps(t)
    apps.shell("gcc -o bundle bundle.c -ldl")
    process = apps.start(apps.inside + "/bundle", apps.libpython(), 60)
    t.claim(not os.path.exists(apps.outside + "/bundle"), "its executable is gone")
    shown = listing(t, process.pid)
    t.claim(shown and shown["version"].startswith("3.13") and not shown["refusal"], "ps names its version", shown)
    recording = t.record("-r", "1khz", "-d", 3, "-p", process.pid)
    found = counts(recording.stacks(process.pid))
    t.claim(found.get(("<module>", "bundled_work"), 0) >= 0.99 * sum(found.values()) > 1000, "its stacks are exact", found)


def child_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return next(map(int, file.read().split()), None)


def test_pyinstaller(t):
    """a file made by PyInstaller, whose temporary folder is removed while it runs"""
    apps = Apps(t)
    made = subprocess.run([os.path.join(HERE, "make-bundle"), apps.root, "3.13"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    if made.returncode:
        t.skip(f"there is no bundle: {made.stderr.strip()[-200:]}")
    shutil.copy(made.stdout.strip(), apps.outside + "/worker")
    process = apps.start(apps.inside + "/worker", env={"TMPDIR": apps.inside})
    pid = child_of(process.pid)
    unpacked = [name for name in os.listdir(apps.outside) if name.startswith("_MEI")]
    t.require(pid and len(unpacked) == 1, "it unpacked itself and runs a child", pid, unpacked)
    shutil.rmtree(os.path.join(apps.outside, unpacked[0]))
    shown = listing(t, pid)
    t.claim(shown and shown["version"].startswith("3.13") and not shown["refusal"] and shown["shared"],
            "ps names its version and its build", shown)
    recording = t.record("-r", "1khz", "-d", 2, "-p", process.pid)
    stacks = recording.stacks(pid)
    total = sum(stack.count for stack in stacks)
    wrong = [stack.raw for stack in stacks if stack.flagged
             or [(frame.name, frame.file) for frame in stack.frames] != BUNDLED[:len(stack.frames)]]
    t.claim(not wrong and total > 500, f"every one of {total} stacks is exact, with the files' names", wrong[:4])
    t.claim(any(len(stack.frames) == len(BUNDLED) for stack in stacks), "the whole chain was seen")


def test_replaced(t):
    """an interpreter whose file is deleted and replaced by another one while it runs, as upgrades do it"""
    apps = Apps(t)
    apps.shell("cp /usr/bin/python3.13 ./interpreter")
    code = "import time\ndef upgraded_work():\n  while True: time.monotonic()\nprint('ready', flush=True)\nupgraded_work()\n"
    process = apps.start(apps.inside + "/interpreter", "-c", code)
    apps.shell("rm interpreter && cp /bin/sh interpreter")
    recording = t.record("-r", "1khz", "-d", 3, "-p", process.pid)
    found = counts(recording.stacks(process.pid))
    t.claim(found.get(("<module>", "upgraded_work"), 0) >= 0.99 * sum(found.values()) > 1000, "its stacks are exact", found)


def test_gdb(t):
    """the Python inside gdb"""
    apps = Apps(t)
    code = "import time\ndef gdb_work():\n  while True: time.monotonic()\nprint('ready', flush=True)\ngdb_work()\n"
    process = apps.start("/usr/bin/gdb", "-nx", "-q", "-batch", "-ex", f"python exec({code!r})")
    recording = t.record("-r", "1khz", "-d", 3, "-p", process.pid)
    found = counts(recording.stacks(process.pid))
    t.claim(found.get(("<module>", "<module>", "gdb_work"), 0) >= 0.99 * sum(found.values()) > 1000,
            "its stacks are exact", found)


class Load:
    """Requests from threads of this process until close(); `served` of them were answered."""

    def __init__(self, port, clients=4):
        self.port, self.served, self.ended, self.lock = port, 0, False, threading.Lock()
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(clients)]
        for thread in self.threads:
            thread.start()

    def run(self):
        while not self.ended:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
                connection.request("GET", "/x")
                answer = connection.getresponse().read()
                connection.close()
                with self.lock:
                    self.served += answer == b"/x"
            except OSError:
                time.sleep(0.05)

    def close(self):
        self.ended = True
        for thread in self.threads:
            thread.join(30)


def free_port():
    import socket
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def check_server(t, port):
    """Under load, the whole host recorded: the handler's function dominates its server's samples."""
    load = Load(port)
    t.at_end(load.close)
    end = time.monotonic() + 20
    while load.served < 50 and time.monotonic() < end:
        time.sleep(0.1)
    t.require(load.served >= 50, "the server answers")
    before = load.served
    recording = t.record("-r", "1khz", "-d", 5, per="none")
    served = load.served - before
    load.close()
    found = counts(recording.stacks())
    hot = found.get(HANDLER, 0)
    # Each request takes 5 ms of the handler's CPU time; a few end while panopy starts and stops.
    t.claim(0.8 * 5 * served <= hot <= 1.2 * 5 * served and hot > 500, f"{hot} samples of the hot function, {served} requests of 5 ms each", found)
    inside = sum(count for stack, count in found.items() if "application" in stack)
    t.claim(hot >= 0.9 * inside, f"{hot} of {inside} samples of the application are of its hot function", found)
    t.claim(all(stack[:1] == ("application",) for stack in found if "application" in stack),
            "the application is called from C: every stack of it begins there")


def test_uwsgi(t):
    """uWSGI with two processes of two threads, under load"""
    apps, port = Apps(t), free_port()
    apps.start("/usr/bin/uwsgi", "--plugin", "python3", "--http-socket", f"127.0.0.1:{port}", "--wsgi-file",
               apps.inside + "/wsgi_site.py", "--master", "--processes", 2, "--enable-threads", "--threads", 2,
               "--need-app", ready=False)
    check_server(t, port)


APACHE = """ServerRoot {folder}
PidFile {folder}/apache.pid
ErrorLog {folder}/error.log
Listen 127.0.0.1:{port}
ServerName localhost
User nobody
Group nogroup
Mutex file:{folder}
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule wsgi_module /usr/lib/apache2/modules/mod_wsgi.so
WSGISocketPrefix {folder}/wsgi
WSGIDaemonProcess app processes=2 threads=4
WSGIProcessGroup app
WSGIApplicationGroup %{{GLOBAL}}
WSGIScriptAlias / {folder}/wsgi_site.py
<Directory {folder}>
Require all granted
</Directory>
"""


def test_mod_wsgi(t):
    """Apache's mod_wsgi with two daemon processes of four threads, under load"""
    apps, port = Apps(t), free_port()
    with open(apps.outside + "/apache.conf", "w", encoding="ascii") as file:
        file.write(APACHE.format(folder=apps.inside, port=port))
    apps.start("/usr/sbin/apache2", "-f", apps.inside + "/apache.conf", "-DFOREGROUND", ready=False)
    check_server(t, port)


def test_not_cpython(t):
    """PyPy and MicroPython: named as not supported, and none of their samples is taken for Python's"""
    apps = Apps(t)
    code = "import time\nprint('ready')\nwhile True:\n  time.time()\n"
    for command in ("/usr/bin/pypy3", "/usr/bin/micropython"):
        process = apps.start(command, "-c", code, ready=False)
        end = time.monotonic() + 10
        shown = None
        while not shown and time.monotonic() < end:
            time.sleep(0.2)
            shown = listing(t, process.pid)
        t.claim(shown and shown["refusal"] == "not_cpython", f"ps says of {command} that it is no CPython", shown)
        recording = t.panopy_record("-d", 1, "-p", process.pid, folder=os.path.basename(command)).finish()
        t.claim(recording.status == 4 and "another implementation" in recording.errors,
                f"-p of it: status 4, and why", recording.explain())
        stop(process)
    t.note("not run: GraalPy (no Debian package; its files are told by a unit test)")
