# SPDX-License-Identifier: Apache-2.0
"""Code objects made and dropped as fast as Python can, at one address under different names. The body
of churn_N calls mark_N and nothing else: churn_5 above mark_9 is a wrong name."""
import sys
import types

import pace

END = pace.deadline()
KINDS = 64


def template():
    return mark_000()  # noqa: F821


def make_mark(number):
    source = f"def mark_{number:03}():\n    x = 0\n    for i in range(30):\n        x += i\n    return x\n"
    names = {}
    exec(compile(source, "marks.py", "exec"), names)
    return names[f"mark_{number:03}"]


marks = {f"mark_{number:03}": make_mark(number) for number in range(KINDS)}
# The constructor's arguments; there has been code.replace() since 3.8 only.
FIELDS = ["argcount", "posonlyargcount", "kwonlyargcount", "nlocals", "stacksize", "flags", "code", "consts", "names",
          "varnames", "filename", "name", "qualname", "firstlineno", "linetable" if sys.version_info >= (3, 10) else "lnotab",
          "exceptiontable", "freevars", "cellvars"]
FIELDS = [field for field in FIELDS if hasattr(template.__code__, "co_" + field)]
NAMES, NAME = FIELDS.index("names"), FIELDS.index("name")
QUALIFIED = FIELDS.index("qualname") if "qualname" in FIELDS else 0
arguments = [getattr(template.__code__, "co_" + field) for field in FIELDS]


def churn():
    number = made = 0
    while pace.running(END):
        for _ in range(100):
            number = (number * 5 + 1) % KINDS
            name = "churn_%03d" % number
            arguments[NAMES], arguments[NAME] = ("mark_%03d" % number,), name
            if QUALIFIED:
                arguments[QUALIFIED] = name
            code = types.CodeType(*arguments)
            types.FunctionType(code, marks)()
            del code
        made += 100
    return made


pace.ready()
print("made", churn(), flush=True)
pace.done()
