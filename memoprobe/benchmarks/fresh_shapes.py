"""List the shapes of fresh tasks: how steps make a function, in prose, in code and as a function.

A template of prose or code names a step by its slot: ``{keep}`` is the step as an order,
``{keep_is}`` as a property of one value, ``{map_of}`` as a noun; in code ``{map[value]}`` is
its expression on what is called ``value``. All other names in braces are those of variables.
As in fresh_clauses, ``run`` is written independently of the code.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from memoprobe.benchmarks.fresh_clauses import (
    FEW,
    NUMBER_ENDS,
    NUMBER_FILTERS,
    NUMBER_MAPS,
    WORD_ENDS,
    WORD_FILTERS,
    WORD_MAPS,
    Clause,
)

Steps = Mapping[str, Callable[[Any], Any]]
"""The functions of the chosen steps by slot, each of one argument."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Hold one way to make a function of steps."""

    slots: Mapping[str, str]  # slot -> which of TABLES its step is from
    kinds: tuple[str, ...] = ("numbers", "words")
    phrases: tuple[str, ...]
    styles: tuple[str, ...]  # bodies of the function
    run: Callable[[list[Any], Steps], Any]
    tables: Mapping[str, str] = field(default_factory=dict)  # kind -> kind of TABLES for "end"


SIZES = {"size": Clause(phrases=("{p}",), spellings=("{p}",), apply=lambda _, p: p, parameters=FEW)}
TABLES: Mapping[str, Mapping[str, Mapping[str, Clause]]] = {
    "numbers": {
        "filter": NUMBER_FILTERS,
        "map": NUMBER_MAPS,
        "end": NUMBER_ENDS,
        "key": {name: NUMBER_MAPS[name] for name in ("remainder", "size", "square")},
        "total": {name: NUMBER_ENDS[name] for name in ("sum", "largest", "smallest", "count")},
        "size": SIZES,
    },
    "words": {
        "filter": WORD_FILTERS,
        "map": WORD_MAPS,
        "end": WORD_ENDS,
        "key": {name: WORD_MAPS[name] for name in ("initial", "final", "cut")},
        "total": {name: WORD_ENDS[name] for name in ("count", "join", "smallest", "plain")},
        "size": SIZES,
    },
}
_COUNTED = {"numbers": "numbers", "words": "numbers"}  # its results are numbers

PROPERTIES = {  # of one value, by the name of a filter
    "even": "is even",
    "odd": "is odd",
    "positive": "is positive",
    "negative": "is negative",
    "above": "is greater than {p}",
    "below": "is less than {p}",
    "multiple": "is a multiple of {p}",
    "other": "is not equal to {p}",
    "longer": "has more than {p} letters",
    "shorter": "has fewer than {p} letters",
    "starts": 'starts with "{p}"',
    "ends": 'ends with "{p}"',
    "has": 'contains "{p}"',
    "lacks": 'does not contain "{p}"',
}
NOUNS = {  # of one value or one list, by the name of a map or an end
    "square": "its square",
    "double": "twice its value",
    "negate": "its opposite",
    "size": "its absolute value",
    "add": "its sum with {p}",
    "subtract": "its value minus {p}",
    "scale": "{p} times its value",
    "remainder": "its remainder by {p}",
    "upper": "its uppercase form",
    "reverse": "its reversed form",
    "initial": "its first letter",
    "final": "its last letter",
    "repeat": "{p} copies of it in a row",
    "cut": "its first {p} letters",
    "sorted": "its letters in alphabetical order",
    "sum": "their sum",
    "count": "their number",
    "distinct": "the number of different ones among them",
    "largest": "the largest of them",
    "smallest": "the smallest of them",
    "join": "all of them joined with dashes",
    "plain": "the list of them",
}


def _runs(values: list[Any], holds: Callable[[Any], bool]) -> list[int]:
    """Return the lengths of the runs of neighbours for which ``holds`` is true."""
    marks = "".join("x" if holds(value) else " " for value in values)
    return [len(run) for run in marks.split()]


def _restarted(values: list[int], holds: Callable[[Any], bool]) -> list[int]:
    """Return the running totals at which ``holds`` is true; after each the total is 0 again."""
    reached: list[int] = []
    start = 0
    for end in range(1, len(values) + 1):
        if holds(sum(values[start:end])):
            reached.append(sum(values[start:end]))
            start = end
    return reached


def _grouped(values: list[Any], steps: Steps) -> dict[Any, Any]:
    keys = {steps["key"](value) for value in values}
    return {
        key: steps["total"]([value for value in values if steps["key"](value) == key])
        for key in keys
    }


SHAPES: Mapping[str, Shape] = {
    "pipeline": Shape(
        slots={"keep": "filter", "map": "map", "end": "end"},
        phrases=(
            "First, it should {keep}. Then it should {map}. Finally, it should {end}.",
            "It should {keep}, then {map}, and at last {end}.",
            "The function has to {keep} and to {map}; after that, it has to {end}.",
        ),
        styles=(
            "{kept} = [{value} for {value} in {source} if {keep[value]}]\n"
            "{built} = [{map[other]} for {other} in {kept}]\n"
            "return {end[built]}",
            "{built} = []\nfor {value} in {source}:\n    if {keep[value]}:\n"
            "        {built}.append({map[value]})\n{result} = {end[built]}\nreturn {result}",
            "{built} = []\nfor {value} in {source}:\n    if not ({keep[value]}):\n"
            "        continue\n    {changed} = {map[value]}\n    {built} += [{changed}]\n"
            "return {end[built]}",
            "{kept} = filter(lambda {value}: {keep[value]}, {source})\n"
            "{built} = list(map(lambda {other}: {map[other]}, {kept}))\n"
            "{result} = {end[built]}\nreturn {result}",
        ),
        run=lambda a, s: s["end"]([s["map"](x) for x in a if s["keep"](x)]),
    ),
    "stairs": Shape(
        slots={"keep": "filter", "map": "map", "map2": "map", "end": "end"},
        phrases=(
            "It should {keep}. Each that is left is replaced with {map_of}, and what that gives "
            "with {map2_of}. At the end it should {end}.",
            "Only the {n} of which each {keep_is} count. Replace each with {map_of} and the result "
            "again with {map2_of}, then {end}.",
        ),
        styles=(
            "{built} = []\nfor {value} in {source}:\n    if {keep[value]}:\n"
            "        {changed} = {map[value]}\n        {built}.append({map2[changed]})\n"
            "return {end[built]}",
            "{kept} = [{map[value]} for {value} in {source} if {keep[value]}]\n"
            "{built} = [{map2[other]} for {other} in {kept}]\n"
            "{result} = {end[built]}\nreturn {result}",
            "def {changed}({other}):\n    {entry} = {map[other]}\n    return {map2[entry]}\n\n"
            "{built} = [{changed}({value}) for {value} in {source} if {keep[value]}]\n"
            "return {end[built]}",
        ),
        run=lambda a, s: s["end"]([s["map2"](s["map"](x)) for x in a if s["keep"](x)]),
    ),
    "either": Shape(
        slots={"keep": "filter", "keep2": "filter", "end": "end"},
        phrases=(
            "Keep every {o} that {keep_is} or {keep2_is}, or both, and drop the rest; then {end}.",
            "A {o} counts if it {keep_is} or if it {keep2_is}. Taking only those, {end}.",
        ),
        styles=(
            "{kept} = [{value} for {value} in {source} if {keep[value]} or {keep2[value]}]\n"
            "return {end[kept]}",
            "{kept} = []\nfor {value} in {source}:\n    if {keep[value]}:\n"
            "        {kept}.append({value})\n    elif {keep2[value]}:\n"
            "        {kept}.append({value})\nreturn {end[kept]}",
            "def {changed}({other}):\n    return {keep[other]} or {keep2[other]}\n\n"
            "{kept} = list(filter({changed}, {source}))\n{result} = {end[kept]}\n"
            "return {result}",
        ),
        run=lambda a, s: s["end"]([x for x in a if s["keep"](x) or s["keep2"](x)]),
    ),
    "switch": Shape(
        slots={"keep": "filter", "map": "map", "map2": "map", "end": "end"},
        phrases=(
            "Each {o} that {keep_is} is replaced with {map_of}, every other one with {map2_of}. "
            "The function should {end}.",
            "If a {o} {keep_is}, take {map_of}; otherwise take {map2_of}. Then {end}.",
        ),
        styles=(
            "{built} = [{map[value]} if {keep[value]} else {map2[value]} for {value} in {source}]\n"
            "return {end[built]}",
            "{built} = []\nfor {value} in {source}:\n    if {keep[value]}:\n"
            "        {changed} = {map[value]}\n    else:\n        {changed} = {map2[value]}\n"
            "    {built}.append({changed})\nreturn {end[built]}",
            "def {changed}({other}):\n    if {keep[other]}:\n        return {map[other]}\n"
            "    return {map2[other]}\n\n{built} = list(map({changed}, {source}))\n"
            "{result} = {end[built]}\nreturn {result}",
        ),
        run=lambda a, s: s["end"]([s["map" if s["keep"](x) else "map2"](x) for x in a]),
    ),
    "until": Shape(
        slots={"keep": "filter", "map": "map", "end": "end"},
        phrases=(
            "Go through the {n} in order and stop at the first {o} that {keep_is}; that one and "
            "all after it are left out. Replace each of the others with {map_of}, then {end}.",
            "Take the {n} as long as none of them {keep_is}. With {map_of} in the place of each, "
            "it should {end}.",
        ),
        styles=(
            "{built} = []\nfor {value} in {source}:\n    if {keep[value]}:\n        break\n"
            "    {built}.append({map[value]})\nreturn {end[built]}",
            "{built}, {index} = [], 0\nwhile {index} < len({source}):\n"
            "    {value} = {source}[{index}]\n    if {keep[value]}:\n        break\n"
            "    {built} += [{map[value]}]\n    {index} += 1\n"
            "{result} = {end[built]}\nreturn {result}",
        ),
        run=lambda a, s: s["end"]([s["map"](x) for x in takewhile(lambda x: not s["keep"](x), a)]),
    ),
    "runs": Shape(
        slots={"keep": "filter", "end": "end"},
        tables=_COUNTED,
        phrases=(
            "Find all runs of neighbouring {n} of which each {keep_is}, as long as they can be, "
            "and take their lengths in order; then {end}.",
            "A run is an unbroken row of {n} of which each {keep_is}, with no such {o} just before "
            "or after it. From the lengths of all runs, it should {end}.",
        ),
        styles=(
            "{built}, {index} = [], 0\nfor {value} in {source}:\n    if {keep[value]}:\n"
            "        {index} += 1\n    elif {index}:\n        {built}.append({index})\n"
            "        {index} = 0\nif {index}:\n    {built}.append({index})\nreturn {end[built]}",
            "{built}, {entry} = [], False\nfor {value} in {source}:\n    {other} = {keep[value]}\n"
            "    if {other} and {entry}:\n        {built}[-1] += 1\n    elif {other}:\n"
            "        {built}.append(1)\n    {entry} = {other}\n{result} = {end[built]}\n"
            "return {result}",
        ),
        run=lambda a, s: s["end"](_runs(a, s["keep"])),
    ),
    "steps": Shape(
        slots={"keep": "filter", "end": "end"},
        kinds=("numbers",),
        phrases=(
            "From each {o} but the first, subtract the one before it. Of these differences keep "
            "each that {keep_is}, then {end}.",
            "Look at how much each {o} exceeds its predecessor; a difference counts only if it "
            "{keep_is}. From those that count, {end}.",
        ),
        styles=(
            "{built} = [{other} - {value} for {value}, {other} in zip({source}, {source}[1:])]\n"
            "{kept} = [{changed} for {changed} in {built} if {keep[changed]}]\n"
            "return {end[kept]}",
            "{kept} = []\nfor {index} in range(1, len({source})):\n"
            "    {changed} = {source}[{index}] - {source}[{index} - 1]\n    if {keep[changed]}:\n"
            "        {kept}.append({changed})\n{result} = {end[kept]}\nreturn {result}",
        ),
        run=lambda a, s: s["end"]([d for d in map(lambda x, y: y - x, a, a[1:]) if s["keep"](d)]),
    ),
    "windows": Shape(
        slots={"size": "size", "total": "total", "end": "end"},
        kinds=("numbers",),
        phrases=(
            "For every {size} {n} in a row, take {total_of}. It should then {end}.",
            "Slide a window over {size} neighbouring {n} at a time and note {total_of}; from what "
            "was noted, {end}.",
        ),
        styles=(
            "{built} = []\nfor {index} in range(len({source}) - {size[value]} + 1):\n"
            "    {kept} = {source}[{index}:{index} + {size[value]}]\n"
            "    {built}.append({total[kept]})\nreturn {end[built]}",
            "{built}, {kept} = [], []\nfor {value} in {source}:\n    {kept}.append({value})\n"
            "    if len({kept}) > {size[value]}:\n        {kept}.pop(0)\n"
            "    if len({kept}) == {size[value]}:\n        {built}.append({total[kept]})\n"
            "{result} = {end[built]}\nreturn {result}",
        ),
        run=lambda a, s: s["end"](
            [s["total"](a[k - s["size"](0) : k]) for k in range(s["size"](0), len(a) + 1)]
        ),
    ),
    "groups": Shape(
        slots={"key": "key", "total": "total"},
        phrases=(
            "Put the {n} into groups: two belong together if {key_of} is the same for both. Return "
            "a dictionary from what they share to {total_of}.",
            "Return a dictionary: for each {o}, {key_of} is a key, and for all the {n} with the "
            "same key the value is {total_of}.",
        ),
        styles=(
            "{built} = {{}}\nfor {value} in {source}:\n"
            "    {built}.setdefault({key[value]}, []).append({value})\n"
            "return {{{other}: {total[kept]} for {other}, {kept} in {built}.items()}}",
            "{built} = {{}}\nfor {value} in {source}:\n    {changed} = {key[value]}\n"
            "    if {changed} not in {built}:\n        {built}[{changed}] = []\n"
            "    {built}[{changed}].append({value})\n{result} = {{}}\n"
            "for {other} in {built}:\n    {kept} = {built}[{other}]\n"
            "    {result}[{other}] = {total[kept]}\nreturn {result}",
        ),
        run=_grouped,
    ),
    "places": Shape(
        slots={"keep": "filter", "end": "end"},
        tables=_COUNTED,
        phrases=(
            "Find the positions, counted from 0, of all {n} of which each {keep_is}; then {end}.",
            "The results are the indices of every {o} that {keep_is}, the first index being 0. "
            "The function should {end}.",
        ),
        styles=(
            "{kept} = [{index} for {index}, {value} in enumerate({source}) if {keep[value]}]\n"
            "return {end[kept]}",
            "{kept} = []\nfor {index} in range(len({source})):\n    {value} = {source}[{index}]\n"
            "    if {keep[value]}:\n        {kept}.append({index})\n{result} = {end[kept]}\n"
            "return {result}",
        ),
        run=lambda a, s: s["end"]([k for k, x in enumerate(a) if s["keep"](x)]),
    ),
    "totals": Shape(
        slots={"keep": "filter", "end": "end"},
        kinds=("numbers",),
        phrases=(
            "Add up the {n} one by one. Whenever the total so far {keep_is}, note it and begin "
            "again from 0. From the noted totals, {end}.",
            "Keep a running total that starts at 0. As soon as it {keep_is} after a {o} was added, "
            "it is a result and is set back to 0. The function should {end}.",
        ),
        styles=(
            "{built}, {changed} = [], 0\nfor {value} in {source}:\n    {changed} += {value}\n"
            "    if {keep[changed]}:\n        {built}.append({changed})\n        {changed} = 0\n"
            "return {end[built]}",
            "{built}, {changed}, {index} = [], 0, 0\nwhile {index} < len({source}):\n"
            "    {changed} = {changed} + {source}[{index}]\n    {index} += 1\n"
            "    if not ({keep[changed]}):\n        continue\n    {built}.append({changed})\n"
            "    {changed} = 0\n{result} = {end[built]}\nreturn {result}",
        ),
        run=lambda a, s: s["end"](_restarted(a, s["keep"])),
    ),
    "turns": Shape(
        slots={"map": "map", "map2": "map", "end": "end"},
        phrases=(
            "Replace the first {o}, the third and so on with {map_of}, and the second, the fourth "
            "and so on with {map2_of}. Then {end}.",
            "By turns, a {o} becomes {map_of} (the first one) or {map2_of} (the next one). After "
            "that, {end}.",
        ),
        styles=(
            "{built} = []\nfor {index}, {value} in enumerate({source}):\n"
            "    if {index} % 2 == 0:\n        {built}.append({map[value]})\n    else:\n"
            "        {built}.append({map2[value]})\nreturn {end[built]}",
            "{built} = list({source})\n"
            "{built}[::2] = [{map[value]} for {value} in {source}[::2]]\n"
            "{built}[1::2] = [{map2[other]} for {other} in {source}[1::2]]\n"
            "{result} = {end[built]}\nreturn {result}",
        ),
        run=lambda a, s: s["end"]([s["map2" if k % 2 else "map"](x) for k, x in enumerate(a)]),
    ),
}
