# SPDX-License-Identifier: Apache-2.0
"""C code that calls Python: sort keys, reduce, re.sub, ctypes. Every callback has one caller."""
import functools
import re

import pace

try:
    import ctypes
except ImportError:
    print("without ctypes", flush=True)
    ctypes = None

END = pace.deadline()
ITEMS = list(range(20))
WORDS = "a b c d e f g h"
LETTER = re.compile("[a-h]")


def key_leaf(item):
    return -item


def sort_key(item):
    return key_leaf(item)


def by_sort():
    return sorted(ITEMS, key=sort_key)


def add(a, b):
    return a + b


def reducer(a, b):
    return add(a, b)


def by_reduce():
    return functools.reduce(reducer, ITEMS)


def upper(match):
    return match.group().upper()


def replacer(match):
    return upper(match)


def by_sub():
    return LETTER.sub(replacer, WORDS)


def difference(a, b):
    return (a > b) - (a < b)


if ctypes:
    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
    def comparer(a, b):
        return difference(a[0], b[0])


def by_qsort():
    array = (ctypes.c_int * 8)(5, 3, 8, 1, 7, 2, 6, 4)
    ctypes.CDLL(None).qsort(array, 8, 4, comparer)


def main():
    pace.ready()
    while pace.running(END):
        by_sort()
        by_reduce()
        by_sub()
        if ctypes:
            by_qsort()


main()
pace.done()
