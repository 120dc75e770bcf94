# SPDX-License-Identifier: Apache-2.0
"""Proves what the end-to-end tests judge with: right profiles pass and planted faults are caught."""
import os
import random
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from lib import folded, legal, stats  # noqa: E402
from lib.source import Source, patterns, stack_matches, starts_like  # noqa: E402


class Folded(unittest.TestCase):
    def test_plain(self):
        stack = folded.parse_line("python3 (12);<module> (a.py:1);f.<locals>.g (p/q (r).py:20) 7")
        self.assertEqual((stack.comm, stack.pid, stack.count, stack.status), ("python3", 12, 7, "exact"))
        self.assertEqual(stack.frames[1], folded.Frame("f.<locals>.g", "p/q (r).py", 20))

    def test_markers(self):
        stack = folded.parse_line("py (1);[truncated: budget];f (a.py:1) 1")
        self.assertEqual((stack.status, stack.reason, len(stack.frames)), ("truncated", "budget", 1))
        self.assertTrue(stack.flagged)
        self.assertTrue(folded.parse_line("py (1);[late];f (a.py:1) 1").flagged)
        self.assertTrue(folded.parse_line("py (1);[unnamed];f (a.py:1) 1").flagged)
        none = folded.parse_line("py (1);[no python frame] 3")
        self.assertEqual((none.status, none.frames, none.flagged), ("no python frame", (), False))

    def test_escapes(self):
        stack = folded.parse_line("my\\x3bproc (1);a\\x3bb\\x0a\\x5c (\\xed\\xa0\\x80.py:1) 1")
        self.assertEqual(stack.comm, "my;proc")
        self.assertEqual(stack.frames[0].name, "a;b\n\\")
        self.assertEqual(stack.frames[0].file, "\udced\udca0\udc80.py")
        self.assertEqual(folded.unescape("été\\x3b"), "été;")

    def test_forms(self):
        thread = folded.parse_line("py (1);thread main (7);[late];f (a.py:1) 1", "thread")
        self.assertEqual((thread.thread, thread.status), (("main", 7), "late"))
        self.assertEqual(folded.parse_line("f (a.py) 2", "none").frames, (folded.Frame("f", "a.py", None),))

    def test_refused(self):
        for line in ("py (1);f (a.py:1)", "py (1);f (a.py:1) 0", "py;f (a.py:1) 1", "py (1);f 1", "py (1);f (a.py:1) -1"):
            with self.assertRaises(ValueError, msg=line):
                folded.parse_line(line)


class Stall(unittest.TestCase):
    """A stopped process is to its StallWatch what a paused host is."""
    CODE = ("import sys; sys.path.insert(0, sys.argv[1]); from lib import stall; w = stall.StallWatch(float(sys.argv[2])); "
            "print('go', flush=True); sys.stdin.readline(); print(w.verdict())")

    def verdict_after(self, stopped, stall):
        here = os.path.dirname(os.path.abspath(__file__))
        with subprocess.Popen([sys.executable, "-B", "-c", self.CODE, here, str(stall)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as process:
            process.stdout.readline()
            if stopped:
                process.send_signal(signal.SIGSTOP)
                time.sleep(0.8)
                process.send_signal(signal.SIGCONT)
            return process.communicate("\n")[0].strip()

    def test_stall(self):
        self.assertIn("stood still", self.verdict_after(True, 0.5))

    def test_shorter(self):
        self.assertNotIn("stood still", self.verdict_after(True, 60))


class Stats(unittest.TestCase):
    def test_quantiles(self):
        for value, degrees, tail in ((3.841459, 1, 0.05), (9.210340, 2, 0.01), (13.815511, 2, 0.001),
                                     (29.588298, 10, 0.001), (18.420681, 2, 0.0001)):
            self.assertAlmostEqual(stats.chi_square_tail(value, degrees), tail, delta=tail * 1e-4)

    def test_thin(self):
        drawn = stats.thin({"a": 600, "b": 300, "c": 100}, 100)
        self.assertEqual(sum(drawn.values()), 100)
        self.assertEqual(stats.thin({"a": 5, "b": 3}, 8), {"a": 5, "b": 3})
        self.assertRaises(ValueError, stats.thin, {"a": 3}, 4)

    def groups(self, real, seed, count=3000, groups=7):
        draw = random.Random(seed)
        out = []
        for _ in range(groups):
            picks = draw.choices(list(real), list(real.values()), k=count)
            out.append(({name: picks.count(name) for name in real}, {"sixty": 0.6, "thirty": 0.3, "ten": 0.1}))
        return out

    def test_false_alarms(self):
        """True shares: in 400 runs, p-values are spread as they should be, and none is below 1 in 10,000."""
        values = [stats.joint_p_value(self.groups({"sixty": 0.6, "thirty": 0.3, "ten": 0.1}, seed, 600))
                  for seed in range(400)]
        self.assertGreater(min(values), 1e-4)
        self.assertTrue(0.4 < sum(values) / len(values) < 0.6)

    def test_wrong_shares_are_found(self):
        """63/27/10 on every version is caught each time, and so is one version at 66/24/10."""
        for seed in range(20):
            self.assertLess(stats.joint_p_value(self.groups({"sixty": 0.63, "thirty": 0.27, "ten": 0.1}, seed)), 1e-4)
            groups = self.groups({"sixty": 0.6, "thirty": 0.3, "ten": 0.1}, seed, groups=6)
            groups += self.groups({"sixty": 0.66, "thirty": 0.24, "ten": 0.1}, seed + 1000, groups=1)
            self.assertLess(stats.joint_p_value(groups), 1e-4)


def stack(*frames, marker=""):
    return folded.parse_line(";".join(["py (1)", *([marker] if marker else []), *frames]) + " 1")


class Legal(unittest.TestCase):
    def ladder(self, *frames):
        return legal.ladder(stack("<module> (ladder.py:44)", "climb (ladder.py:38)", *frames))

    def test_ladder(self):
        self.assertIsNone(self.ladder("f1_0 (family1.py:2)", "f1_1 (family1.py:3)"))
        self.assertIsNone(self.ladder())
        self.assertIsNone(self.ladder("running (pace.py:36)"))
        for frames in (("f1_1 (family1.py:4)",), ("f1_0 (family1.py:2)", "f2_1 (family2.py:3)"),
                       ("f1_0 (family1.py:2)", "f1_2 (family1.py:6)"), ("f1_0 (family1.py:1)", "f1_1 (family1.py:3)"),
                       ("f1_0 (family2.py:2)",), ("f1_0 (family1.py:7)",)):
            self.assertIsNotNone(self.ladder(*frames), frames)
        self.assertIsNotNone(legal.ladder(stack("climb (ladder.py:38)")))

    def test_codechurn(self):
        base = ("<module> (codechurn.py:1)", "churn (codechurn.py:1)")
        self.assertIsNone(legal.codechurn(stack(*base, "churn_005 (codechurn.py:1)", "mark_005 (marks.py:3)")))
        self.assertIsNotNone(legal.codechurn(stack(*base, "churn_005 (codechurn.py:1)", "mark_006 (marks.py:3)")))
        self.assertIsNotNone(legal.codechurn(stack(*base, "template (codechurn.py:1)")))
        self.assertIsNotNone(legal.codechurn(stack(*base, "mark_006 (marks.py:3)")))

    def generator_lines(self):
        tags = {name: min(lines) for name, lines in legal.GENERATORS.tags.items()}
        return tags, min(legal.GENERATORS.functions["leaf_gen"]) + 1

    def test_generators(self):
        at, leaf = self.generator_lines()
        frame = "{} (generators.py:{})".format

        def path(colour, main, *rest):
            return stack(frame("<module>", at["top"]), frame("main", at[main]), frame(f"{colour}_path", at[f"{colour}_path"]),
                         frame(colour, at[colour]), *rest)

        shared = (frame("shared", at["shared_from"]), frame("leaf_gen", leaf))
        self.assertIsNone(legal.generators(path("red", "main_red", *shared)))
        self.assertIsNone(legal.generators(path("blue", "main_blue_wrapped", frame("wrapper", at["wrapper_for"]), *shared)))
        self.assertIsNotNone(legal.generators(path("red", "main_blue", *shared)), "the other caller's line")
        self.assertIsNotNone(legal.generators(path("red", "main_red", frame("wrapper", at["wrapper_for"]), *shared)))
        self.assertIsNotNone(legal.generators(stack(*shared)), "root missing")
        self.assertIsNotNone(legal.generators(path("red", "main_red", frame("leaf_gen", leaf))), "a frame left out")

    def test_threads(self):
        begin = ("Thread._bootstrap", "Thread._bootstrap_inner", "Thread.run")
        base = ("Thread._bootstrap (threading.py:1)", "Thread._bootstrap_inner (threading.py:1)", "Thread.run (threading.py:1)")
        self.assertIsNone(legal.threads(stack(*base, "t1_outer (thread1.py:1)", "t1_middle (thread1.py:1)"), begin))
        self.assertIsNotNone(legal.threads(stack(*base, "t1_outer (thread1.py:1)", "t2_middle (thread2.py:1)"), begin))
        self.assertIsNotNone(legal.threads(stack("t1_outer (thread1.py:1)", "t1_middle (thread1.py:1)"), begin))

    def test_greenlets(self):
        def wrong(judge, *names_):
            file_of = {"sleep": "gevent/hub.py", "Hub.run": "gevent/hub.py"}
            return judge(stack(*(f"{n} ({file_of.get(n, n[:2] + '.py' if n[0] == 'g' else 'hubs.py')}:1)" for n in names_)))

        self.assertIsNone(wrong(legal.greenlets, "live", "g0_0", "g0_1", "g0_2", "turn"))
        self.assertIsNone(wrong(legal.greenlets, "live", "g1_0", "g1_1"))
        chain = ("live", "g0_0", "g0_1", "g0_2")
        for judge in (legal.greenlets, legal.hubs):
            self.assertIn("two greenlets", wrong(judge, "live", "g0_0", "g1_1"))
            self.assertIn("level", wrong(judge, "live", "g0_0", "g0_2"))
            self.assertIn("where it does not", wrong(judge, "live", "g1_0", "turn"))
            self.assertIn("chain", wrong(judge, *chain, "turn", "running"))
            self.assertIsNotNone(wrong(judge, "g0_0", "g0_1"))
        self.assertIsNone(wrong(legal.hubs, *chain, "turn", "work"))
        self.assertIsNone(wrong(legal.hubs, *chain, "turn", "sleep"))
        self.assertIsNone(wrong(legal.hubs, "Hub.run"))
        self.assertIsNone(wrong(legal.hubs, "consume", "sleep"))
        self.assertIn("under gevent", wrong(legal.hubs, "Hub.run", "produce"))
        self.assertIn("gevent under work", wrong(legal.hubs, *chain, "turn", "work", "sleep"))
        self.assertIn("no path", wrong(legal.hubs, "produce", "turn"))

    def test_uvloops(self):
        source = legal.UVLOOPS

        def at(name, tag):
            return f"{name} (uvloops.py:{min(source.tags[tag])})"

        root = (at("<module>", "top"), at("run", "run"))
        outer, middle, leaf = at("outer", "outer"), at("middle", "middle"), at("leaf", "leaf")
        burn = f"burn (uvloops.py:{min(source.functions['burn']) + 2})"
        self.assertIsNone(legal.uvloops(stack(*root, outer, middle, leaf, burn)))
        self.assertIsNone(legal.uvloops(stack(*root, at("data_received", "plain"), at("answer", "answer"), burn)))
        self.assertIsNone(legal.uvloops(stack(*root, outer, middle, at("leaf", "sleep"),
                                              "sleep (asyncio/tasks.py:7)")))
        self.assertIn("middle called by run", legal.uvloops(stack(*root, middle)))
        self.assertIn("burn called by leaf", legal.uvloops(stack(*root, outer, middle, at("leaf", "sleep"), burn)))
        self.assertIn("line", legal.uvloops(stack(*root, outer, middle, leaf, "burn (uvloops.py:1)")))
        self.assertIn("asyncio under burn", legal.uvloops(stack(*root, outer, middle, leaf, burn, "f (asyncio/a.py:1)")))
        self.assertIn("begin", legal.uvloops(stack(outer, middle)))
        self.assertIn("of other.py", legal.uvloops(stack(*root, "f (other.py:1)")))

    def test_judge_counts(self):
        wrong, shown = legal.judge([stack("climb (ladder.py:1)"), stack("climb (ladder.py:1)", marker="[late]")], legal.ladder)
        self.assertEqual((wrong, len(shown)), (1, 1))
        self.assertEqual(legal.judge([stack()], legal.ladder)[0], 1, "no frames and no marker")


class Patterns(unittest.TestCase):
    def test_tags(self):
        source = Source("deep.py")
        want = patterns(source, "<module>@top", "descend@level", "descend@bottom", "work@work")
        lines = {tag: min(numbers) for tag, numbers in source.tags.items()}
        frames = [f"<module> (deep.py:{lines['top']})", f"descend (deep.py:{lines['level']})",
                  f"descend (deep.py:{lines['bottom']})", f"work (deep.py:{lines['work']})"]
        self.assertTrue(stack_matches(stack(*frames), want))
        self.assertTrue(starts_like(stack(*frames[:3]), want))
        self.assertFalse(stack_matches(stack(*frames[1:]), want))
        self.assertFalse(stack_matches(stack(frames[0], frames[1], frames[1], *frames[2:]), want))
        self.assertFalse(stack_matches(stack(frames[0], f"descend (deep.py:{lines['bottom']})", *frames[2:]), want))


if __name__ == "__main__":
    unittest.main()
