# SPDX-License-Identifier: Apache-2.0
"""C code between Python frames: a key function, map, a comprehension, a lambda, exec, a constructor, a
descriptor, __eq__ inside list.index, functools.reduce."""
import functools
import time

from truth import DEAD, record


class Equal:
    def __eq__(self, other):
        record(); time.sleep(DEAD)


class Descriptor:
    def __get__(self, instance, owner):
        return [1].index(Equal())


class Made:
    attribute = Descriptor()

    def __init__(self):
        self.value = self.attribute


def keyed(value):
    return list(map(lambda x: {k: Made() for k in [x]}, [value]))


def reducer(a, b):
    return sorted([a, b], key=keyed)


def executed():
    names = {"reduce": functools.reduce, "reducer": reducer}
    exec("def inner():\n    return reduce(reducer, [1, 2, 3])\n\n\ninner()", names)


(lambda: executed())()
