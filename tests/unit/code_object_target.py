# SPDX-License-Identifier: Apache-2.0
"""Holds code objects with all sorts of names and says where they are; ends with its standard input.

One line each: address, qualified name and file in hex, first line, location table in hex. "." ends.
"""

import sys


def function():
    return 1


class Outer:
    def method(self):
        return [i for i in range(3) if (lambda: i)()]


def generator():
    yield from ()


def text(name):
    return name.encode("utf-8", "surrogateescape" if "\udce9" in name else "surrogatepass").hex() or "-"


FIELDS = ("argcount posonlyargcount kwonlyargcount nlocals stacksize flags code consts names varnames filename name "
          "firstlineno lnotab freevars cellvars").split()


def changed(code, **fields):
    """code.replace(), which 3.8 brought. Names are qualified from 3.11 on."""
    if sys.version_info < (3, 11):
        fields["co_name"] = fields.pop("co_qualname", code.co_name)
    if hasattr(code, "replace"):
        return code.replace(**fields)
    has = ["co_" + name for name in FIELDS if hasattr(code, "co_" + name)]
    return type(code)(*(fields.get(name, getattr(code, name)) for name in has))


def table(code):
    return code.co_linetable if sys.version_info >= (3, 10) else code.co_lnotab


def main():
    codes = [function.__code__, Outer.method.__code__, generator.__code__, sys._getframe().f_back.f_code]
    codes += [c for c in Outer.method.__code__.co_consts if isinstance(c, type(codes[0]))]
    names = ["", "caf\xe9", "\x80\xff", "\u4e2d\u6587", "\U0001f40d.\U00010000", "\ud800lone", "n" * 600,
             "\u0100" * 700, "a;b\nc\\d", "nul\0inside", "<locals>." * 1000]
    for i, name in enumerate(names):
        codes.append(changed(function.__code__, co_name="f", co_qualname=name, co_firstlineno=i + 1))
    for name in ["", "/srv/caf\udce9/mod.py", "<frozen x>", "\u4e2d" * 5000]:
        codes.append(changed(function.__code__, co_filename=name))
    for code in codes:
        print(id(code), text(getattr(code, "co_qualname", code.co_name)), text(code.co_filename), code.co_firstlineno,
              table(code).hex() or "-")
    print(".", flush=True)
    sys.stdin.read()


main()
