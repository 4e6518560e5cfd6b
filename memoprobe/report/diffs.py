"""Tell word by word how a text differs from another."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Literal, NamedTuple

SHOWN_CHARACTERS = 4_000
"""How much of one prompt or answer a report shows."""

_MAX_PAIRS = 100_000
"""How many pairs of equal words are compared before lines take the place of words."""

_WORD = re.compile(r"\w+\s*|[^\w\s]\s*|\s+")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


class Segment(NamedTuple):
    """Hold a run of text that stayed, went or came."""

    kind: Literal["same", "del", "ins"]
    text: str


def shortened(text: str) -> str:
    """Return the part of ``text`` that is shown, and how much is left out."""
    left = len(text) - SHOWN_CHARACTERS
    return text if left <= 0 else f"{text[:SHOWN_CHARACTERS]}\n… {left:,} more characters"


def segments(before: str, after: str) -> list[Segment]:
    """Return how ``after`` came from ``before``, compared word by word.

    Joining the texts of all but the "ins" gives ``before``, of all but the "del"
    ``after``. Where words would take too long (a text of one word repeated), lines
    are compared, and where these would as well, the changed part is taken whole.
    """
    old, new = _WORD.findall(before), _WORD.findall(after)
    if _pairs(old, new) > _MAX_PAIRS:
        old, new = _LINE.findall(before), _LINE.findall(after)
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    ends = old[:head], old[len(old) - tail :]
    old, new = old[head : len(old) - tail], new[head : len(new) - tail]
    changed = _matched(old, new) if _pairs(old, new) <= _MAX_PAIRS else _replaced(old, new)
    first, last = (Segment("same", "".join(end)) for end in ends)
    return [part for part in (first, *changed, last) if part.text]


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    pairs = zip(old, new, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _pairs(old: Sequence[str], new: Sequence[str]) -> int:
    counted = Counter(new)
    return sum(count * counted[word] for word, count in Counter(old).items())


def _replaced(old: Sequence[str], new: Sequence[str]) -> Iterator[Segment]:
    yield Segment("del", "".join(old))
    yield Segment("ins", "".join(new))


def _matched(old: Sequence[str], new: Sequence[str]) -> Iterator[Segment]:
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        if tag == "equal":
            yield Segment("same", "".join(old[start:end]))
        else:
            yield from _replaced(old[start:end], new[new_start:new_end])
