# SPDX-License-Identifier: Apache-2.0
"""Prints the location tables of whole modules as the interpreter itself reads them.

One line per code object: first line, table in hex ("-": empty), then START-END=LINE for each range of
co_lines(), byte offsets, LINE 0 where co_lines() has none.
"""

import importlib.util
import sys

MODULES = """
argparse ast asyncio.base_events asyncio.tasks asyncio.events collections configparser contextlib csv
ctypes dataclasses datetime decimal _pydecimal difflib dis email.message email._header_value_parser enum
fractions functools heapq http.client http.server inspect ipaddress json.decoder json.encoder locale
logging logging.handlers multiprocessing.pool optparse os pathlib pdb pickle pickletools platform pprint
pydoc random re shutil socket sqlite3.dbapi2 ssl statistics string subprocess tarfile tempfile textwrap
threading tokenize traceback turtle types typing unittest.case unittest.mock urllib.parse urllib.request
uuid warnings weakref xml.dom.minidom xml.etree.ElementTree zipfile
""".split()

# Forms that ordinary sources lack: far jumps of lines, back and forth, and lines without columns.
GENERATED = "x = (\n" + "\n" * 3000 + "1 +\n" + "\n" * 5000 + " f(\n" + "\n" * 70 + "2))\n"
GENERATED += "def g(a,\n      b=lambda: (yield)):\n    return [i for i in a if\n b]\n"
GENERATED += "\n" * 100000 + "class C:\n  async def h(self):\n    async with self as s: await s\n"
GENERATED += "try:\n  pass\nexcept* ValueError as e:\n  raise\nfinally:\n  match x:\n    case {'a': [1, *r]}: pass\n"
GENERATED += "y = " + "+".join(["z" * 300] * 3) + "\n"


def print_code(code):
    ranges = " ".join(f"{start}-{end}={line or 0}" for start, end, line in code.co_lines())
    print(code.co_firstlineno, code.co_linetable.hex() or "-", ranges)
    for constant in code.co_consts:
        if isinstance(constant, type(code)):
            print_code(constant)


def main():
    print_code(compile(GENERATED, "generated", "exec"))
    for name in MODULES:
        try:
            spec = importlib.util.find_spec(name)
        except ImportError:
            continue
        if spec is None or not getattr(spec.loader, "get_code", None):
            continue
        code = spec.loader.get_code(name)
        if code is not None:
            print_code(code)


sys.setrecursionlimit(10000)
main()
