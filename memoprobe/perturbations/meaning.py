"""Notice where a model's rewording says something else; what it lost is ``protected``'s part.

These are signs, not proofs: a negation that came or went, an opposite that was not there, a text
that is far shorter or longer, or one that shares no word with the original.
"""

import re
from collections.abc import Iterator

from memoprobe.languages import words

_NEGATIONS = re.compile(
    r"\b(?:not|no|none|never|neither|nor|nothing|without|except|cannot)\b|n['\u2019]t\b"
    r"|\bun(?:less|equal|sorted|ordered)\b",
    re.IGNORECASE,
)
# What one side says and the other denies; a word counts with its usual endings.
_OPPOSITES = """
largest maximum biggest greatest highest longest max / smallest minimum lowest least shortest min
larger greater more bigger longer above exceeds / smaller less fewer lower shorter below
ascending increasing / descending decreasing
first / last
even / odd
left / right
before / after
start begin prefix / end finish suffix
uppercase upper capital / lowercase lower small
row / column
vowel / consonant
positive / negative
prime / composite
add sum plus total / subtract difference minus
multiply product / divide quotient
minutes / hours
true / false
all every each both / any either some
union / intersection
horizontal / vertical
unique distinct / duplicate repeated
inclusive included / exclusive excluded
"""
_LEAST_SHARE, _MOST_SHARE = 0.4, 2.5  # of the original's number of words


def _pairs() -> Iterator[tuple[re.Pattern[str], re.Pattern[str]]]:
    for line in _OPPOSITES.strip().splitlines():
        here, there = (side.replace(" ", "|") for side in line.split(" / "))
        yield tuple(  # type: ignore[misc]  # two of them
            re.compile(rf"\b(?:{side})(?:s|es|ed|d|ing)?\b", re.IGNORECASE)
            for side in (here, there)
        )


_SIDES = tuple(_pairs())


def drift(original: str, candidate: str) -> str | None:
    """Return in one word how a candidate strays from ``original``, None if it seems not to."""
    here, there = words(original.casefold()), words(candidate.casefold())
    if not _LEAST_SHARE * len(here) <= len(there) <= _MOST_SHARE * len(here) + 3:
        return "length"
    if not {word for word in here if word.isalpha()} & set(there):
        return "stranger"
    if bool(_NEGATIONS.search(original)) != bool(_NEGATIONS.search(candidate)):
        return "negation"
    for one, other in (pair for sides in _SIDES for pair in (sides, sides[::-1])):
        if one.search(original) and not other.search(original) and other.search(candidate):
            return "opposite"
    return None
