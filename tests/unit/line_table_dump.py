# SPDX-License-Identifier: Apache-2.0
"""Prints the location tables of whole modules as the interpreter itself reads them.

One line per code object: first line, table in hex ("-": empty), then START-END=LINE for each range of
co_lines(), byte offsets, LINE 0 where co_lines() has none. Before 3.10, which brought that method, each
instruction's line is asked of PyCode_Addr2Line().
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
if sys.version_info >= (3, 11):
    GENERATED += "try:\n  pass\nexcept* ValueError as e:\n  raise\n"
if sys.version_info >= (3, 10):
    GENERATED += "match x:\n  case {'a': [1, *r]}: pass\n"
GENERATED += "try:\n  pass\nexcept ValueError as e:\n  raise\nfinally:\n  with x as z:\n    pass\n"
GENERATED += "y = " + "+".join(["z" * 300] * 3) + "\n"


def ranges_by_address(code):
    ask = ctypes.pythonapi.PyCode_Addr2Line
    for offset in range(0, len(code.co_code), 2):
        yield offset, offset + 2, ask(ctypes.py_object(code), offset)


def print_code(code):
    if sys.version_info >= (3, 10):
        table, ranges = code.co_linetable, code.co_lines()
    else:
        table, ranges = code.co_lnotab, ranges_by_address(code)
    print(code.co_firstlineno, table.hex() or "-", *(f"{start}-{end}={line or 0}" for start, end, line in ranges))
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


if sys.version_info < (3, 10):
    try:
        import ctypes
    except ImportError:
        sys.exit(77)  # Built without libffi, or its libffi is not here: it tells no lines.
sys.setrecursionlimit(10000)
main()
