# SPDX-License-Identifier: Apache-2.0
"""One station per kind of frame, visited in turn: kinds.py SECONDS. Each station ends in pace.burn, so
that its whole stack is known; the tests name it by the tags in the comments."""
import asyncio
import functools
import os
import re
import sys
import tempfile
import zipfile

import pace

END = pace.deadline()
SLICE = 0.004


def comprehension():
    return [pace.burn(SLICE) for _ in range(1)]  # @comprehension


def generator_expression():
    return sum(pace.burn(SLICE) for _ in range(1))  # @genexpr


def plain_lambda():
    work = lambda: pace.burn(SLICE)  # noqa: E731 @lambda
    return work()  # @call_lambda


class Shape:
    class Inner:
        def method(self):
            return pace.burn(SLICE)  # @method

    @classmethod
    def make(cls):
        return pace.burn(SLICE)  # @classmethod

    @property
    def area(self):
        return pace.burn(SLICE)  # @property

    def __init__(self, work=False):
        if work:
            pace.burn(SLICE)  # @init


def methods():
    Shape.Inner().method()  # @call_method
    Shape.make()  # @call_classmethod
    _ = Shape().area  # @call_property
    Shape(True)  # @call_init


def closure():
    def inside():
        return pace.burn(SLICE)  # @closure

    return inside()  # @call_closure


def executed():
    exec("def from_text():\n    burn(SLICE)\nfrom_text()", {"burn": pace.burn, "SLICE": SLICE})  # @exec


def class_body():
    class Temporary:
        pace.burn(SLICE)  # @class_body

    return Temporary  # noqa: R504


def sort_key_function(item):
    return pace.burn(SLICE) and item  # @sort_key


def sorting():
    return sorted([1], key=sort_key_function)  # @sorting


def reducer(left, right):
    return pace.burn(SLICE) and left + right  # @reducer


def reducing():
    return functools.reduce(reducer, [1, 2])  # @reducing


def replacement(match):
    pace.burn(SLICE)  # @replacement
    return match.group()


PATTERN = re.compile("a")


def substituting():
    return PATTERN.sub(replacement, "a")  # @substituting


def inner_generator():
    yield pace.burn(SLICE)  # @inner_generator


def outer_generator():
    yield from inner_generator()  # @outer_generator


def generating():
    for _ in outer_generator():  # @generating
        pass


def raising():
    raise ValueError


def excepting():
    try:
        raising()
    except ValueError:
        pace.burn(SLICE)  # @except


def unwound():
    try:
        raising()
    finally:
        pace.burn(SLICE)  # @finally


def unwinding():
    try:
        unwound()  # @unwinding
    except ValueError:
        pass


class Context:
    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        pace.burn(SLICE)  # @exit
        return kind is ValueError


def leaving():
    # Up to 3.9 the call of __exit__ has the line that raised, later that of `with`.
    with Context(): raising()  # noqa: E701 @leaving


def thrown_into():
    try:
        yield
    except ValueError:
        yield pace.burn(SLICE)  # @thrown_into


def throwing():
    generator = thrown_into()
    next(generator)
    generator.throw(ValueError())  # @throwing


async def awaited():
    return pace.burn(SLICE)  # @awaited


async def awaiting():
    return await awaited()  # @awaiting


def stepping():
    try:
        awaiting().send(None)  # @stepping
    except StopIteration:
        pass


async def task_body():
    await asyncio.sleep(0)
    pace.burn(SLICE)  # @task_body


async def task_parent():
    await asyncio.gather(task_body(), task_body())


run = getattr(asyncio, "run", None) or asyncio.get_event_loop().run_until_complete  # 3.6


def tasks():
    run(task_parent())  # @tasks


def unicode_stations():
    """(name, file) in Latin-1, UCS-2 and UCS-4; each file name holds the same kind of character."""
    made = []
    for name, path in (("été", "fichier_é.py"), ("Ωμέγα", "αρχείο.py"), ("𠀀𠀁", "𠀀.py")):
        names = {"burn": pace.burn, "SLICE": SLICE}
        exec(compile(f"def {name}():\n    burn(SLICE)\n", path, "exec"), names)
        made.append(names[name])
    return made


UNICODE = unicode_stations()


def unicode_names():
    for station in UNICODE:
        station()  # @unicode


def hostile_stations():
    names = {"burn": pace.burn, "SLICE": SLICE}
    exec(compile("def f():\n    burn(SLICE)\n", "odd;file\n.py", "exec"), names)
    function = names["f"]
    odd = ["semi;colon", "new\nline", "back\\slash", "lone\ud800surrogate", "tab\tand\x7fdel", "a" * 3000]
    made = []
    for name in odd:
        code = pace.changed(function.__code__, name)
        made.append(type(function)(code, names))
    return made


HOSTILE = hostile_stations()


def hostile_names():
    for station in HOSTILE:
        station()  # @hostile


def from_zip():
    directory = tempfile.mkdtemp()
    path = os.path.join(directory, "bundle.zip")
    with zipfile.ZipFile(path, "w") as bundle:
        bundle.writestr("zipped/__init__.py", "")
        bundle.writestr("zipped/module.py", "import pace\ndef in_zip(n):\n    pace.burn(n)\n")
    sys.path.insert(0, path)
    import zipped.module

    os.unlink(path)
    os.rmdir(directory)
    return zipped.module.in_zip


IN_ZIP = from_zip()


def zipped_station():
    IN_ZIP(SLICE)  # @zipped


STATIONS = [comprehension, generator_expression, plain_lambda, methods, closure, executed, class_body, sorting,
            reducing, substituting, generating, excepting, unwinding, leaving, throwing, stepping, tasks, unicode_names,
            hostile_names, zipped_station]


def visit():
    for station in STATIONS:
        station()  # @station


pace.ready()
while pace.running(END):
    visit()  # @visit
pace.done()
