"""Notice where a model's rewording says something else; what it lost is ``protected``'s part.

These are signs, not proofs: a term, a symbol or a negation that came or went, an opposite that was
not there, a text that is far shorter or longer, or one that shares no word with the original.
"""

import re
from collections import Counter
from functools import cache

from memoprobe.languages import words

_SYMBOLS = re.compile(r"[<>=≤≥≠+*/%^|&~]+")
_NEGATIONS = re.compile(
    r"\b(?:not|no|none|never|neither|nor|nothing|without|except|cannot)\b|n['\u2019]t\b"
    r"|\bunless\b|\bnon\b|\b(?:un|in)(?:equal|sorted|ordered|valid)\b",
    re.IGNORECASE,
)
_NO_NEGATION = re.compile(r",?\s+or not\b", re.IGNORECASE)  # at the end of "whether ..."
# Words of one line mean the same to whoever writes the program; none may come or go.
_TERMS = """
even
odd
prime
median
average mean
cumulative running
product
factorial
fibonacci
palindrome palindromic
anagram
permutation
combination
subset
substring
subarray sublist
subsequence
prefix
suffix
unique distinct
duplicate
consecutive successive contiguous
adjacent neighboring neighbouring
ascending increasing
descending decreasing
reverse reversed reversing
vowel
consonant
uppercase upper capital
lowercase lower
binary
hexadecimal
octal
decimal
matrix matrices
tuple
dictionary dictionaries
list array sequence
string
stack
queue
tree
graph
heap
bracket parenthesis parentheses
perimeter
area
volume
diameter
radius
circumference
triangle
rectangle
square
cube
cylinder
divisor factor
remainder modulo modulus
absolute
index indices indexes position
recursive recursion recursively
regex
lambda
polynomial
coefficient
digit
vertical
horizontal
diagonal
row
column
negative
positive
"""
# What one side says and the other denies; synonyms that are no terms may stand for either.
_OPPOSITES = """
largest maximum biggest greatest max / smallest minimum least min
highest longest / lowest shortest
larger greater more bigger longer above exceed higher / smaller less fewer lower shorter below
first initial / last final
left / right
before / after
start begin / end finish
sum plus / difference minus
multiply multiplied / divide divided
true / false
all every each both / any either
union / intersection
inclusive included include / exclusive excluded exclude
same equal identical / different
"""
_LEAST_SHARE, _MOST_SHARE = 0.4, 2.0  # of the original's number of words


def drift(original: str, candidate: str) -> str | None:
    """Return in one word how a candidate strays from ``original``, None if it seems not to."""
    here, there = words(original.casefold()), words(candidate.casefold())
    if not _LEAST_SHARE * len(here) <= len(there) <= _MOST_SHARE * len(here) + 3:
        return "length"
    if not {word for word in here if word.isalpha()} & set(there):
        return "stranger"
    if Counter(_SYMBOLS.findall(original)) != Counter(_SYMBOLS.findall(candidate)):
        return "symbol"
    if _denies(original) != _denies(candidate):
        return "negation"
    if _said(_terms(), original) != _said(_terms(), candidate):
        return "term"
    if any(_turned(_said(sides, original), _said(sides, candidate)) for sides in _opposites()):
        return "opposite"
    return None


def _denies(text: str) -> bool:
    return _NEGATIONS.search(_NO_NEGATION.sub("", text)) is not None


def _said(groups: tuple[re.Pattern[str], ...], text: str) -> list[bool]:
    """Return of which groups of words a text has any."""
    return [group.search(text) is not None for group in groups]


def _turned(here: list[bool], there: list[bool]) -> bool:
    """Tell whether of two opposites one that was not there came, or one of both went."""
    return there != here and any(there) and any(here)


@cache
def _terms() -> tuple[re.Pattern[str], ...]:
    return tuple(map(_group, _TERMS.strip().splitlines()))


@cache
def _opposites() -> tuple[tuple[re.Pattern[str], ...], ...]:
    lines = _OPPOSITES.strip().splitlines()
    return tuple(tuple(map(_group, line.split(" / "))) for line in lines)


def _group(line: str) -> re.Pattern[str]:
    """Return a pattern for any of some words, with their usual endings."""
    return re.compile(rf"\b(?:{line.replace(' ', '|')})(?:s|es|ed|d|ing)?\b", re.IGNORECASE)
