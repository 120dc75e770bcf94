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


def main():
    codes = [function.__code__, Outer.method.__code__, generator.__code__, sys._getframe().f_back.f_code]
    codes += [c for c in Outer.method.__code__.co_consts if isinstance(c, type(codes[0]))]
    names = ["", "caf\xe9", "\x80\xff", "\u4e2d\u6587", "\U0001f40d.\U00010000", "\ud800lone", "n" * 600,
             "\u0100" * 700, "a;b\nc\\d", "nul\0inside", "<locals>." * 1000]
    for i, name in enumerate(names):
        codes.append(function.__code__.replace(co_name="f", co_qualname=name, co_firstlineno=i + 1))
    for name in ["", "/srv/caf\udce9/mod.py", "<frozen x>", "\u4e2d" * 5000]:
        codes.append(function.__code__.replace(co_filename=name))
    for code in codes:
        print(id(code), text(code.co_qualname), text(code.co_filename), code.co_firstlineno,
              code.co_linetable.hex() or "-")
    print(".", flush=True)
    sys.stdin.read()


main()
