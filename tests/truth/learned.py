# SPDX-License-Identifier: Apache-2.0
"""Keeps what the oracle learned, outside the tree, for the next run with the same interpreter and programs."""
import glob
import gzip
import hashlib
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))


def evidence(python, site, seconds):
    """Of all that decides what is learned: a digest. Another interpreter binary, oracle or program gives another."""
    digest = hashlib.sha256()
    binary = os.stat(os.path.realpath((python.root or "") + python.command))
    digest.update(repr((python.text, python.command, binary.st_size, binary.st_mtime_ns, os.path.basename(site),
                        seconds)).encode())
    for path in sorted(glob.glob(os.path.join(HERE, "**", "*.py"), recursive=True)):
        with open(path, "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()[:16]


class Keeper:
    """The records of one program under one interpreter. `places`: folders whose paths differ from run to run."""

    def __init__(self, cache, python, program, site, seconds, places):
        where = hashlib.sha256((python.root or "").encode()).hexdigest()[:6]
        self._kind = os.path.join(cache, f"learned-{program}-{python.text}-{where}-")
        self._path = f"{self._kind}{evidence(python, site, seconds)}.json.gz"
        self._places = places

    def load(self):
        """The list of records, or None."""
        try:
            with gzip.open(self._path, "rt", encoding="utf-8", errors="surrogatepass") as file:
                return [self._moved(record, outwards=False) for record in json.load(file)]
        except (OSError, EOFError, ValueError):
            return None

    def store(self, records):
        for old in glob.glob(glob.escape(self._kind) + "*"):
            os.unlink(old)
        new = f"{self._path}.{os.getpid()}"
        with gzip.open(new, "wt", compresslevel=3, encoding="utf-8", errors="surrogatepass") as file:
            json.dump([self._moved(record, outwards=True) for record in records], file)
        os.rename(new, self._path)

    def _moved(self, record, outwards):
        codes = [[name, self._moved_path(path, outwards), *rest] for name, path, *rest in record["codes"]]
        return {**record, "codes": codes}

    def _moved_path(self, path, outwards):
        for number, place in enumerate(self._places):
            old, new = (place, f"<{number}>") if outwards else (f"<{number}>", place)
            if path.startswith(old + "/"):
                return new + path[len(old):]
        return path
