# SPDX-License-Identifier: Apache-2.0
"""Generators resumed by different callers: a stack is possible only if the resumer that is current is
the frame right above shared(), and red() and blue() never meet."""
import pace

END = pace.deadline()


def leaf_gen(n):
    for i in range(n):
        yield i  # @leaf_yield


def shared():
    while True:
        yield from leaf_gen(5)  # @shared_from


def wrapper(source):
    for value in source:  # @wrapper_for
        yield value  # @wrapper_yield


def red(source):
    return next(source)  # @red


def blue(source):
    return next(source)  # @blue


def red_path(source):
    return red(source)  # @red_path


def blue_path(source):
    return blue(source)  # @blue_path


def main():
    source = shared()
    wrapped = wrapper(source)
    pace.ready()
    while pace.running(END):  # @poll
        for _ in range(50):
            red_path(source)  # @main_red
            blue_path(wrapped)  # @main_blue_wrapped
            red_path(wrapped)  # @main_red_wrapped
            blue_path(source)  # @main_blue


main()  # @top
pace.done()
