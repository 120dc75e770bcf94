# SPDX-License-Identifier: Apache-2.0
"""Stands in for pyperf: a program of pyperformance that is executed with it hands its benchmark over instead
of measuring it."""
import argparse
from time import perf_counter  # noqa: F401  part of the interface


class Runner:
    last = None

    def __init__(self, *_args, **_keywords):
        self.metadata = {}
        self.argparser = argparse.ArgumentParser()
        self.kind = self.function = None
        self.arguments = ()
        Runner.last = self

    def parse_args(self, *args):
        return self.argparser.parse_args(*args)

    def _take(self, kind, function, arguments):
        if not self.function:
            self.kind, self.function, self.arguments = kind, function, arguments

    def bench_func(self, _name, function, *arguments, **_keywords):
        self._take("func", function, arguments)

    def bench_time_func(self, _name, function, *arguments, **_keywords):
        self._take("time", function, arguments)

    def bench_async_func(self, _name, function, *arguments, **_keywords):
        self._take("async", function, arguments)
