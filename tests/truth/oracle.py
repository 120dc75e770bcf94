# SPDX-License-Identifier: Apache-2.0
"""Learns inside the interpreter every call path that a program has: a tree in which a node is (the caller's
node, the caller's line at the call, the function called). Nothing is hashed or sampled, so the tree holds
exactly the paths that ran.

From CPython 3.12 on by sys.monitoring, which sees every thread; before by sys.setprofile, which must be set
in each. The tree is written as JSON: codes [[qualname (before 3.11 the name), file, [creation_lines()], [lines]]], nodes
[[parent, line, code]]; node 0 is the root, node n is nodes[n-1], and parents come first. Line 0 stands for
instructions that have none (the compiler's own jumps and clean-ups).
"""
import dis
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
    made = opcode.opmap.get("RETURN_GENERATOR")
    if made is None or not code.co_flags & GENERATOR_LIKE:
        return []
    units = code.co_code[::2]
    end = 2 * units.index(made) if made in units else 0
    return sorted({code.co_firstlineno, *(line or 0 for first, _, line in code.co_lines() if first <= end)})


def all_lines(code):
    """The lines that its instructions have; 0: some have none. Before 3.11 a frame stands before the first of them when
    it begins, which is the line of the function itself."""
    if sys.version_info >= (3, 10):
        lines = {line or 0 for _, _, line in code.co_lines()}
    else:
        lines = {line for _, line in dis.findlinestarts(code)}
    return sorted(lines if sys.version_info >= (3, 11) else lines | {code.co_firstlineno})


class Oracle:
    def __init__(self, out):
        self.out = out
        self.codes, self.code_ids, self.kept = [], {}, []
        self.nodes, self.node_ids = [], {}
        # Short cut: (thread, frame id) -> (node, code), from a frame's start or resumption to its return or
        # suspension, so that an event need not walk to the root.
        self.running = {}
        self.events = 0
        # Threads come here at once; an object that dies meanwhile may bring the same thread back.
        self.lock = threading.RLock()
        if sys.version_info >= (3, 9):  # before, a child could not renew it without a call that asks for it
            os.register_at_fork(after_in_child=self.lock._at_fork_reinit)
        else:
            self.enter = self.enter_alone

    def code_id(self, code):
        found = self.code_ids.get(id(code))
        if found is None:
            self.kept.append(code)  # or its address would name another one later
            found = self.code_ids[id(code)] = len(self.codes)
            name = getattr(code, "co_qualname", code.co_name)
            self.codes.append([name, code.co_filename, creation_lines(code), all_lines(code)])
        return found

    def node(self, parent, line, code):
        key = (parent, line, self.code_id(code))
        found = self.node_ids.get(key)
        if found is None:
            self.nodes.append(key)
            found = self.node_ids[key] = len(self.nodes)
        return found

    def node_of(self, frame):
        entry = self.running.get((threading.get_ident(), id(frame)))
        if entry is not None and entry[1] is frame.f_code:
            return entry[0]
        return self.enter_alone(frame)

    def enter(self, frame):
        with self.lock:
            return self.enter_alone(frame)

    def leave(self, frame):
        self.running.pop((threading.get_ident(), id(frame)), None)

    def enter_alone(self, frame):
        caller = frame.f_back
        code = frame.f_code
        if caller is None:
            node = self.node(0, 0, code)
        else:
            node = self.node(self.node_of(caller), caller.f_lineno or 0, code)
        self.running[threading.get_ident(), id(frame)] = (node, code)
        self.events += 1
        if self.events % CHECK_EVERY == 0 and node != self.walk(frame):
            sys.stderr.write(f"oracle: wrong node for {code.co_name}\n")
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
            self.leave(frame)

    def start_monitoring(self):
        monitoring = sys.monitoring
        events = monitoring.events
        tool = monitoring.PROFILER_ID
        monitoring.use_tool_id(tool, "truth")
        getframe, enter, leave = sys._getframe, self.enter, self.leave

        def on_start(*_):
            enter(getframe(1))

        def on_end(*_):
            leave(getframe(1))

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
