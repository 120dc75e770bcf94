# SPDX-License-Identifier: Apache-2.0
"""Basic mixed work: a few functions of everyday kinds, some levels deep, called in turn."""
import json

import board

SECTIONS = ("numbers", "texts", "tables", "objects", "descent")


def square(n):
    return n * n


def add_up(values):
    total = 0
    for value in values:
        total += square(value)
    return total


def numbers():
    return add_up(range(1500))


def is_long(word):
    return len(word) > 4


def clean(word):
    return word.strip(".,").lower()


def texts():
    words = [clean(word) for word in TEXT.split()]
    return " ".join(word for word in words if is_long(word))


def key_of(item):
    return item[1] % 97


def sort_table(table):
    return sorted(table.items(), key=key_of)


def tables():
    table = {f"key{i}": i * 7919 for i in range(300)}
    return json.dumps(sort_table(table))


class Shape:
    def __init__(self, side):
        self.side = side

    def area(self):
        return self.side * self.scale()

    def scale(self):
        return 3


def objects():
    return sum([Shape(i).area() for i in range(250)])


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def descent():
    return fibonacci(11)


TEXT = "The quick brown fox jumps over the lazy dog, and nobody was ever asked whether that was really needed. " * 12


def run(cells, row, rest):
    board.turns(cells, row, (numbers, texts, tables, objects, descent), rest=rest)
