"""Make independent minimal rewordings: they show how much luck lies in a prompt's wording.

A level here is not stronger than the one before: each is one small edit of the original.
"""

import random
import re
from collections import Counter
from collections.abc import Iterator

from memoprobe.languages import tokens
from memoprobe.perturbations.levels import (
    Levels,
    check_intensity,
    distance,
    edit_share,
    variants,
)
from memoprobe.perturbations.protected import (
    facts,
    loss,
    protected,
    sentences,
    task_identifiers,
    touches,
)
from memoprobe.records import Sample
from memoprobe.scoping.scopes import SCOPING

_FUNCTION_WORDS = (
    (r"that(?= (?:are|is|has|have|contains?|takes|returns)\b)", "which"),
    (r"which(?= (?:are|is|has|have|contains?|takes|returns)\b)", "that"),
    (r"in order to\b", "to"),
    (r"for each(?! other\b)", "for every"),
    (r"all the\b", "all"),
    (r"cannot\b", "can not"),
    (r"such as\b", "like"),
    (r"whether or not\b", "whether"),
)
_COMMENTS = {"python": ("#", "# ---", "# ...", "# code", "# part")}
_OPERATOR = r"(?<=[\w)\]]) (?:[-+*/%<>]|[=!<>]=|=) (?=[\w(\[])"

Edit = tuple[int, int, str]


def placebo(sample: Sample, levels: int, rng: random.Random, *, intensity: str = "share") -> Levels:
    """Return the sample with one minimal edit of its layout or function words a level.

    The meaning is kept by construction, and checked: code has the same syntax tree, prose
    has lost nothing. Levels are ordered by distance, then by edit share; ``intensity``
    changes nothing, for every level has one edit.
    """
    check_intensity(intensity)
    rejected: Counter[str] = Counter()
    said = facts(sample.text, task_identifiers(sample))
    texts: dict[str, None] = {}
    for start, end, new in _drawn(sample, rng):
        if len(texts) == levels:
            break
        text = sample.text[:start] + new + sample.text[end:]
        if sample.input_kind == "code":
            reason = None if _same_program(sample, text) else "changed"
        else:
            reason = loss(sample.text, said, text)
        reason = "equal" if text in texts or text == sample.text else reason
        if reason:
            rejected[reason] += 1
        else:
            texts[text] = None
    ordered = sorted(
        texts, key=lambda text: (distance(sample.text, text), edit_share(sample, text))
    )
    altered = variants(sample, "placebo", [(text, {}) for text in ordered])
    return Levels(altered, dict(sorted(rejected.items())))


def _drawn(sample: Sample, rng: random.Random) -> Iterator[Edit]:
    """Yield edits in random order, taking turns between the kinds of edit."""
    kinds = list(_code_edits(sample) if sample.input_kind == "code" else _prose_edits(sample))
    for kind in kinds:
        rng.shuffle(kind)
    rng.shuffle(kinds)
    while any(kinds):
        for kind in kinds:
            if kind:
                yield kind.pop()


def _prose_edits(sample: Sample) -> Iterator[list[Edit]]:
    """Yield the edits of each kind: line breaks, spaces, full stops, function words."""
    text = sample.text
    fixed = protected(text, task_identifiers(sample))
    spans = [(start, end) for start, end, _ in sentences(text)]
    gaps = [
        (start + match.start(), start + match.end())
        for start, end in spans
        for match in re.finditer(r"(?<=\w,)\s+|(?<=\w)\s+(?=\w)", text[start:end])
    ]
    gaps = [gap for gap in gaps if not touches(fixed, *gap)]
    yield [(*gap, "\n" + _indent(text, gap[0])) for gap in gaps if text[slice(*gap)] == " "]
    yield [(*gap, " ") for gap in gaps if "\n" in text[slice(*gap)]]
    yield [(*gap, "  ") for gap in gaps if text[slice(*gap)] == " "]
    stops = [end for _, end in spans if not touches(fixed, end - 1, end)]
    yield [(end - 1, end, "") for end in stops if text[end - 1] == "."]
    yield [(end, end, ".") for end in stops[-1:] if text[end - 1].isalpha()]
    yield [
        (start + match.start(), start + match.end(), new)
        for start, end in spans
        for old, new in _FUNCTION_WORDS
        for match in re.finditer(rf"\b{old}", text[start:end])
        if not touches(fixed, start + match.start(), start + match.end())
    ]


def _indent(text: str, position: int) -> str:
    """Return the white space at the start of the line, or of the next where it is the first."""
    before = text.rfind("\n", 0, position)
    line = text[before + 1 :] if before >= 0 else text[text.find("\n", position) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))] if "\n" in text else ""


def _code_edits(sample: Sample) -> Iterator[list[Edit]]:
    """Yield the edits of each kind: blank lines, comments, spaces at commas and operators."""
    text = sample.text
    starts = [match.start() for match in re.finditer(r"^(?=[ \t]*\S)", text, re.MULTILINE)]
    yield [(start, start, "\n") for start in [*starts, len(text)]]
    yield [
        (start, start, _indent(text, start) + comment + "\n")
        for start in starts
        for comment in _COMMENTS.get(sample.language, ())
    ]
    yield [(*match.span(), ",") for match in re.finditer(r", (?=\S)", text)]
    yield [(*match.span(), ", ") for match in re.finditer(r",(?=[^\s)\]}])", text)]
    yield [(*match.span(), match[0].strip()) for match in re.finditer(_OPERATOR, text)]


def _same_program(sample: Sample, text: str) -> bool:
    """Tell whether an altered text has the tokens and, if any, the tree of the original."""
    if tokens(text, sample.language) != tokens(sample.text, sample.language):
        return False
    scoping = SCOPING.get(sample.language)
    return (
        scoping is None
        or not scoping.agrees(sample.text, sample.text, {})
        or scoping.agrees(sample.text, text, {})
    )
