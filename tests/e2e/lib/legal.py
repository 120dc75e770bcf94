# SPDX-License-Identifier: Apache-2.0
"""Which stacks the extreme targets can have: each judge returns None or why the stack is impossible."""
import itertools
import re
from .folded import names
from .source import Source, patterns, stack_matches

LADDER, GENERATORS, CHURN, THREADS = (Source(n + ".py") for n in ("ladder", "generators", "codechurn", "threads"))


def bootstrap(python):
    """How every thread of threading begins; names are qualified from 3.11 on."""
    names_of_thread = ("_bootstrap", "_bootstrap_inner", "run")
    return tuple("Thread." + name if python.minor >= (3, 11) else name for name in names_of_thread)


def _prefix(stack, want):
    have = names(stack)[:len(want)]
    return None if have == want[:len(have)] else f"does not start with {';'.join(want)}"


def ladder(stack):
    wrong = _prefix(stack, ("<module>", "climb"))
    if wrong:
        return wrong
    frames = stack.frames[2:]
    if frames and frames[0].name == "running":
        return None if len(frames) == 1 else "something under running"
    family = None
    for level, frame in enumerate(frames):
        match = re.match(r"^f(\d+)_(\d+)$", frame.name)
        if not match or int(match.group(2)) != level:
            return f"{frame.name} at level {level}"
        if family not in (None, match.group(1)):
            return "two families in one stack"
        family = match.group(1)
        if frame.file != f"family{family}.py":
            return f"file {frame.file} of {frame.name}"
        lines = (2 * level + 2,) if level + 1 < len(frames) else (2 * level + 1, 2 * level + 2)
        if frame.line not in lines:
            return f"line {frame.line} of {frame.name}"
    return None


def _generator_shapes():
    """Every whole stack of generators.py; a shorter one with its leaf in the right function is legal too."""
    tails = {"source": ["shared@shared_from", "leaf_gen"],
             "wrapped": ["wrapper@wrapper_for", "shared@shared_from", "leaf_gen"]}
    for colour in ("red", "blue"):
        for kind in ("source", "wrapped"):
            tag = colour if kind == "source" else f"{colour}_wrapped"
            yield patterns(GENERATORS, "<module>@top", f"main@main_{tag}", f"{colour}_path@{colour}_path",
                           f"{colour}@{colour}", *tails[kind])
    yield patterns(GENERATORS, "<module>@top", "main@poll", "pace:running")


GENERATOR_SHAPES = list(_generator_shapes())


def generators(stack):
    for shape in GENERATOR_SHAPES:
        if len(stack.frames) > len(shape) or not stack.frames:
            continue
        *callers, leaf = stack.frames
        if all(p.matches(f) for p, f in zip(shape, callers)):
            want = shape[len(callers)]
            if leaf.name == want.name and leaf.file == want.file and leaf.line in _lines(want):
                return None
    return "no path of this program"


def _lines(pattern):
    source = next((s for s in (GENERATORS,) if s.file == pattern.file), None)
    if not source or pattern.name not in source.functions:
        return {None, *range(1, 1000)}
    return {None, *source.functions[pattern.name]}


def codechurn(stack):
    wrong = _prefix(stack, ("<module>", "churn"))
    if wrong:
        return wrong
    rest = names(stack)[2:]
    if not rest or rest == ("running",):
        return None
    made = re.match(r"^churn_(\d{3})$", rest[0])
    if not made or stack.frames[2].file != "codechurn.py":
        return f"{rest[0]} ({stack.frames[2].file}) under churn"
    if len(rest) == 1 or (len(rest) == 2 and rest[1] == f"mark_{made.group(1)}"):
        return None
    return f"{';'.join(rest[1:])} under {rest[0]}: a wrong name"


def threads(stack, begin):
    have = names(stack)
    if have and have[0] == "<module>":
        return None  # the main thread, which only waits
    wrong = _prefix(stack, begin)
    if wrong or len(have) <= 3:
        # Thread._bootstrap_inner also finishes the thread by functions of threading.py.
        ours = [name for name in have if re.match(r"^t\d+_", name)]
        return wrong if ours or have[:1] != begin[:1] else None
    numbers = set()
    for want, name in zip(("outer", "middle", "inner"), have[3:]):
        match = re.match(r"^t(\d+)_(\w+)$", name)
        if name == "running":
            continue
        if not match or match.group(2) != want:
            return f"{name} where t<i>_{want} stands"
        numbers.add(match.group(1))
    return None if len(numbers) <= 1 else "functions of two threads in one stack"


def threads_of(python):
    return lambda stack: threads(stack, bootstrap(python))


GREENLET_DEPTHS, TURNS = (3, 7, 12), (("main.<locals>.turn",), ("turn",))


def greenlet_chain(have, turns):
    """What is wrong with a greenlet's stack of chains: g<number>_0 and on, and where it may call one of `turns`."""
    chain = list(itertools.takewhile(lambda name: name.startswith("g"), have))
    number = None
    for level, name in enumerate(chain):
        match = re.match(r"^g(\d)_(\d+)$", name)
        if not match or int(match.group(2)) != level:
            return f"{name} at level {level}"
        if number not in (None, match.group(1)):
            return "functions of two greenlets in one stack"
        number = match.group(1)
    rest = tuple(have[len(chain):])
    if rest not in ((), *turns):
        return f"{';'.join(rest)} under a greenlet's chain"
    return "switches from where it does not" if rest and len(chain) != GREENLET_DEPTHS[int(number or 0)] else None


def greenlets(stack):
    have = names(stack)
    if have[0] == "<module>":
        return None if all(name in ("main", "running") for name in have[1:]) else "a greenlet's function under main"
    return greenlet_chain(have[1:], TURNS) if have[0] == "live" else "begins neither in main nor in a greenlet"


# Greenlets that gevent runs, by their first function: what may stand below it, gevent's own frames left out.
HUB_ROOTS = {"produce": ((), ("work",), ("running",)), "consume": ((), ("work",), ("running",)), "<module>": ((), ("main",))}
HUB_TURNS = (("turn",), ("turn", "work"))


def hubs(stack):
    """A greenlet calls gevent and never the other way round: it is entered by C, and the hub is a greenlet itself."""
    foreign = [not re.match(r"^(hubs|pace|g\d)\.py$", frame.file) for frame in stack.frames]
    if foreign != sorted(foreign):
        return "a greenlet's function under gevent's"
    have = tuple(name for name, other in zip(names(stack), foreign) if not other)
    if not have:
        return None
    if any(foreign) and have[-1] in ("work", "running"):
        return f"gevent under {have[-1]}"
    if have[0] == "live":
        return None if have == ("live", "running") else greenlet_chain(have[1:], HUB_TURNS)
    return None if have[1:] in HUB_ROOTS.get(have[0], ()) else f"no path of {have[0]}"


def _uvloop_calls():
    """(caller, callee) -> the lines of the call. What the loop calls stands below run()."""
    calls = {("<module>", "run"): "top", ("outer", "middle"): "outer", ("outer", "running"): "outer_poll",
             ("middle", "leaf"): "middle", ("leaf", "burn"): "leaf", ("handle", "answer"): "handle",
             ("answer", "burn"): "answer", ("client", "check"): "client", ("client", "running"): "client_poll",
             ("check", "burn"): "check", ("Plain.data_received", "answer"): "plain", ("later", "burn"): "later"}
    calls.update({("run", task): "run" for task in ("outer", "handle", "client", "later", "main", "Plain.data_received")})
    return {pair: UVLOOPS.tags[tag] for pair, tag in calls.items()}


UVLOOPS = Source("uvloops.py")
UVLOOP_CALLS = _uvloop_calls()
UVLOOP_LIBRARY = ("run", "leaf", "handle", "client", "main")  # what calls asyncio's functions


def uvloops(stack):
    known = {name.rpartition(".")[2]: name for name in UVLOOPS.functions}
    caller = None
    for frame in stack.frames:
        name, ours = known.get(frame.name.rpartition(".")[2], frame.name), frame.file in ("uvloops.py", "pace.py")
        if not ours and not frame.file.startswith("asyncio/"):
            return f"{frame.name} of {frame.file}"
        if ours and name in UVLOOPS.functions and frame.line not in (None, *UVLOOPS.functions[name]):
            return f"line {frame.line} of {name}"
        if caller and ours and caller[1] not in UVLOOP_CALLS.get((caller[0], name), ()):
            return f"{name} called by {caller[0]} in line {caller[1]}"
        if caller and not ours and caller[0] and caller[0] not in UVLOOP_LIBRARY:
            return f"asyncio under {caller[0]}"
        caller = (name if ours else "", frame.line)
    return None if names(stack)[0] == "<module>" else "does not begin in the script"


CALLBACKS = (("by_sort", "sort_key", "key_leaf"), ("by_reduce", "reducer", "add"),
             ("by_qsort", "comparer", "difference"), ("running",))


def callbacks(stack):
    wrong = _prefix(stack, ("<module>", "main"))
    rest = names(stack)[2:]
    if wrong or any(rest == path[:len(rest)] for path in CALLBACKS):
        return wrong
    if rest[0] == "by_qsort" and all(frame.file.startswith("ctypes/") for frame in stack.frames[3:]):
        return None
    # The pattern's template is compiled by re itself.
    return None if rest[:1] == ("by_sub",) and rest[1:] in ((), ("replacer",), ("replacer", "upper")) else "no such call"


def interpreters(stack):
    have = names(stack)
    own = [name for name in have if re.match(r"^(own|inner)_\d+$", name)]
    main = [name for name in have if re.match(r"^(main|main_leaf)_\d+$", name)]
    if own and main:
        return "functions of two interpreters in one stack"
    if len({name.rsplit("_", 1)[1] for name in own + main}) > 1:
        return "functions of two threads in one stack"
    if own:
        return None if have == ("<module>", *own) and own[0].startswith("own_") else "no call of the script"
    if main:
        callers = tuple(name.split(".")[-1] for name in have[:-len(main)])
        return None if callers == ("_bootstrap", "_bootstrap_inner", "run", "visit") and main[0].startswith("main_") and "leaf" not in main[0] else "no call of visit()"
    return None


def judge(stacks, function):
    """(samples of exact stacks that are impossible, up to five of them as text)."""
    wrong, shown = 0, []
    for stack in stacks:
        if stack.status != "exact" or any(frame.name == "[unnamed]" for frame in stack.frames):
            continue
        why = function(stack) if stack.frames else "no frames, and no marker that says so"
        if why:
            wrong += stack.count
            if len(shown) < 5:
                shown.append(f"{why}: {stack.raw}")
    return wrong, shown


__all__ = ["judge", "ladder", "generators", "codechurn", "threads", "threads_of", "bootstrap", "greenlets", "hubs",
           "uvloops", "callbacks", "interpreters", "stack_matches"]
