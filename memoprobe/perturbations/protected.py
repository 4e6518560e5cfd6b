"""Find what a perturbation of prose must not touch, and check that it was not touched."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from memoprobe.records import Sample

Span = tuple[int, int]

_HEADING = r"(?:for[ \t]+)?(?:e?x+am[pb]les?|sample|test cases?)\b[^\n]{0,12}"
_LABEL = (
    r"(?:input|output|explanation|constraints?|variables?|args|arguments|parameters|returns?)"
    r"[ \t]*:"
)
_REST = r"[^\n]*(?:\n(?![ \t]*$)[^\n]*)*"  # to the next blank line
# Whole lines that are no prose; sentences end at them.
_BLOCKS = re.compile(
    "|".join(
        (
            r"^[ \t]*```.*?(?:^[ \t]*```[ \t]*$|\Z)",
            rf"^[ \t]*>>>{_REST}",
            rf"^[ \t]*{_HEADING}$(?:\n[ \t]*$)*(?:\n(?![ \t]*$){_REST})?",
            rf"^[ \t]*{_LABEL}{_REST}",
            r"^[^\n]*(?:➞|==?>|->|==|:=|\S[ ]{4,}\S|[ \t]\|[ \t])[^\n]*$",
            r"^[ \t]*(?:\#[ \t\d]|@\w|assert\b|def\b|class \w+[(:]|import\b)[^\n]*$",
            r"^[ \t]*(?:[\w.]+[ \t]*=(?!=)|return[ \t]*[=\[])[^\n]*$",
        )
    ),
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_LITERAL = re.compile(r"\"[^\"\n]*(?:\n[^\"\n]*)?\"|(?<![\w'])'[^'\n]+'(?!\w)|“[^”\n]*”")
_CODE_SPAN = re.compile(r"```.*?```|`[^`'\n]+[`']", re.DOTALL)
_NUMBER = re.compile(
    r"\d+(?:\.\d+)?|\b(?:zero|two|three|four|five|six|seven|eight|nine|ten|twice|double|half)\b",
    re.IGNORECASE,
)
_IDENTIFIER = re.compile(
    r"\w*[^\W_]_\w*|\b_\w+|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z0-9]+[A-Z]\w*|\b[A-Z]{2,}[A-Z0-9]*\b"
    r"|\b[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|\b\w+(?=\()|(?<!['\u2019])\b[b-zB-HJ-Z]\b"
)
_OTHER = re.compile(
    r"\S*(?:[\d=<>^|*+%≤≥\\/@~]|&&)\S*|\w+\([^()\n]*\)|\[[^\]\n]*\]|\b(?:true|false|none|null|nil)\b",
    re.IGNORECASE,
)
_QUOTES = "\"'`\\"
# An opening marker of a list or of a heading, an abbreviation's full stop.
_MARKER = re.compile(r"(?:\s|[-*•#>]+\s|\d+[.)]\s|\")*")
_BREAK = re.compile(
    r"\n[ \t]*\n|\n(?=[ \t]*(?:[-*•]|\d+[.)])\s)"
    r"|(?P<doubt>\n(?=[ \t]*(?!True|False|None)[A-Z][a-z]+\b))"
    r"|(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!etc\.)(?<!\.\.)\s+"
)


class Sentence(NamedTuple):
    """Place a sentence in its text; ``closed`` where it surely ends there."""

    start: int
    end: int
    closed: bool


class Facts(NamedTuple):
    """Hold what a reworded text must still say."""

    numbers: Counter[str]
    literals: Counter[str]
    code: Counter[str]
    examples: Counter[str]
    identifiers: frozenset[str]


def task_identifiers(sample: Sample) -> frozenset[str]:
    """Return the names a task is about: its function and the parameters in its context."""
    name = re.escape(sample.entry_point) if sample.entry_point else r"\w+"
    found = {sample.entry_point} if sample.entry_point else set()
    for signature in re.finditer(rf"\bdef\s+{name}\s*\(([^)]*)\)", sample.context):
        found |= set(re.findall(r"(?:^|,)\s*\*{0,2}(\w+)\s*(?=[:=,]|$)", signature[1]))
    return frozenset(found)


def blocks(text: str) -> list[Span]:
    """Return the runs of whole lines that are examples, code or input and output blocks."""
    return [match.span() for match in _BLOCKS.finditer(text) if match.end() > match.start()]


def protected(text: str, identifiers: Iterable[str]) -> list[Span]:
    """Return the spans that stay as they are, merged and in order."""
    spans = blocks(text)
    patterns = [_LITERAL, _CODE_SPAN, _NUMBER, _IDENTIFIER, _OTHER]
    patterns += [re.compile(rf"\b{re.escape(name)}\b") for name in sorted(identifiers)]
    for pattern in patterns:
        spans += [match.span() for match in pattern.finditer(text)]
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def touches(spans: list[Span], start: int, end: int) -> bool:
    """Tell whether [start, end) overlaps one of the merged ``spans``."""
    index = bisect_left(spans, (end, end))
    return index > 0 and spans[index - 1][1] > start and spans[index - 1][0] < end


def sentences(text: str) -> list[Sentence]:
    """Return the sentences outside of the blocks, without list markers and outer space."""
    found, position = [], 0
    for start, end in [*blocks(text), (len(text), len(text))]:
        breaks = [
            (*match.span(), match["doubt"]) for match in _BREAK.finditer(text, position, start)
        ]
        for stop, resume, doubt in [*breaks, (start, start, None)]:
            first = _MARKER.match(text, position, stop)
            begin = first.end() if first else position
            last = begin + len(text[begin:stop].rstrip())
            if re.search(r"[^\W\d]", text[begin:last]):
                found.append(Sentence(begin, last, doubt is None or text[last - 1] in ".!?"))
            position = resume
        position = end
    return found


def facts(text: str, identifiers: Iterable[str]) -> Facts:
    """Return what ``text`` says that a paraphrase may not lose (METHOD 2.4)."""
    named = {name for name in identifiers if re.search(rf"\b{re.escape(name)}\b", text)}
    return Facts(
        Counter(number.lower() for number in _NUMBER.findall(text)),
        Counter(_LITERAL.findall(text)),
        Counter(_CODE_SPAN.findall(text)),
        Counter(text[start:end].strip() for start, end in blocks(text)),
        frozenset(named | set(_IDENTIFIER.findall(text))),
    )


def loss(original: str, said: Facts, candidate: str) -> str | None:
    """Return what a candidate lost or changed against ``original`` in one word, None if nothing."""
    there = Counter(number.lower() for number in _NUMBER.findall(candidate))
    if there != said.numbers:
        return "number"
    for reason, parts in (
        ("literal", said.literals),
        ("code", said.code),
        ("example", said.examples),
    ):
        if any(candidate.count(part) < count for part, count in parts.items()):
            return reason
    if not all(
        re.search(rf"(?<!\w){re.escape(name)}(?!\w)", candidate) for name in said.identifiers
    ):
        return "identifier"
    if any(candidate.count(mark) > original.count(mark) for mark in _QUOTES):
        return "quote"
    return None
