# SPDX-License-Identifier: Apache-2.0
"""Judges stacks of the collapsed output against what the oracle learned. The rules are in README.md."""
from collections import Counter

# Python code that the interpreter calls between any two instructions: from the collector, or when an object
# dies. By (qualified name, end of the file's path), because the oracle cannot see each place they can come.
FINALISERS = {
    ("WeakSet.__init__.<locals>._remove", "_weakrefset.py"),
    ("WeakValueDictionary.__init__.<locals>.remove", "weakref.py"),
    ("WeakKeyDictionary.__init__.<locals>.remove", "weakref.py"),
    ("finalize.__call__", "weakref.py"),
    ("BaseEventLoop.__del__", "asyncio/base_events.py"),
    ("StreamWriter.__del__", "asyncio/streams.py"),
    ("_SelectorTransport.__del__", "asyncio/selector_events.py"),
    ("IOBase.__del__", "_pyio.py"),
}

ROOT_MISSING, PAIR, CALL_LINE, LINE, PATH = FAULTS = (
    "root missing", "pair never seen", "wrong call line", "wrong line", "path never seen")


class Truth:
    """What all runs of the oracle learned of one program under one interpreter, joined. `qualified`: whether code
    objects know their qualified names (CPython 3.11)."""

    def __init__(self, qualified=True):
        self.finalisers = {(name if qualified else name.rpartition(".")[2], file) for name, file in FINALISERS}
        self.code_ids = {}   # (qualname, file) -> id
        self.lines = []      # id -> lines that its code objects have
        self.creation = []   # id -> lines on which a generator or coroutine of them is being made
        self.children = {}   # (node, line, code) -> node
        self.call_lines = {}  # (caller's code, code) -> lines of the caller
        self.node_cnt = 0

    def _code(self, entry):
        name, file, creation, lines = entry
        found = self.code_ids.setdefault((name, file), len(self.lines))
        if found == len(self.lines):
            self.lines.append(set())
            self.creation.append(set())
        self.lines[found].update(lines)
        self.creation[found].update(creation)
        return found

    def add(self, learned):
        codes = [self._code(entry) for entry in learned["codes"]]
        mine, code_of = [0], [None]
        for parent, line, code in learned["nodes"]:
            key = (mine[parent], line, codes[code])
            if key not in self.children:
                self.node_cnt += 1
                self.children[key] = self.node_cnt
            mine.append(self.children[key])
            code_of.append(codes[code])
            if parent:
                self.call_lines.setdefault((code_of[parent], codes[code]), set()).add(line)
        return self

    def judge(self, frames):
        """None, or (fault, what it is about). `frames`: (qualname, file, line), root first."""
        frames = [(name, file, line or 0) for name, file, line in frames]
        for i, (name, file, _) in enumerate(frames):
            if i and any(name == n and file.endswith(f) for n, f in self.finalisers):
                return self._judge(frames[:i], interrupted=True)
        return self._judge(frames, interrupted=False)

    def _judge(self, frames, interrupted):
        codes = [self.code_ids.get((name, file)) for name, file, _ in frames]
        if codes[0] is None or (0, 0, codes[0]) not in self.children:
            return ROOT_MISSING, frames[0]
        wrong = self._judge_path(frames, codes, created=False)
        if wrong and not interrupted and self._is_creation(frames, codes):
            return self._judge_path(frames, codes, created=True)
        return wrong

    def _judge_path(self, frames, codes, created):
        last = len(frames) - 1
        for i in range(last):
            lines = self.call_lines.get((codes[i], codes[i + 1]))
            if created and i + 1 == last:
                if frames[i][2] not in self.lines[codes[i]]:
                    return LINE, frames[i]
            elif lines is None:
                return PAIR, (frames[i], frames[i + 1])
            elif frames[i][2] not in lines:
                return CALL_LINE, (frames[i], frames[i + 1])
        if frames[last][2] not in self.lines[codes[last]]:
            return LINE, frames[last]
        node, line = 0, 0
        for i in range(last if created else last + 1):
            node = self.children.get((node, line, codes[i]))
            if node is None:
                return PATH, frames[i]
            line = frames[i][2]
        return None

    def _is_creation(self, frames, codes):
        """The leaf is a generator or coroutine that is just being made, which no tracing event shows: it stands
        before its RETURN_GENERATOR."""
        if len(frames) < 2 or codes[-1] is None or codes[-2] is None:
            return False
        return frames[-1][2] in self.creation[codes[-1]]


class Verdict:
    def __init__(self):
        self.judged = 0       # samples
        self.flagged = 0
        self.empty = 0        # Python threads without Python frames
        self.faults = Counter()
        self.examples = []

    @property
    def impossible(self):
        return sum(self.faults.values())

    def add(self, truth, stacks):
        for stack in stacks:
            if stack.flagged:
                self.flagged += stack.count
            elif stack.status == "no python frame":
                self.empty += stack.count
            else:
                self.judged += stack.count
                wrong = truth.judge(stack.frames) if stack.frames else (ROOT_MISSING, "no frames, and no marker")
                if wrong:
                    self.faults[wrong[0]] += stack.count
                    self.examples.append(f"{wrong[0]}: {wrong[1]}: {stack.raw}")
        return self
