#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/test-report.py over what CTest writes: a run is good only if every test passed or skipped itself."""
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "test-report.py")
PASSES = "add_test(passes true)"
SKIPS = "add_test(skips sh -c \"echo skip why; exit 77\")\nset_tests_properties(skips PROPERTIES SKIP_RETURN_CODE 77)"


def report(*runs):
    """(status, text) for runs of CTest, each over the commands of a CTestTestfile.cmake."""
    with tempfile.TemporaryDirectory() as directory:
        results = []
        for number, commands in enumerate(runs):
            folder = os.path.join(directory, str(number))
            os.mkdir(folder)
            with open(os.path.join(folder, "CTestTestfile.cmake"), "w", encoding="ascii") as file:
                file.write(commands)
            results.append(os.path.join(folder, "result.xml"))
            subprocess.run(["ctest", "--test-dir", folder, "--no-tests=ignore", "--output-junit", results[-1]],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        done = subprocess.run([sys.executable, SCRIPT, *results], stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout


class Report(unittest.TestCase):
    def test_good(self):
        status, text = report(f"{PASSES}\n{SKIPS}")
        self.assertIn("1 passed, 0 failed, 1 skipped", text)
        self.assertIn("skips: skip why", text)
        self.assertEqual(status, 0)

    def test_bad(self):
        for commands in ("add_test(bad false)", "add_test(bad /nonexistent/program)",
                         "add_test(bad sleep 9)\nset_tests_properties(bad PROPERTIES TIMEOUT 0.1)",
                         "add_test(bad true)\nset_tests_properties(bad PROPERTIES DISABLED ON)",
                         "add_test(bad true)\nset_tests_properties(bad PROPERTIES REQUIRED_FILES /nonexistent)"):
            status, text = report(f"{PASSES}\n{commands}")
            self.assertRegex(text, r"Failed:\n  bad", commands)
            self.assertIn("1 passed, 1 failed, 0 skipped", text)
            self.assertEqual(status, 1, commands)

    def test_reasons_once(self):
        status, text = report(r"add_test(pond printf [[  skip no fish\nskipped: pond.fish (no fish)\nskip no frog]])")
        self.assertEqual(text.count("no fish"), 1, text)
        self.assertIn("pond: skipped: pond.fish (no fish)", text)
        self.assertIn("pond: skip no frog", text)
        self.assertEqual(status, 0)

    def test_cut(self):
        status, text = report("add_test(long sh -c \"seq 9999; echo skip why\")")
        self.assertIn("long: its output was cut", text)
        self.assertEqual(status, 1)

    def test_nothing_ran(self):
        for runs in (("",), (PASSES, ""), (SKIPS,)):
            self.assertEqual(report(*runs)[0], 1, runs)


if __name__ == "__main__":
    unittest.main()
