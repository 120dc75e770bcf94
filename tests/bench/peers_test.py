#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves what bench/peers says of a profiler's output, without any profiler: parsers, judge and arithmetic."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(TOP, *folder) for folder in (("bench", "lib"), ("tests", "truth"), ("tests", "e2e"))]

import judge  # noqa: E402
import one_run  # noqa: E402
import paired  # noqa: E402
import peer_output  # noqa: E402
import peer_report  # noqa: E402
import peer_tools  # noqa: E402
import workload_list  # noqa: E402
from fetch_peers import Missing  # noqa: E402

board = workload_list.board
MAIN, WORK = ("<module>", "a.py", 9), ("work", "a.py", 3)


def number(value):
    """austin's variable-length numbers."""
    out = [value & 0x3F]
    value >>= 6
    while value:
        out[-1] |= 0x80
        out.append(value & 0x7F)
        value >>= 7
    return bytes(out)


def text(value):
    return value.encode() + b"\0"


def mojo_frame(key, file, name, line):
    return b"\x03" + b"".join(map(number, (key, file, name, line, line, 1, 2)))


MOJO = (b"MOJ" + number(3) + b"\x01" + text("mode") + text("wall")
        + b"\x02" + number(70000) + number(0) + text("59b9")
        + b"\x0b" + number(1000) + text("/x/a.py") + b"\x0b" + number(1001) + text("<module>")
        + b"\x0b" + number(1002) + text("Klass.work")
        + mojo_frame(5, 1000, 1001, 9) + mojo_frame(2**40, 1000, 1002, 3)
        + b"\x05" + number(5) + b"\x05" + number(2**40) + b"\x09" + number(1000)
        + b"\x02" + number(70000) + number(0) + text("59b9") + b"\x05" + number(5) + b"\x05" + number(2**40)
        + b"\x08\x09" + number(999)
        + b"\x02" + number(70000) + number(0) + text("59b9") + b"\x04\x09" + number(1)
        + b"\x02" + number(70000) + number(0) + text("59b9") + b"\x05" + number(5) + b"\x04\x09" + number(1))


class Parsers(unittest.TestCase):
    def test_panopy(self):
        summary = {"lost": {"samples_dropped": 2, "records_invalid": 1, "not_delivered": 50, "late": 9}}
        output = peer_output.panopy("python3 (7);<module> (/x/a.py:9);Klass.work (/x/a.py:3) 5\n"
                                    "python3 (7);[late];<module> (/x/a.py:9) 2\n"
                                    "python3 (7);[truncated: budget];Klass.work (/x/a.py:3) 1\n"
                                    "python3 (7);<module> (/x/a.py:9);[unnamed] 1\n"
                                    "python3 (7);[no python frame: no frames] 3\n", summary)
        self.assertEqual(output.stacks, {(MAIN, WORK): 5})
        self.assertEqual((output.flagged, output.lost, output.empty, output.samples), (4, 3, 3, 8))

    def test_py_spy(self):
        output = peer_output.py_spy("<module> (/x/a.py:9);work (/x/a.py:3) 4\n"
                                    "process 12:\"python3 a.py\";<module> (/x/a.py:9);__init__ (__init__:0);"
                                    "work (/x/a.py:3) 2\n 3\n", "Samples: 9 Errors: 6\n")
        self.assertEqual(output.stacks, {(MAIN, WORK): 6, (): 3})
        self.assertEqual(output.lost, 6)

    def test_py_spy_foreign_text_is_refused(self):
        with self.assertRaises(ValueError):
            peer_output.py_spy("no frame at all 3\n", "")

    def test_tachyon(self):
        messages = ("Captured 1,000 samples in 1.00 seconds\nSample rate: 1000.00 samples/sec\nError rate: 1.30\n"
                    "Warning: missed 7 samples from the expected total of 1007 (0.7%)\n")
        output = peer_output.tachyon("tid:5;a.py:<module>:9;a.py:Klass.work:3 10\ntid:5;<GC> 1\n"
                                     "tid:6;a.py:<module>:9;__init__:__init__:-1;a.py:work:3;<GC> 2\n", messages)
        self.assertEqual(output.stacks, {(MAIN, WORK): 12})
        self.assertEqual(output.lost, 13 + 7)

    def test_tachyon_of_several_processes(self):
        one = "Captured 200 samples in 1.00 seconds\nSample rate: 200\nError rate: 50.00\n"
        self.assertEqual(peer_output.tachyon("", one + one).lost, 200)

    def test_austin(self):
        output = peer_output.austin(MOJO, "Error rate\x1b[0;30m . . \x1b[0m\x1b[1m14/898\x1b[0m (1.56%)")
        self.assertEqual(output.stacks, {(MAIN, WORK): 2})
        self.assertEqual((output.flagged, output.lost), (1, 14))

    def test_austin_foreign_bytes_are_refused(self):
        with self.assertRaises(ValueError):
            peer_output.austin(b"XYZ", "")
        with self.assertRaises(ValueError):
            peer_output.austin(b"MOJ" + number(3) + b"\x63", "")


class Judging(unittest.TestCase):
    def setUp(self):
        self.truth = judge.Truth().add({"codes": [["<module>", "a.py", [], [9]], ["work", "a.py", [], [2, 3]],
                                                  ["leaf", "a.py", [], [7]]],
                                        "nodes": [[0, 0, 0], [1, 9, 1], [2, 3, 2]]})
        self.workload = workload_list.Workload("w", "w", ("work", "other"))

    def judged(self, stacks):
        class Running:
            workload = self.workload

        return one_run.judge(Running, self.truth, peer_output.Output(stacks, 0, 0))

    def test_good_and_impossible(self):
        leaf = ("leaf", "a.py", 7)
        good, faults, sections, examples = self.judged({(MAIN, WORK): 5, (MAIN, WORK, leaf): 2, (MAIN, leaf): 3, (): 1,
                                                        (WORK,): 1})
        self.assertEqual(good, 7)
        self.assertEqual(faults, {judge.PAIR: 3, judge.ROOT_MISSING: 2})
        self.assertEqual(sections, [8, 0])
        self.assertEqual(len(examples), 3)

    def test_finalisers_may_interrupt(self):
        remove = ("_remove", "_weakrefset.py", 15)
        self.assertEqual(self.judged({(MAIN, WORK, remove): 1, (WORK, remove): 2})[:2], (1, {judge.ROOT_MISSING: 2}))

    def test_wrong_line_is_impossible(self):
        self.assertEqual(self.judged({(MAIN, ("work", "a.py", 8)): 1})[0], 0)


def run_figures(**changed):
    return {"expected": 1000.0, "samples": 900, "good": 890, "impossible": 10, "flagged": 0, "lost": 0, "cpu_s": 0.5,
            "kernel_s": 0.0, "cost_s_per_good_sample": 5e-5, "cost_recording_s": 4e-5, "cost_with_startup_s": 6e-5,
            "cpu_end_s": 0.01, "target_slowdown": 0.01,
            "target_cpu": 1.0, "work_per_s": 10.0, "peak_bytes": 2**20, "bytes_written": 10, "startup_s": 0.2,
            "wall_less_recording_s": 0.3, "sections": [60, 40], "true_sections": [500, 500], "faults": {},
            "examples": [], **changed}


class Report(unittest.TestCase):
    tools = {"panopy": peer_tools.Panopy("panopy", "/x/panopy"), "tachyon": peer_tools.Tachyon("tachyon"),
             "austin": peer_tools.Austin("austin", "/x/austin"),
             "panopyon3.14": peer_tools.Panopy("panopy on 3.14", "/x/panopy", newest=(3, 14)),
             "RemoteUnwinder": peer_tools.RawUnwinder("RemoteUnwinder")}

    def rows(self):
        costs = {"panopy": 2e-6, "tachyon": 6e-5, "austin": 8e-5, "panopyon3.14": 4e-6, "RemoteUnwinder": 1e-6}
        return peer_report.with_ratios({name: peer_report.summed_up([run_figures(cost_s_per_good_sample=cost)])
                                        for name, cost in costs.items()}, self.tools)

    def test_share_error_over_rounds(self):
        runs = [run_figures(sections=[70, 30]), run_figures(sections=[50, 50])]
        self.assertAlmostEqual(peer_report.share_error(runs), 10.0)
        self.assertIsNone(peer_report.share_error([run_figures(sections=[])]))

    def test_lost(self):
        self.assertAlmostEqual(peer_report.missing_percent(run_figures()), 10.0)
        self.assertEqual(peer_report.missing_percent(run_figures(samples=1100)), 0.0)
        self.assertEqual(peer_report.summed_up([run_figures(lost=2, flagged=1)])["lost_or_marked"], 3)

    def test_median_and_failed_rounds(self):
        row = peer_report.summed_up([run_figures(cpu_s=1.0), {"failed": "x"}, run_figures(cpu_s=3.0)])
        self.assertEqual((row["cpu_s"], row["rounds"], row["failed_rounds"]), (2.0, 2, 1))
        self.assertAlmostEqual(row["impossible_percent"], 100 * 20 / 1800)
        self.assertEqual(peer_report.summed_up([{"failed": "why"}]), {"failed": "why"})

    def test_ratios_stay_within_one_interpreter(self):
        rows = self.rows()
        self.assertAlmostEqual(rows["tachyon"]["ratio"], 30.0)
        self.assertAlmostEqual(rows["austin"]["ratio"], 20.0)

    def test_ranking_leaves_the_raw_unwinder_out(self):
        line = peer_report.ranking({"title": self.rows()}, self.tools).splitlines()[-1]
        self.assertEqual(line, "| title | 2.0 | tachyon | 60.0 | 30.0 |")

    def test_table_and_plot(self):
        rows = {**self.rows(), "tachyon": {"failed": "exit status 1"}}
        shown = peer_report.table("title", rows, self.tools)
        self.assertIn("not measured: exit status 1", shown)
        lines = [line for line in shown.splitlines() if line.startswith("|")]
        self.assertEqual({line.count("|") for line in lines}, {len(peer_report.HEAD) + 1})
        drawn = peer_report.svg({"a < b": rows}, self.tools)
        self.assertEqual(len(xml.dom.minidom.parseString(drawn).getElementsByTagName("rect")), 1 + 4)
        self.assertIsNone(peer_report.svg({"title": {"panopy": {"failed": "x"}}}, self.tools))


    def test_kept_figures_are_shown_together(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for number, samples in enumerate((800, 1000)):
                paths.append(os.path.join(folder, f"{number}.json"))
                with open(paths[-1], "w", encoding="utf-8") as file:
                    json.dump({"workloads": {"basic": {"panopy": [run_figures(samples=samples)]}}, "pairs": {}}, file)
            drawn = os.path.join(folder, "plot.svg")
            shown = subprocess.run([sys.executable, "-B", os.path.join(TOP, "bench", "peers"), "--svg", drawn, "--show",
                                    *paths], stdout=subprocess.PIPE, check=True, text=True).stdout
            self.assertIn("### basic mixed work", shown)
            self.assertRegex(shown, r"\| panopy +\| +1,000 \| +900 \|")
            self.assertTrue(os.path.getsize(drawn))


class Cost(unittest.TestCase):
    def test_start_up_is_left_out_however_long_it_took(self):
        truth = judge.Truth().add({"codes": [["<module>", "a.py", [], [9]]], "nodes": [[0, 0, 0]]})

        class Tool(peer_tools.Panopy):
            def read(self, _stage, _messages):
                return peer_output.Output({(MAIN,): 4000}, 0, 0)

            def startup(self, _stage):
                return 2.5

            def kernel_seconds(self, _stage):
                return 0.04

            def outputs(self, _stage):
                return []

        class Launched:
            class usage:
                ru_utime, ru_stime = 0.1, 0.5

            track = [(1.0, 0.2), (2.45, 0.4), (2.5, 0.5), (6.4, 0.58), (6.6, 0.59)]
            seconds, peak, interrupted = 6.7, 1, False

            @staticmethod
            def messages():
                return ""

        class Running:
            workload = workload_list.Workload("w", "w")

        still = [(0.0, 0.0, [0] * 15), (1.0, 1.0, [9] * 15)] * 2
        made = one_run.figures(Tool("panopy", "/x"), None, Running, truth, 4, Launched, still, still[:2])
        self.assertAlmostEqual(made["cost_s_per_good_sample"], (0.1 + 0.04) / 4000)
        self.assertAlmostEqual(made["cost_recording_s"], (0.08 + 0.04 * 3.9 / 4) / (4000 * 3.9 / 4))
        self.assertAlmostEqual(made["cost_with_startup_s"], 0.64 / 4000)
        self.assertAlmostEqual(made["expected"], 4000)


class Arithmetic(unittest.TestCase):
    def test_window(self):
        rate, cpu, sections = one_run.window((10.0, 1.0, [100, 5, 6]), (12.0, 2.0, [300, 15, 26]))
        self.assertEqual((rate, cpu, sections), (100.0, 0.5, [10, 20]))

    def test_interval(self):
        mean, half = paired.interval([1.0, 2.0, 3.0])
        self.assertAlmostEqual(mean, 2.0)
        self.assertAlmostEqual(half, 4.30 / 3**0.5)
        self.assertAlmostEqual(paired.t95(1000), 1.96)

    def test_board(self):
        with tempfile.NamedTemporaryFile() as file:
            board.create(file.name)
            cells = board.cells(file.name)
            board.turns(cells, 0, (lambda: None, lambda: None), batches=2)
            board.turns(cells, 3, (lambda: None,), batches=1)
            done = board.totals(cells)
            self.assertEqual(done[0], 2 * 8 + 4)
            self.assertGreater(done[1], 0)
            cells[board.STOP] = 1
            board.turns(cells, 0, (lambda: None,))
            self.assertEqual(board.totals(cells)[0], done[0])

    def test_sections_are_functions_of_the_workloads(self):
        for workload in workload_list.all_workloads():
            with open(os.path.join(workload_list.WORKLOADS, workload.name + ".py"), encoding="utf-8") as file:
                source = file.read()
            for section in workload.sections:
                self.assertIn(f"def {section.rstrip('0123') if workload.name == 'ladder' else section}", source)


class Tools(unittest.TestCase):
    def test_austin_ends_with_254(self):
        austin = peer_tools.Austin("austin", "/x/austin")
        self.assertTrue(austin.succeeded(254, "Error rate . 1/7"))
        self.assertFalse(austin.succeeded(254, "cannot determine the version"))
        self.assertFalse(austin.succeeded(1, "Error rate . 1/7"))

    def test_missing(self):
        tools = peer_tools.all_tools("/x/panopy", {"py-spy": Missing("no network"), "austin": "/x/austin"}, None)
        self.assertEqual(tools["py-spy"].missing, "no network")
        self.assertIn("no binary", tools["opentelemetry"].missing)
        self.assertIsNone(tools["austin"].missing)


if __name__ == "__main__":
    unittest.main()
