# SPDX-License-Identifier: Apache-2.0
"""Runs one workload: drive.py WORKLOAD BOARD ROW SITE [REST [ORACLE_FOLDER OUT]].

Prints "ready" and works until the board says stop, or it is killed. With an oracle every call path of the run is
learned and written to OUT.PID.json; both ways lead through the same lines. The collector runs only where a workload
calls it, because it calls finalisers wherever it runs."""
import gc
import importlib
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def main(name, path, row, site, rest="0", folder=None, out=None):
    learner = None
    if folder:
        sys.path.insert(0, folder)
        import oracle

        learner = oracle.Oracle(out)
        learner.start()
    import board

    gc.disable()
    sys.path.append(site)
    workload = importlib.import_module(name)
    print("ready", flush=True)
    workload.run(board.cells(path), int(row), float(rest))
    if learner:
        learner.write()


main(*sys.argv[1:])
