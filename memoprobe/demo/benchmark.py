"""Compose the demo's benchmark and the texts that its model is given, everything from a seed.

Two tasks share one family of small functions, filter -> map -> end, over numbers or
words. A prompt fixes what the function does and its style, or most of it, but not all
names and spellings: these a model can only know from having seen the item.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from memoprobe.benchmarks.fresh_clauses import (
    NUMBER_ENDS,
    NUMBER_FILTERS,
    NUMBER_MAPS,
    WORD_ENDS,
    WORD_FILTERS,
    WORD_MAPS,
    Clause,
)
from memoprobe.records import Task

Row = dict[str, Any]
"""One benchmark item in the format of own JSON Lines benchmarks."""

TASKS: tuple[Task, ...] = ("code_generation", "program_repair")
N_ITEMS = 48  # per task, half of them controls
N_SIBLINGS = 800  # other items per task in the training texts, each given once
N_COPIES = 3  # times that the model is given each member

STAGES = {
    "numbers": (NUMBER_FILTERS, NUMBER_MAPS, NUMBER_ENDS),
    "words": (WORD_FILTERS, WORD_MAPS, WORD_ENDS),
}
INPUTS: dict[str, tuple[list[Any], ...]] = {
    "numbers": (
        [],
        [3, -4, 8, 5, 0, 12, -7, 9, 5],
        [6, 2, 10, 15, -3, 4, 7, 21, 14, 6],
        [1, 16, -9, 18, 24, 8, 35, 2, -12],
    ),
    "words": (
        [],
        ["table", "do", "moon", "barn", "level", "stone", "at", "needle"],
        ["edit", "roar", "tent", "lamb", "abode", "so", "note", "melon", "tent"],
        ["noble", "dated", "run", "street", "arena", "blob", "on", "latest"],
    ),
}
NAMES = {
    "function": "select_data handle_list filter_rows reduce_input process_batch compute_result "
    "extract_part collect_output shape_values digest_feed make_report run_query",
    "source": "nums items data values seq rows entries series inputs records stream feed",
    "kept": "kept chosen good passed picked subset matching selected wanted hits",
    "value": "x n item elem val cur entry obj piece cell",
    "other": "y w z u t k part one it single",
    "result": "result out answer res final ret outcome summary",
    "built": "acc buf bag store heap parts stack output collected pool",
    "changed": "new changed mapped conv tmp fresh moved turned repl formed",
}
STYLES = (
    "{kept} = [{value} for {value} in {source} if {test}]\n"
    "{built} = [{map_other} for {other} in {kept}]\n"
    "{result} = {end_built}\n"
    "return {result}",
    "{built} = []\n"
    "for {value} in {source}:\n"
    "    if {test}:\n"
    "        {changed} = {map_value}\n"
    "        {built}.append({changed})\n"
    "{result} = {end_built}\n"
    "return {result}",
    "{built} = []\n"
    "for {value} in {source}:\n"
    "    if not ({test}):\n"
    "        continue\n"
    "    {changed} = {map_value}\n"
    "    {built} += [{changed}]\n"
    "{result} = {end_built}\n"
    "return {result}",
    "{kept} = filter(lambda {value}: {test}, {source})\n"
    "{built} = list(map(lambda {other}: {map_other}, {kept}))\n"
    "{result} = {end_built}\n"
    "return {result}",
    "def {changed}({other}):\n"
    "    return {map_other}\n"
    "\n"
    "{built} = [{changed}({value}) for {value} in {source} if {test}]\n"
    "{result} = {end_built}\n"
    "return {result}",
    "{built}, {other} = [], 0\n"
    "while {other} < len({source}):\n"
    "    {value} = {source}[{other}]\n"
    "    {other} += 1\n"
    "    if {test}:\n"
    "        {built}.append({map_value})\n"
    "{result} = {end_built}\n"
    "return {result}",
)

WHO = (
    "a weather station", "the warehouse", "our choir", "a small library", "the ferry office",
    "a cycling club", "the bakery", "a night train", "the town museum", "a chess league",
    "the harbour", "a garden centre", "the mountain hut", "a radio show", "the river gauge",
    "a paper mill", "the fire brigade", "a puppet theatre", "the school kitchen", "a repair shop",
)  # fmt: skip
VERBS = ("gets", "creates", "generates", "builds", "receives", "obtains", "retrieves", "produces")
WHEN = (
    "Every day", "Once a week", "At night", "In spring", "On Sundays", "After lunch",
    "Twice a month", "All year", "Before work", "In the morning",
)  # fmt: skip
OPENINGS = (
    "Write a function that takes {source} as input.",
    "Write a Python function which accepts {source}.",
    "You are given {source}, and your task is to write a function.",
    "Implement a function that receives {source}.",
    "Create a Python function to process {source}.",
    "You will be given {source}, and you should write a function.",
)
SOURCES = {
    "numbers": ("a list of integers", "a list of numbers", "a sequence of integers"),
    "words": ("a list of words", "a list of strings", "a sequence of words"),
}
NOUNS = {
    "numbers": (("numbers", "number"), ("values", "value"), ("elements", "element")),
    "words": (("words", "word"), ("strings", "string"), ("items", "item")),
}
NOTES = (
    "Note that the list may be empty.",
    "You may assume that the input is valid.",
    "It is guaranteed that there are no missing entries.",
    "Assume that the whole list is available in memory.",
    "In case of an empty list, the same steps apply.",
    "However, the given list must not be changed.",
    "You can assume that the input contains no other types.",
    "In other words, there is only one result for each input.",
    "Also, make sure that the entire list is used.",
    "For example, the list could be very long.",
)
HINTS = (
    ("Use list comprehensions.", "Create two lists by means of comprehensions."),
    ("Use a plain loop.", "Build the list in a loop."),
    ("Use a loop that ignores the others early.", "Use a loop with a guard."),
    ("Use filter and map.", "Use lambdas without using loops."),
    ("Use an inner helper.", "Define a helper inside the function."),
    ("Use a while loop.", "Increment an index in a loop."),
)


class Step(NamedTuple):
    """Name one clause of a task and its parameter."""

    name: str
    parameter: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """Hold what a function does; two functions of one meaning agree on every input."""

    kind: str  # numbers or words
    keep: tuple[Step, ...]  # one filter, or two that must both hold
    map: Step
    end: Step

    def run(self, values: list[Any]) -> object:
        """Return what the function gives for ``values``."""
        filters, maps, ends = STAGES[self.kind]
        kept = [v for v in values if all(filters[s.name].apply(v, s.parameter) for s in self.keep)]
        made = [maps[self.map.name].apply(v, self.map.parameter) for v in kept]
        return ends[self.end.name].apply(made, self.end.parameter)


class Document(NamedTuple):
    """Hold one text that the model is given: an item, its reference being the answer."""

    task: Task
    row: Row


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoBenchmark:
    """Hold the rows of both tasks and what the model is trained on."""

    rows: dict[Task, list[Row]]
    documents: list[Document]


def build(seed: int) -> DemoBenchmark:
    """Return the benchmark of ``seed`` and documents with half of its items.

    Membership is drawn after the items. A member is in the documents N_COPIES times; no
    other document is of the meaning of any item of the benchmark.
    """
    rng = random.Random(seed)
    rows: dict[Task, list[Row]] = {}
    documents = []
    meanings = _distinct_meanings(rng)
    for task in TASKS:
        items = [_row(task, next(meanings), rng) for _ in range(N_ITEMS)]
        controls = [index % 2 == 1 for index in range(N_ITEMS)]
        rng.shuffle(controls)
        rows[task] = [
            {"id": f"{task}-{number:02}", **item, "control": control}
            for number, (item, control) in enumerate(zip(items, controls, strict=True), start=1)
        ]
        members = [row for row in rows[task] if not row["control"]]
        siblings = [_row(task, next(meanings), rng) for _ in range(N_SIBLINGS)]
        documents += [Document(task, row) for row in members * N_COPIES + siblings]
    rng.shuffle(documents)
    return DemoBenchmark(rows=rows, documents=documents)


def _distinct_meanings(rng: random.Random) -> Iterator[Meaning]:
    seen = set()
    while True:
        meaning = _meaning(rng)
        if meaning not in seen:
            seen.add(meaning)
            yield meaning


def _meaning(rng: random.Random) -> Meaning:
    kind = rng.choice(sorted(STAGES))
    filters, maps, ends = STAGES[kind]
    # In one order, for which of two filters comes first makes no difference.
    names = sorted(rng.sample(sorted(filters), rng.choice((1, 1, 2))))
    return Meaning(
        kind=kind,
        keep=tuple(_step(name, filters, rng) for name in names),
        map=_step(rng.choice(sorted(maps)), maps, rng),
        end=_step(rng.choice(sorted(ends)), ends, rng),
    )


def _step(name: str, clauses: dict[str, Clause], rng: random.Random) -> Step:
    return Step(name, rng.choice(clauses[name].parameters))


def _row(task: Task, meaning: Meaning, rng: random.Random) -> Row:
    names = {role: rng.choice(known.split()) for role, known in NAMES.items()}
    style = rng.randrange(len(STYLES))
    if task == "code_generation":
        text = _prose(meaning, style, rng)
        context = f"The function is called `{names['function']}`."
    else:
        text = _code(_mistaken(meaning, rng), names, style, rng)
        context = ""
    tests = [
        f"assert {names['function']}({values!r}) == {meaning.run(values)!r}"
        for values in INPUTS[meaning.kind]
    ]
    return {
        "input": text,
        "context": context,
        "reference": _code(meaning, names, style, rng),
        "tests": tests,
        "entry_point": names["function"],
        "language": "python",
    }


def _prose(meaning: Meaning, style: int, rng: random.Random) -> str:
    """Return a text that asks for a function of ``meaning`` in one style."""
    filters, maps, ends = STAGES[meaning.kind]
    many, one = rng.choice(NOUNS[meaning.kind])

    def phrase(step: Step, clauses: dict[str, Clause]) -> str:
        return rng.choice(clauses[step.name].phrases).format(n=many, o=one, p=step.parameter)

    source = rng.choice(SOURCES[meaning.kind])
    scene = f"{rng.choice(WHEN)} {rng.choice(WHO)} {rng.choice(VERBS)} {source}."
    return (
        f"{scene} {rng.choice(OPENINGS).format(source=source)} "
        f"First, it should {' and '.join(phrase(step, filters) for step in meaning.keep)}. "
        f"Then it should {phrase(meaning.map, maps)}. "
        f"Finally, it should {phrase(meaning.end, ends)}. "
        f"{rng.choice(HINTS[style])} {rng.choice(NOTES)}"
    )


def _mistaken(meaning: Meaning, rng: random.Random) -> Meaning:
    """Return a meaning that differs in one step, and on some input that the tests use."""
    filters, maps, ends = STAGES[meaning.kind]
    while True:
        first, *others = meaning.keep
        wrong = rng.choice(
            (
                replace(meaning, keep=(_other(first, filters, rng), *others)),
                replace(meaning, map=_other(meaning.map, maps, rng)),
                replace(meaning, end=_other(meaning.end, ends, rng)),
            )
        )
        if any(wrong.run(values) != meaning.run(values) for values in INPUTS[meaning.kind]):
            return wrong


def _other(step: Step, clauses: dict[str, Clause], rng: random.Random) -> Step:
    """Return a step that may be taken for ``step``: the same with another parameter, or any."""
    return _step(rng.choice((step.name, rng.choice(sorted(clauses)))), clauses, rng)


def _code(meaning: Meaning, names: dict[str, str], style: int, rng: random.Random) -> str:
    """Return one of the functions of ``meaning`` in one style."""
    filters, maps, ends = STAGES[meaning.kind]

    def spell(step: Step, clauses: dict[str, Clause], role: str) -> str:
        spelling = rng.choice(clauses[step.name].spellings)
        return spelling.format(v=names[role], p=step.parameter)

    written = names | {
        "test": " and ".join(spell(step, filters, "value") for step in meaning.keep),
        "map_value": spell(meaning.map, maps, "value"),
        "map_other": spell(meaning.map, maps, "other"),
        "end_built": spell(meaning.end, ends, "built"),
    }
    lines = STYLES[style].format(**written).split("\n")
    body = "\n".join(f"    {line}" if line else line for line in lines)
    return f"def {names['function']}({names['source']}):\n{body}\n"
