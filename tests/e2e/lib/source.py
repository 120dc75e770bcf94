# SPDX-License-Identifier: Apache-2.0
"""What the tests know of a target from its source: the lines with `# @tag` comments and the lines of each
function, so that expectations name tags instead of numbers."""
import ast
import os
import re
from .folded import Frame

TARGETS = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "targets")


class Source:
    def __init__(self, name):
        self.file = name
        with open(os.path.join(TARGETS, name), encoding="utf-8") as file:
            text = file.read()
        self.tags = {}
        for number, line in enumerate(text.split("\n"), 1):
            if "#" in line:
                for tag in re.findall(r"@(\w+)", line.split("#", 1)[1]):
                    self.tags.setdefault(tag, set()).add(number)
        self.functions = {}
        self._index(ast.parse(text), "")

    def _index(self, node, prefix):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = prefix + child.name
                self.functions[name] = range(child.lineno, child.end_lineno + 1)
                below = name + ("." if isinstance(child, ast.ClassDef) else ".<locals>.")
                self._index(child, below)
            else:
                self._index(child, prefix)

    def pattern(self, spec):
        """`name@tag` -> a matcher of one frame; `name` alone accepts every line of that function, and none (the
        compiler's own jumps have no line in 3.11)."""
        name, _, tag = spec.partition("@")
        lines = self.tags[tag] if tag else {None, *self.functions[name]} if name in self.functions else None
        return Pattern(name, self.file, lines)


class Pattern:
    def __init__(self, name, file, lines=None):
        self.name, self.file, self.lines = name, file, lines

    def matches(self, frame: Frame):
        return (frame.name == self.name and frame.file == self.file
                and (self.lines is None or frame.line in self.lines))

    def __repr__(self):
        lines = "any" if self.lines is None else ",".join(map(str, sorted(self.lines, key=lambda n: n or 0)))
        return f"{self.name} ({self.file}:{lines})"


PACE = Source("pace.py")


def patterns(source, *specs):
    """Matchers of a whole stack, root first. A spec of pace.py starts with `pace:`."""
    out = []
    for spec in specs:
        if isinstance(spec, Pattern):
            out.append(spec)
        elif spec.startswith("pace:"):
            out.append(PACE.pattern(spec[5:]))
        else:
            out.append(source.pattern(spec))
    return out


def as_shown(python, matchers):
    """Code objects know the qualified name of their function from 3.11 on; before, its last part."""
    if python.minor >= (3, 11):
        return matchers
    return [Pattern(m.name.rpartition(".")[2], m.file, m.lines) for m in matchers]


def stack_matches(stack, expected):
    return len(stack.frames) == len(expected) and all(p.matches(f) for p, f in zip(expected, stack.frames))


def starts_like(stack, expected):
    """The stack is a shorter one on the way to `expected`, its leaf in the right function."""
    frames = stack.frames
    if not frames or len(frames) >= len(expected):
        return False
    body = all(p.matches(f) for p, f in zip(expected, frames[:-1]))
    leaf = expected[len(frames) - 1]
    return body and frames[-1].name == leaf.name and frames[-1].file == leaf.file
