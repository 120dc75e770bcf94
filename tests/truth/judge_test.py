# SPDX-License-Identifier: Apache-2.0
"""Proves the judge and the oracle: right profiles pass, and a planted fault of each kind is caught."""
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "e2e")]

import judge  # noqa: E402
from lib import folded  # noqa: E402

F = "/x/p.py"
# main -10-> a -20-> b -30-> leaf, main -11-> b -31-> leaf, main -12-> gen; gen is also made by a at line 21.
CODES = [["<module>", F, [], [1, 10, 11, 12]], ["a", F, [], [19, 20, 21]], ["b", F, [], [29, 30, 31]],
         ["leaf", F, [], [39, 40]], ["gen", F, [49], [49, 50]]]
NODES = [[0, 0, 0], [1, 10, 1], [2, 20, 2], [3, 30, 3], [1, 11, 2], [5, 31, 3], [1, 12, 4]]


def frames(*pairs):
    return tuple(folded.Frame(name, F, line) for name, line in pairs)


class Judge(unittest.TestCase):
    def setUp(self):
        self.truth = judge.Truth().add({"codes": CODES, "nodes": NODES})

    def fault(self, *pairs):
        wrong = self.truth.judge(frames(*pairs))
        return wrong and wrong[0]

    def test_right(self):
        for pairs in ((("<module>", 10),), (("<module>", 1),), (("<module>", 10), ("a", 20), ("b", 30), ("leaf", 40)),
                      (("<module>", 10), ("a", 20), ("b", 31)), (("<module>", 11), ("b", 31), ("leaf", 39)),
                      (("<module>", 12), ("gen", 50))):
            self.assertIsNone(self.fault(*pairs), pairs)

    def test_root_missing(self):
        self.assertEqual(self.fault(("a", 20), ("b", 30), ("leaf", 40)), judge.ROOT_MISSING)
        self.assertEqual(self.fault(("stranger", 1)), judge.ROOT_MISSING)

    def test_pair(self):
        self.assertEqual(self.fault(("<module>", 10), ("leaf", 40)), judge.PAIR)
        self.assertEqual(self.fault(("<module>", 10), ("a", 20), ("leaf", 40)), judge.PAIR)
        self.assertEqual(self.fault(("<module>", 10), ("stranger", 20)), judge.PAIR)
        self.assertEqual(self.fault(("<module>", 10), ("a", 20), ("b", 30), ("b", 30)), judge.PAIR)

    def test_call_line(self):
        self.assertEqual(self.fault(("<module>", 11), ("a", 20)), judge.CALL_LINE)
        self.assertEqual(self.fault(("<module>", 10), ("a", 21), ("b", 30)), judge.CALL_LINE)
        self.assertEqual(self.fault(("<module>", 10), ("a", None), ("b", 30)), judge.CALL_LINE)

    def test_line(self):
        self.assertEqual(self.fault(("<module>", 10), ("a", 30)), judge.LINE)
        self.assertEqual(self.fault(("<module>", 99)), judge.LINE)
        self.assertEqual(self.fault(("<module>", None)), judge.LINE)

    def test_path(self):
        """Each pair and each line is known, but not in this order: what a torn stack looks like."""
        self.assertEqual(self.fault(("<module>", 11), ("b", 30), ("leaf", 40)), judge.PATH)
        self.assertEqual(self.fault(("<module>", 10), ("a", 20), ("b", 31), ("leaf", 40)), judge.PATH)

    def test_creation(self):
        self.assertIsNone(self.fault(("<module>", 10), ("a", 21), ("gen", 49)), "being made, at its first line")
        self.assertEqual(self.fault(("<module>", 10), ("a", 21), ("gen", 50)), judge.PAIR, "it runs: not being made")
        self.assertEqual(self.fault(("<module>", 10), ("a", 22), ("gen", 49)), judge.LINE, "no such line in a")
        self.assertEqual(self.fault(("<module>", 11), ("a", 21), ("gen", 49)), judge.CALL_LINE, "above it all counts")
        self.assertEqual(self.fault(("<module>", 10), ("a", 21), ("leaf", 39)), judge.PAIR, "not for functions")
        self.assertEqual(self.fault(("<module>", 10), ("a", 20), ("b", 30), ("leaf", 40), ("gen", 49)), None)

    def test_finaliser(self):
        remove = folded.Frame("finalize.__call__", "/lib/weakref.py", 5)
        self.assertIsNone(self.truth.judge((*frames(("<module>", 10), ("a", 21)), remove)))
        self.assertEqual(self.truth.judge((*frames(("<module>", 10), ("a", 30)), remove))[0], judge.LINE)
        self.assertEqual(self.truth.judge((*frames(("<module>", 11), ("a", 20)), remove))[0], judge.CALL_LINE)
        self.assertEqual(self.truth.judge((remove,))[0], judge.ROOT_MISSING)

    def test_joined_runs(self):
        self.truth.add({"codes": CODES[:1] + [["late", F, [], [60]]], "nodes": [[0, 0, 0], [1, 12, 1]]})
        self.assertIsNone(self.fault(("<module>", 12), ("late", 60)))
        self.assertEqual(self.fault(("<module>", 11), ("late", 60)), judge.CALL_LINE)
        self.test_right()

    def test_verdict(self):
        text = "py (1);<module> (/x/p.py:10) 5\npy (1);[late];a (/x/p.py:1) 2\npy (1);[no python frame] 3\n" \
               "py (1);a (/x/p.py:20) 4\npy (1) 1\n"
        verdict = judge.Verdict().add(self.truth, folded.parse(text))
        self.assertEqual((verdict.judged, verdict.flagged, verdict.empty, verdict.impossible), (10, 2, 3, 5))


PROGRAM = """
import sys
sys.path.insert(0, {here!r})
import oracle
seen = []
def note():
    frame, path = sys._getframe(1), []
    while frame:
        path.append((frame.f_code.co_qualname, frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    seen.append(path[::-1])
def inner():
    for i in range(3):
        note()
        yield i
def outer():
    yield from inner()
class Thing:
    @property
    def value(self):
        note()
        return [x for x in outer()]
def recurse(n):
    if n:
        return recurse(n - 1)
    note()
    return sorted([2, 1], key=lambda x: note() or x)
def fails():
    note()
    raise KeyError
def program():
    for turn in range(2):
        Thing().value
        recurse(turn + 3)
        try:
            fails()
        except KeyError:
            note()
        source = outer()
        next(source)
        try:
            source.throw(ValueError)
        except ValueError:
            note()
learner = oracle.Oracle(sys.argv[1])
learner.start()
program()
learner.write()
import json
print(json.dumps(seen))
"""


class Oracle(unittest.TestCase):
    """The oracle knows every stack that the program itself notes while it runs."""

    def test_oracle(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(PROGRAM.format(here=HERE))
            run = subprocess.run([sys.executable, "-B", path, os.path.join(folder, "out")], stdout=subprocess.PIPE,
                                 check=True, text=True)
            learned = next(name for name in os.listdir(folder) if name.endswith(".json"))
            with open(os.path.join(folder, learned), encoding="utf-8") as file:
                truth = judge.Truth().add(json.load(file))
        seen = [tuple(folded.Frame(*frame) for frame in stack) for stack in json.loads(run.stdout)]
        self.assertGreater(len(seen), 20)
        for stack in seen:
            self.assertIsNone(truth.judge(stack), stack)
        self.plant(truth, seen)

    def plant(self, truth, seen):
        """Faults planted in right stacks are caught: the root cut, a caller left out, another call line."""
        draw = random.Random(1)
        cut = [truth.judge(stack[1:]) for stack in seen if len(stack) > 2]
        self.assertEqual({wrong and wrong[0] for wrong in cut}, {judge.ROOT_MISSING})
        for stack in (stack for stack in seen if len(stack) > 3):
            out = draw.randrange(1, len(stack) - 1)
            shorter = stack[:out] + stack[out + 1:]
            # (A leaf may stand on any line of its function: only its callers' lines are the path's.)
            if (shorter[:-1], shorter[-1][:2]) not in [(s[:len(shorter) - 1], s[len(shorter) - 1][:2])
                                                       for s in seen if len(s) >= len(shorter)]:
                self.assertIsNotNone(truth.judge(shorter), shorter)
            moved = list(stack)
            moved[out] = moved[out]._replace(line=moved[out].line + 1)
            self.assertIsNotNone(truth.judge(tuple(moved)), moved)


if __name__ == "__main__":
    unittest.main()
