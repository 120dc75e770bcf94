#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows tables of tests, lists what was skipped and why, what was run a second time, what failed, and ends with the count of all.

    test-report.py [--also FILE] RESULT.xml...     (ctest --output-junit; FILE: more lines "not run: ...")

Status 0 only if every result has tests and each of them passed, or said by its status that it was skipped: one that
could not be started has failed, and so has one of whose output CTest kept a part, which may lack what was skipped.
"""
import os
import re
import sys
import xml.etree.ElementTree as ElementTree

REASON = re.compile(r"^\W*(skipped|not run|skip|again)\b", re.IGNORECASE)


# CTest up to 3.25, and newer ones.
CUT = "of the test output was removed since it exceeds the threshold of"


def reasons(text):
    """The lines of a test's output that say what it left out, each once: what a part of it says at once, "skip WHY", may
    stand in a list at its end, too, "skipped: PART (WHY)"."""
    lines = list(dict.fromkeys(line.strip() for line in (text or "").splitlines() if REASON.match(line)))
    whole = [line for line in lines if line.startswith("skipped: ")]
    return [line for line in lines if not any(other.endswith(f"({line.removeprefix('skip ')})") for other in whole)]


def table_rows(text):
    return [line.strip() for line in (text or "").splitlines() if line.startswith("  | ")]


def was_skipped(case):
    """By its own word. CTest says the same of one whose program is not there."""
    skipped = case.find("skipped")
    return skipped is not None and skipped.get("message", "").startswith("SKIP_RETURN_CODE=")


def main():
    arguments = sys.argv[1:]
    left_out = []
    if arguments[:1] == ["--also"]:
        with open(arguments[1]) as file:
            left_out += [line.strip() for line in file if line.strip()]
        arguments = arguments[2:]
    if not arguments:
        sys.exit(__doc__)

    # Each test that asks for the Pythons says it again.
    told = set(left_out)
    passed, failed, skipped, tables = 0, [], 0, []
    for path in arguments:
        cases = list(ElementTree.parse(path).getroot().iter("testcase"))
        if not cases:
            failed.append(f"{os.path.basename(path)} has no test")
        for case in cases:
            name, status = case.get("name"), case.get("status")
            text = case.findtext("system-out")
            why = reasons(text)
            tables += table_rows(text)
            if CUT in (text or ""):
                failed.append(f"{name}: its output was cut")
            if status == "run":
                passed += 1
                left_out += [f"{name}: {line}" for line in why if line not in told]
            elif was_skipped(case):
                skipped += 1
                why = [line for line in why if line not in told]
                left_out.append(f"{name}: {'; '.join(why) or 'skipped without a reason'}")
            else:
                skip = case.find("skipped")
                failed.append(name if status == "fail" else f"{name}: {status}" if skip is None
                              else f"{name}: {status}: {skip.get('message')}")

    for row in tables:
        print(row)
    if left_out:
        print("Left out:")
        for line in left_out:
            print(f"  {line}")
    if failed:
        print("Failed:")
        for name in failed:
            print(f"  {name}")
    if not passed and not failed:
        print("No test ran.")
    print(f"{passed} passed, {len(failed)} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
