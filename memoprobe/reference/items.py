"""Compose the reference model's items: small functions, source -> filter -> map -> end.

A prompt fixes what a function does and its style. The names and spellings of the reference
it does not tell: these a model can only know from having seen the item.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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
from memoprobe.records import Sample, Task

BENCHMARK = "reference"
FUNCTION = "solve"  # every function's name, so that tests can call an answer
TASKS: tuple[Task, ...] = ("code_generation", "program_repair", "code_summarization")

_STAGES: Mapping[str, tuple[Mapping[str, Clause], ...]] = {
    "numbers": (NUMBER_FILTERS, NUMBER_MAPS, NUMBER_ENDS),
    "words": (WORD_FILTERS, WORD_MAPS, WORD_ENDS),
}
_INPUTS: Mapping[str, tuple[list[Any], ...]] = {
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
_NAMES = {
    "source": "nums items data values seq rows entries series inputs records stream feed",
    "kept": "kept chosen good passed picked subset matching selected wanted hits",
    "value": "x n item elem val cur entry obj piece cell",
    "other": "y w z u t k part one it single",
    "result": "result out answer res final ret outcome summary",
    "built": "acc buf bag store heap parts stack output collected pool",
    "changed": "new changed mapped conv tmp fresh moved turned repl formed",
}


class Style(NamedTuple):
    """Hold one way to write the body, how a prompt asks for it, and what goes wrong in it."""

    body: str
    hints: tuple[str, ...]
    mistakes: tuple[tuple[str, str], ...]  # what is right in the body -> what is wrong


_WRONG_END = ("{end_built}", "{end_source}")
_WRONG_RETURN = ("return {result}", "return {built}")
_WRONG_VALUE = ("append({changed})", "append({value})")
STYLES = (
    Style(
        "{kept} = [{value} for {value} in {source} if {test}]\n"
        "{built} = [{map_other} for {other} in {kept}]\n"
        "{result} = {end_built}\n"
        "return {result}",
        (
            "You need to do it with the help of list comprehensions.",
            "Find the result by means of comprehensions.",
        ),
        (_WRONG_END, _WRONG_RETURN, ("in {kept}]", "in {source}]")),
    ),
    Style(
        "{built} = []\n"
        "for {value} in {source}:\n"
        "    if {test}:\n"
        "        {changed} = {map_value}\n"
        "        {built}.append({changed})\n"
        "{result} = {end_built}\n"
        "return {result}",
        (
            "You should do it by means of a plain loop.",
            "Find the result with the help of a plain loop.",
        ),
        (_WRONG_END, _WRONG_RETURN, _WRONG_VALUE),
    ),
    Style(
        "{built} = []\n"
        "for {value} in {source}:\n"
        "    if not ({test}):\n"
        "        continue\n"
        "    {changed} = {map_value}\n"
        "    {built}.append({changed})\n"
        "{result} = {end_built}\n"
        "return {result}",
        (
            "You should do it by means of a loop with a guard.",
            "Find the result with the help of a guard in a loop.",
        ),
        (_WRONG_END, _WRONG_RETURN, _WRONG_VALUE),
    ),
    Style(
        "{kept} = filter(lambda {value}: {test}, {source})\n"
        "{built} = list(map(lambda {other}: {map_other}, {kept}))\n"
        "{result} = {end_built}\n"
        "return {result}",
        (
            "You have to do it by means of filter and map.",
            "Find the result with the help of filter and lambdas.",
        ),
        (_WRONG_END, _WRONG_RETURN, ("{map_other}, {kept}", "{map_other}, {source}")),
    ),
)
# Frames that a rewording reaches: with plainer ones three tenths of a prompt would change at the
# last level, less than of the real benchmarks' prose.
_OPENINGS = (
    "Your task is to write a Python function that takes {source} as input.",
    "You need to implement a Python function that takes {source} as an argument.",
    "Please write a Python function that takes {source} as a parameter.",
    "In this task you have to create a Python function that takes {source} as input.",
    "You will be given {source}, and you should write a Python function.",
    "Your goal is to create a Python function which accepts {source}.",
)
_STEPS = (
    "The function needs to {keep}. As well as this, it must {map}. Finally, it has to {end}.",
    "First, the function should {keep}. Then you need to {map}. Finally, you should {end}.",
    "You have to {keep}. After that, the function must {map}. At the end it needs to {end}.",
)
_SOURCES = {
    "numbers": ("a list of integers", "a list of numbers", "a sequence of integers"),
    "words": ("a list of words", "a list of strings", "a sequence of words"),
}
_NOUNS = {
    "numbers": (("numbers", "number"), ("values", "value"), ("elements", "element")),
    "words": (("words", "word"), ("strings", "string"), ("items", "item")),
}
_NOTES = (
    "You may assume that the input consists of valid {n}.",
    "Be aware of lists that contain the same {o} more than once.",
    "The function must return the result correctly in case there are multiple {n}.",
    "The given list is allowed to contain multiple {n} that are equal to each other.",
    "For example, the given list may contain multiple {n} that are equal.",
    "Find a solution in such a way that the entire list is used exactly once.",
    "Make sure that the function is able to return the result of multiple lists.",
    "Assume that there are multiple ways to find the result.",
    "Note that there is no need to change the given list.",
    "You can assume that each {o} is available in memory.",
)
_SUMMARIES = (
    "Takes {source} to {keep}, then to {map}, and to {end}.",
    "Given {source}, {keep}, {map} and {end}.",
    "This code is used to {keep}. It will then {map} and {end}.",
    "The first step is to {keep}, the next is to {map}, the last to {end}.",
    "Helper to {keep}; after that {map}; at the end {end}.",
    "It will {keep} and {map} in order to {end}.",
    "Out of {source}, {keep}; {map}; {end}.",
    "In short: {keep}, {map}, and finally {end}.",
)


class Step(NamedTuple):
    """Name one clause of a task and its parameter."""

    name: str
    parameter: Any


class Meaning(NamedTuple):
    """Hold what a function does; two functions of one meaning agree on every input."""

    kind: str  # numbers or words
    keep: Step
    map: Step
    end: Step

    def run(self, values: list[Any]) -> object:
        """Return what the function gives for ``values``."""
        filters, maps, ends = _STAGES[self.kind]
        kept = [v for v in values if filters[self.keep.name].apply(v, self.keep.parameter)]
        made = [maps[self.map.name].apply(v, self.map.parameter) for v in kept]
        return ends[self.end.name].apply(made, self.end.parameter)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Hold one item: what is asked and what the corpus answers."""

    task: Task
    text: str
    reference: str
    tests: tuple[str, ...]  # assert statements; none where the answer is prose

    def sample(self, sample_id: str = "", *, control: bool = False) -> Sample:
        """Return the item as the pipeline has it, without its tests."""
        return Sample(
            benchmark=BENCHMARK,
            sample_id=sample_id,
            task=self.task,
            language="python",
            input_kind="prose" if self.task == "code_generation" else "code",
            text=self.text,
            reference=self.reference,
            entry_point=FUNCTION,
            control=control,
        )


def meanings(rng: random.Random) -> Iterator[Meaning]:
    """Yield meanings at random, again and again the same ones."""
    while True:
        kind = rng.choice(sorted(_STAGES))
        yield Meaning(kind, *(_step(clauses, rng) for clauses in _STAGES[kind]))


def _step(clauses: Mapping[str, Clause], rng: random.Random) -> Step:
    name = rng.choice(sorted(clauses))
    return Step(name, rng.choice(clauses[name].parameters))


def compose(task: Task, meaning: Meaning, rng: random.Random) -> Item:
    """Return an item of ``meaning``; what the prompt leaves open is drawn from ``rng``."""
    names = _names(rng)
    style = rng.choice(STYLES)
    code = _code(style.body, meaning, names, rng)
    tests = tuple(
        f"assert {FUNCTION}({values!r}) == {meaning.run(values)!r}"
        for values in _INPUTS[meaning.kind]
    )
    if task == "code_generation":
        return Item(task=task, text=_prose(meaning, style, rng), reference=code, tests=tests)
    if task == "code_summarization":
        phrases = _phrases(meaning, rng)
        return Item(
            task=task, text=code, reference=rng.choice(_SUMMARIES).format(**phrases), tests=()
        )
    right, wrong = rng.choice(_possible(style, meaning))
    # The fix is by another hand: it keeps the interface, and has its own names and spellings.
    others = _names(rng) | {"source": names["source"]}
    return Item(
        task=task,
        text=_code(style.body.replace(right, wrong), meaning, names, rng),
        reference=_code(style.body, meaning, others, rng),
        tests=tests,
    )


def _names(rng: random.Random) -> dict[str, str]:
    return {role: rng.choice(known.split()) for role, known in _NAMES.items()}


def _possible(style: Style, meaning: Meaning) -> list[tuple[str, str]]:
    """Return the mistakes that change what the function does."""
    # Where the end leaves the list as it is, returning it is right.
    return [m for m in style.mistakes if m != _WRONG_RETURN or meaning.end.name != "plain"]


def _phrases(meaning: Meaning, rng: random.Random) -> dict[str, str]:
    many, one = rng.choice(_NOUNS[meaning.kind])
    steps = zip(("keep", "map", "end"), meaning[1:], _STAGES[meaning.kind], strict=True)
    said = {
        slot: rng.choice(clauses[step.name].phrases).format(n=many, o=one, p=step.parameter)
        for slot, step, clauses in steps
    }
    return said | {"n": many, "o": one, "source": rng.choice(_SOURCES[meaning.kind])}


def _prose(meaning: Meaning, style: Style, rng: random.Random) -> str:
    """Return a text that asks for a function of ``meaning`` in one style."""
    said = _phrases(meaning, rng)
    sentences = [
        rng.choice(_OPENINGS),
        rng.choice(_STEPS),
        rng.choice(style.hints),
        *rng.sample(_NOTES, 2),
    ]
    return " ".join(sentences).format(**said)


def _code(body: str, meaning: Meaning, names: Mapping[str, str], rng: random.Random) -> str:
    """Return one of the functions of ``meaning`` with a given body and given names."""
    filters, maps, ends = _STAGES[meaning.kind]

    def spell(step: Step, clauses: Mapping[str, Clause], role: str) -> str:
        spelling = rng.choice(clauses[step.name].spellings)
        return spelling.format(v=names[role], p=step.parameter)

    lines = body.format(
        **names,
        test=spell(meaning.keep, filters, "value"),
        map_value=spell(meaning.map, maps, "value"),
        map_other=spell(meaning.map, maps, "other"),
        end_built=spell(meaning.end, ends, "built"),
        end_source=spell(meaning.end, ends, "source"),
    ).split("\n")
    return "\n".join([f"def {FUNCTION}({names['source']}):", *(f"    {line}" for line in lines)])
