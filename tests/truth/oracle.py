# SPDX-License-Identifier: Apache-2.0
"""Learns inside the interpreter every call path that a program has: a tree in which a node is (the caller's
node, the caller's line at the call, the function called). Nothing is hashed or sampled, so the tree holds
exactly the paths that ran.

From CPython 3.12 on by sys.monitoring, which sees every thread; before by sys.setprofile, which must be set
in each. The tree is written as JSON: codes [[qualname, file, [creation_lines()], [lines]]], nodes
[[parent, line, code]]; node 0 is the root, node n is nodes[n-1], and parents come first. Line 0 stands for
instructions that have none (the compiler's own jumps and clean-ups).
"""
import json
import opcode
import os
import sys
import threading

GENERATOR_LIKE = 0x20 | 0x80 | 0x200  # CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR
CHECK_EVERY = 1009  # events between two checks of the short cut below against a walk of the whole stack


def creation_lines(code):
    """The lines on which a generator or coroutine stands while it is being made: those of the instructions up to
    RETURN_GENERATOR (3.11 gives the first of them none where there are cells). Empty for functions."""
    if not code.co_flags & GENERATOR_LIKE:
        return []
    made = opcode.opmap["RETURN_GENERATOR"]
    units = code.co_code[::2]
    end = 2 * units.index(made) if made in units else 0
    return sorted({code.co_firstlineno, *(line or 0 for first, _, line in code.co_lines() if first <= end)})


class Oracle:
    def __init__(self, out):
        self.out = out
        self.codes, self.code_ids, self.kept = [], {}, []
        self.nodes, self.node_ids = [], {}
        # Short cut: frame id -> (node, code), from a frame's start or resumption to its return or
        # suspension, so that an event need not walk to the root.
        self.running = {}
        self.events = 0

    def code_id(self, code):
        found = self.code_ids.get(id(code))
        if found is None:
            self.kept.append(code)  # or its address would name another one later
            lines = sorted({line or 0 for _, _, line in code.co_lines()})
            found = self.code_ids[id(code)] = len(self.codes)
            self.codes.append([code.co_qualname, code.co_filename, creation_lines(code), lines])
        return found

    def node(self, parent, line, code):
        key = (parent, line, self.code_id(code))
        found = self.node_ids.get(key)
        if found is None:
            self.nodes.append(key)
            found = self.node_ids[key] = len(self.nodes)
        return found

    def node_of(self, frame):
        entry = self.running.get(id(frame))
        if entry is not None and entry[1] is frame.f_code:
            return entry[0]
        return self.enter(frame)

    def enter(self, frame):
        caller = frame.f_back
        code = frame.f_code
        if caller is None:
            node = self.node(0, 0, code)
        else:
            node = self.node(self.node_of(caller), caller.f_lineno or 0, code)
        self.running[id(frame)] = (node, code)
        self.events += 1
        if self.events % CHECK_EVERY == 0 and node != self.walk(frame):
            sys.stderr.write(f"oracle: wrong node for {code.co_qualname}\n")
            os._exit(99)
        return node

    def walk(self, frame):
        chain = []
        while frame is not None:
            chain.append(frame)
            frame = frame.f_back
        node, line = 0, 0
        for frame in reversed(chain):
            node = self.node(node, line, frame.f_code)
            line = frame.f_lineno or 0
        return node

    def start(self):
        if sys.version_info >= (3, 12):
            self.start_monitoring()
        else:
            threading.setprofile(self.on_profile)
            sys.setprofile(self.on_profile)

    def on_profile(self, frame, event, _argument):
        if event == "call":
            self.enter(frame)
        elif event == "return":
            self.running.pop(id(frame), None)

    def start_monitoring(self):
        monitoring = sys.monitoring
        events = monitoring.events
        tool = monitoring.PROFILER_ID
        monitoring.use_tool_id(tool, "truth")
        getframe, enter, leave = sys._getframe, self.enter, self.running.pop

        def on_start(*_):
            enter(getframe(1))

        def on_end(*_):
            leave(id(getframe(1)), None)

        for event in (events.PY_START, events.PY_RESUME, events.PY_THROW):
            monitoring.register_callback(tool, event, on_start)
        for event in (events.PY_RETURN, events.PY_YIELD, events.PY_UNWIND):
            monitoring.register_callback(tool, event, on_end)
        monitoring.set_events(tool, events.PY_START | events.PY_RESUME | events.PY_THROW
                              | events.PY_RETURN | events.PY_YIELD | events.PY_UNWIND)

    def stop(self):
        if sys.version_info >= (3, 12):
            sys.monitoring.set_events(sys.monitoring.PROFILER_ID, 0)
        else:
            threading.setprofile(None)
            sys.setprofile(None)

    def write(self):
        self.stop()
        with open(f"{self.out}.{os.getpid()}.json", "w", encoding="utf-8", errors="surrogatepass") as file:
            json.dump({"codes": self.codes, "nodes": self.nodes, "events": self.events}, file)

    def follow_children(self):
        """Children of multiprocessing write what they learned when they end."""
        from multiprocessing import util

        util.register_after_fork(self, lambda oracle: util.Finalize(None, oracle.write, exitpriority=-10))
