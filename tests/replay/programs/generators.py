# SPDX-License-Identifier: Apache-2.0
"""Generators: running below each other by yield from, resumed by for, by next() and by sum() in C, and
suspended ones that must not show."""
import time

from truth import DEAD, record


def innermost():
    yield 1
    record(); time.sleep(DEAD)


def delegating():
    yield from innermost()


def looping():
    for value in delegating():
        yield value


def stepped():
    iterator = looping()
    next(iterator)
    yield next(iterator)


def suspended():
    yield 1
    yield 2


def summed():
    other = suspended()
    next(other)
    return sum(value for value in stepped())


class Holder:
    def method(self):
        return [summed() for _ in range(1)]

    @classmethod
    def made(cls):
        return cls().method()

    @property
    def prop(self):
        return self.made()


Holder().prop
