"""Measure whether an answer gives the reference's label: a verdict, a weakness or a choice.

A reference is a label if it is ``yes`` or ``no``, a weakness such as ``CWE-79``, or choices
such as ``B|D``, the best first. What is looked for in the answer is data, below: the first
pattern that fits decides. An answer without any label agrees with none.
"""

import re
from collections.abc import Callable

_SECOND_BEST = 0.5

_VERDICTS = tuple(
    re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for pattern in (
        # It says which word is the answer, or a line is nothing else: the last one counts.
        r"(?s:.*)\b(?:answer|verdict|label|conclusion|vulnerable)\b[\s*_`\"':=]*(?:is\b)?"
        r"[\s*_`\"':=]*\b(?P<label>yes|no|true|false)\b",
        r"(?s:.*)^[\s*_`\"'>#-]*(?P<label>yes|no)[\s*_`\"'.!]*$",
        r"\A[\s*_`\"'>#-]*(?P<label>yes|no)\b",
        r"(?P<label>\b(?:not|no|never|without|free\s+of)|n't)"
        r"\s+(?:(?!safe|secure)\w+\s+){0,3}vulnerab",
        r"\b(?P<label>is|contains|has)\s+(?:\w+\s+){0,3}vulnerab",
    )
)
_YES = frozenset({"yes", "true", "is", "contains", "has"})
_WEAKNESS = re.compile(r"\bCWE[-\s]?0*(\d+)\b", re.IGNORECASE)
_CHOICES = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"(?i:\b(?:answer|choice|option)\b)[\s*_`\"':=]*(?i:is\b)?[\s*_`\"':=(]*\b([A-Z])\b",
        r"^[\s*_`\"'(]*([A-Z])(?:[\s.):*_`\"'|,]|$)",
        r"\b([A-Z])\b[.):]",
    )
)


def label(answer: str, reference: str, _language: str) -> float:
    """Return 1.0 where the answer's label is the reference's, in [0, 1].

    The second best of two choices scores 0.5. Trap: a model that always answers yes scores
    the share of vulnerable items, so a benchmark of vulnerable rows alone says nothing.
    """
    for is_such, agreement in _KINDS:
        if is_such(reference):
            return agreement(answer, reference)
    msg = f"{reference!r} is no label"
    raise ValueError(msg)


def is_label(reference: str) -> bool:
    """Tell whether a reference is a label."""
    return any(is_such(reference) for is_such, _ in _KINDS)


def verdict(answer: str) -> str | None:
    """Return ``yes`` or ``no``, whichever an answer says of the code, None where it does not."""
    for pattern in _VERDICTS:
        if found := pattern.search(answer):
            said = next(word for word in found.groups() if word is not None).lower()
            return "yes" if said in _YES else "no"
    return None


def _says(answer: str, reference: str) -> float:
    return float(verdict(answer) == reference.strip().lower())


def _names(answer: str, reference: str) -> float:
    """Compare the first weakness that an answer names; naming many is no knowledge."""
    said, wanted = _WEAKNESS.search(answer), _WEAKNESS.search(reference)
    return float(said is not None and wanted is not None and said[1] == wanted[1])


def _chooses(answer: str, reference: str) -> float:
    best, *others = reference.strip().upper().split("|")
    for pattern in _CHOICES:
        if found := pattern.search(answer):
            return 1.0 if found[1] == best else _SECOND_BEST * (found[1] in others)
    return 0.0


_KINDS: tuple[tuple[Callable[[str], object], Callable[[str, str], float]], ...] = (
    (re.compile(r"\s*(yes|no)\s*", re.IGNORECASE).fullmatch, _says),
    (re.compile(r"\s*CWE-\d+\s*", re.IGNORECASE).fullmatch, _names),
    (re.compile(r"\s*[A-Z](\|[A-Z])*\s*").fullmatch, _chooses),
)
