# SPDX-License-Identifier: Apache-2.0
"""One of several programs that run the same file: busy in the function that argument 2 names, and only there."""
import sys

import pace

END = pace.deadline()


def alder():
    pace.burn(0.02)  # @alder


def birch():
    pace.burn(0.02)  # @birch


def cedar():
    pace.burn(0.02)  # @cedar


def elder():
    pace.burn(0.02)  # @elder


def hazel():
    pace.burn(0.02)  # @hazel


def maple():
    pace.burn(0.02)  # @maple


def main(work):
    work()
    pace.ready()
    while pace.running(END):  # @main
        work()  # @main


main({each.__name__: each for each in (alder, birch, cedar, elder, hazel, maple)}[sys.argv[2]])  # @top
pace.done()
