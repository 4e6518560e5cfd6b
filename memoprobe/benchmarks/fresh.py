"""Make up new benchmark items from a seed: controls that no model can have seen.

An item is a small function in Python: a shape of two or three steps (see fresh_shapes), asked
for in prose, or given with one wrong step to be repaired. Every item has a reference and tests,
whose expected values do not come from the reference. The items of a seed are always the same,
and a larger number extends a smaller one; one that was published is fresh no more.
"""

import json
import random
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, get_args

from memoprobe.benchmarks.fresh_clauses import Clause
from memoprobe.benchmarks.fresh_shapes import NOUNS, PROPERTIES, SHAPES, TABLES, Shape
from memoprobe.errors import BenchmarkError
from memoprobe.records import TEXT_SLOT, Task

TASKS: tuple[Task, ...] = ("code_generation", "program_repair")
_N_INPUTS = 5  # beside the empty one
_MOST_DRAWS = 50  # of inputs or of a mistake, before another item is drawn

_VERBS = "pick tally merge trace sift rank fold scan chart probe blend weigh split shift map"
_THINGS = "marks codes scores entries terms parts levels records figures signals labels pieces"
_NAMES = {
    "source": "nums items data values seq rows entries series inputs records stream given",
    "kept": "kept chosen good passed picked subset matching wanted hits part",
    "value": "x n item elem val cur entry obj piece cell",
    "other": "y w z u t k one it single nxt",
    "result": "result out answer res final ret outcome summary",
    "built": "acc buf bag store heap parts stack output collected pool",
    "changed": "new changed mapped conv tmp fresh moved turned repl formed",
    "index": "i j idx pos at place where offset m q",
    "entry": "first last flag inner state mid middle link step prior",
}
_WORDS = (
    "acorn arena at barn bee blob cab civic dated do door edit eel elm ember fern flute gate goose "
    "hill hut ink inn jar kite lamb lamp latest level lime melon moon needle noble note oak otter "
    "pan pebble plum quilt radar river roar root sand seed so stone street sun table tent tulip "
    "umbrella velvet wagon well wolf yard zebra"
)
_SOURCES = {
    "numbers": ("a list of integers", "a list of numbers", "a sequence of integers"),
    "words": ("a list of words", "a list of strings", "a sequence of lowercase words"),
}
_NOUNS = {
    "numbers": (("numbers", "number"), ("values", "value"), ("integers", "integer")),
    "words": (("words", "word"), ("strings", "string"), ("items", "item")),
}
_PAIRS = (  # of steps that are taken for each other
    "even odd, positive negative, above below, multiple other, longer shorter, starts ends,"
    " has lacks, square double, add subtract, negate size, initial final, upper reverse,"
    " ascending descending, largest smallest, head tail, count distinct, plain unique, sum largest"
)
_CONFUSED = {
    first: second
    for pair in _PAIRS.split(",")
    for first, second in (pair.split(), reversed(pair.split()))
}
_OPENINGS = (
    "Write a function that takes {source}.",
    "Write a Python function which accepts {source} as its only argument.",
    "Implement a function that receives {source}.",
    "Given {source}, write a function with the following behaviour.",
    "Create a function to process {source}.",
)
_NOTES = (
    "", "", "", "The list may be empty.", "The given list must not be changed.",
    "The input is always valid.", "Assume that the whole list fits into memory.",
)  # fmt: skip


class Step(NamedTuple):
    """Name one clause of a table, and its parameter."""

    name: str
    parameter: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """Hold what a function does."""

    shape: str
    kind: str  # of TABLES
    steps: tuple[tuple[str, Step], ...]  # by slot

    def clause(self, slot: str) -> Clause:
        """Return the clause of the step in ``slot``."""
        return _table(SHAPES[self.shape], self.kind, slot)[dict(self.steps)[slot].name]

    def run(self, values: list[Any]) -> Any:  # noqa: ANN401  a number, text, list or dictionary
        """Return what the function gives for ``values``."""
        return SHAPES[self.shape].run(values, {slot: self._bound(slot) for slot, _ in self.steps})

    def _bound(self, slot: str) -> Callable[[Any], Any]:
        apply, parameter = self.clause(slot).apply, dict(self.steps)[slot].parameter
        return lambda value: apply(value, parameter)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """Hold the choices that a function's code depends on beside its meaning."""

    function: str
    names: Mapping[str, str]
    style: int
    spellings: Mapping[str, int]  # by slot


def rows(task: str, n: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield ``n`` items of ``task`` as rows of an own benchmark, each marked as a control.

    Raises:
        BenchmarkError: There are no fresh items of that task.
    """
    if task not in TASKS:
        known = "is no task" if task not in get_args(Task) else "has no fresh items"
        msg = f"{task!r} {known}; fresh items are made for {' and '.join(TASKS)}"
        raise BenchmarkError(msg)
    rng = random.Random(f"{task}|{seed}")
    for number, row in enumerate(islice(_items(task, rng), n), start=1):
        yield {"id": f"fresh-{seed}-{number:05}", **row, "language": "python", "control": True}


def _items(task: str, rng: random.Random) -> Iterator[dict[str, Any]]:
    seen = set()
    make = _asked if task == "code_generation" else _broken
    while True:
        meaning = _meaning(rng)
        inputs = _inputs(meaning, rng)
        if meaning in seen or inputs is None:
            continue
        seen.add(meaning)
        row = make(meaning, inputs, rng)
        if row is not None:
            yield row


def _asked(meaning: Meaning, inputs: list[list[Any]], rng: random.Random) -> dict[str, Any]:
    """Return an item that asks for a function; its first test stands in the prompt."""
    form = _form(meaning, rng)
    tests = [f"assert {form.function}({a!r}) == {meaning.run(a)!r}" for a in inputs]
    return {
        "input": _prose(meaning, rng),
        "context": f"{TEXT_SLOT}\n\nYour code should pass this test:\n{tests[0]}",
        "reference": _code(meaning, form),
        "tests": tests,
        "entry_point": form.function,
    }


def _broken(meaning: Meaning, inputs: list[list[Any]], rng: random.Random) -> dict[str, Any] | None:
    """Return an item that gives a function with one wrong step, None if no mistake shows.

    What it should do stands above it as a comment, for nothing else tells.
    """
    wrong = _mistaken(meaning, inputs, rng)
    if wrong is None:
        return None
    form = _form(meaning, rng)
    task = textwrap.fill(_prose(meaning, rng), 88, initial_indent="# ", subsequent_indent="# ")
    return {
        "input": _code(wrong, form),
        "context": f"{task}\n{TEXT_SLOT}",
        "reference": _code(meaning, form),
        "tests": _calls(meaning, inputs, form.function),
        "entry_point": form.function,
    }


def _calls(meaning: Meaning, inputs: list[list[Any]], function: str) -> list[Any]:
    """Return tests as calls, or as asserts where JSON cannot hold a result (a number as a key)."""
    results = [meaning.run(values) for values in inputs]
    if json.loads(json.dumps(results)) != results:
        return [f"assert {function}({a!r}) == {b!r}" for a, b in zip(inputs, results, strict=True)]
    return [{"args": [a], "expected": b} for a, b in zip(inputs, results, strict=True)]


def _table(shape: Shape, kind: str, slot: str) -> Mapping[str, Clause]:
    kind = shape.tables.get(kind, kind) if slot == "end" else kind
    return TABLES[kind][shape.slots[slot]]


def _meaning(rng: random.Random) -> Meaning:
    name = rng.choice(sorted(SHAPES))
    shape = SHAPES[name]
    kind = rng.choice(shape.kinds)
    steps = {slot: _step(_table(shape, kind, slot), rng) for slot in shape.slots}
    return Meaning(shape=name, kind=kind, steps=tuple(steps.items()))


def _step(table: Mapping[str, Clause], rng: random.Random) -> Step:
    name = rng.choice(sorted(table))
    return Step(name, rng.choice(table[name].parameters))


def _inputs(meaning: Meaning, rng: random.Random) -> list[list[Any]] | None:
    """Return inputs whose results tell something, the empty one last; None if none were found."""
    words = _WORDS.split()
    for _ in range(_MOST_DRAWS):
        inputs = [
            [
                rng.randint(-15, 30) if meaning.kind == "numbers" else rng.choice(words)
                for _ in range(rng.randint(5, 9))
            ]
            for _ in range(_N_INPUTS)
        ]
        results = [meaning.run(values) for values in [*inputs, []]]
        if len({repr(result) for result in results}) >= _N_INPUTS - 1:
            return [*inputs, []]
    return None


def _mistaken(meaning: Meaning, inputs: list[list[Any]], rng: random.Random) -> Meaning | None:
    """Return a meaning that differs in one step, and in its result for one of the inputs."""
    for _ in range(_MOST_DRAWS):
        slot, step = rng.choice(meaning.steps)
        table = _table(SHAPES[meaning.shape], meaning.kind, slot)
        other = _taken_for(step, table, rng)
        steps = tuple((each, other if each == slot else old) for each, old in meaning.steps)
        wrong = Meaning(shape=meaning.shape, kind=meaning.kind, steps=steps)
        if any(wrong.run(values) != meaning.run(values) for values in inputs):
            return wrong
    return None


def _taken_for(step: Step, table: Mapping[str, Clause], rng: random.Random) -> Step:
    """Return another step: the same with any parameter, one like it, or any of the table."""
    like = _CONFUSED.get(step.name, step.name)
    name = rng.choice((step.name, like if like in table else step.name, rng.choice(sorted(table))))
    parameters = table[name].parameters
    is_kept = name != step.name and step.parameter in parameters
    return Step(name, step.parameter if is_kept else rng.choice(parameters))


def _form(meaning: Meaning, rng: random.Random) -> _Form:
    names: dict[str, str] = {}
    for role, known in _NAMES.items():
        names[role] = rng.choice([name for name in known.split() if name not in names.values()])
    return _Form(
        function=f"{rng.choice(_VERBS.split())}_{rng.choice(_THINGS.split())}",
        names=names,
        style=rng.randrange(len(SHAPES[meaning.shape].styles)),
        spellings={slot: rng.randrange(12) for slot, _ in meaning.steps},
    )


def _code(meaning: Meaning, form: _Form) -> str:
    """Return the function of a meaning in one form; what two meanings share looks the same."""
    written: dict[str, Any] = dict(form.names)
    for slot, step in meaning.steps:
        known = meaning.clause(slot).spellings
        spelling = known[form.spellings[slot] % len(known)]
        # By role, so that a template may ask for the step on any variable.
        written[slot] = {
            role: spelling.format(v=name, p=step.parameter) for role, name in form.names.items()
        }
    body = SHAPES[meaning.shape].styles[form.style].format(**written)
    return f"def {form.function}({form.names['source']}):\n" + textwrap.indent(body, "    ")


def _prose(meaning: Meaning, rng: random.Random) -> str:
    """Return a text that asks for a function of ``meaning``."""
    many, one = rng.choice(_NOUNS[meaning.kind])
    said = {"n": many, "o": one}
    for slot, step in meaning.steps:
        texts = {
            "": rng.choice(meaning.clause(slot).phrases),
            "_is": PROPERTIES.get(step.name, ""),
            "_of": NOUNS.get(step.name, ""),
        }
        for ending, text in texts.items():
            said[slot + ending] = text.format(n=many, o=one, p=step.parameter)
    opening = rng.choice(_OPENINGS).format(source=rng.choice(_SOURCES[meaning.kind]))
    behaviour = rng.choice(SHAPES[meaning.shape].phrases).format(**said)
    if any(slot == "end" and step.name in {"largest", "smallest"} for slot, step in meaning.steps):
        behaviour += " If there is none, it should return None."
    return f"{opening} {behaviour} {rng.choice(_NOTES)}".strip()
