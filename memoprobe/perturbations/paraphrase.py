"""Reword prose: candidates of a source, gated so that nothing the task says gets lost."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from memoprobe.languages import words
from memoprobe.perturbations.distances import Measure, by_words
from memoprobe.perturbations.levels import Levels, check, distance, edit_share, steps, variants
from memoprobe.perturbations.protected import facts, loss, task_identifiers
from memoprobe.perturbations.rewording import reword
from memoprobe.perturbations.strength import matched
from memoprobe.records import Sample


class Rejected(NamedTuple):
    """Stand for a candidate that its source turned down itself."""

    reason: str


Source = Callable[[str, frozenset[str], random.Random], Iterable[str | Rejected]]
"""Give candidate rewordings of a text, in any order, that keep the given identifiers."""


class Way(NamedTuple):
    """Say how a paraphrase is filed, and by which distance its levels rise."""

    name: str
    measure: Measure = by_words
    edit_shares: tuple[float, ...] = ()  # aim of each level above 0; empty: by intensity


DRAWS = 5


def lexical(
    sample: Sample,
    levels: int,
    rng: random.Random,
    *,
    intensity: str = "share",
    edit_shares: tuple[float, ...] = (),
) -> Levels:
    """Return the sample's prose reworded by the embedded rules, each level extending the last.

    Level k applies about k / ``levels`` of the edits that the text has room for (``share``),
    or k of them (``count``), or as many as come closest to the edit share that it aims at.

    Raises:
        ConfigError: The text is code.
    """
    way = Way("lexical", edit_shares=edit_shares)
    return paraphrase(sample, levels, rng, reword, way, intensity)


def paraphrase(
    sample: Sample,
    levels: int,
    rng: random.Random,
    source: Source,
    way: Way,
    intensity: str = "share",
) -> Levels:
    """Return the candidates of a source that pass the gates, by rising distance (METHOD 2.4).

    A source is drawn from again, up to DRAWS times in all, while it gives fewer candidates
    than levels; the draw with the most is used whole, so that nested candidates stay nested.

    Raises:
        ConfigError: The text is code, or the source lacks what it needs.
    """
    check(sample, way.name, "prose", intensity)
    rejected: Counter[str] = Counter()
    best: list[str] = []
    for _ in range(DRAWS):
        passed = _passed(sample, source, rng, rejected)
        best = max(best, passed, key=len)
        if len(best) >= levels:
            break
    far = sorted(
        zip(way.measure(sample.text, best), best, strict=True),
        key=lambda each: (each[0], distance(sample.text, each[1])),
    )
    chosen = [
        far[count - 1]
        for count in _counts(sample, [text for _, text in far], levels, way, intensity)
    ]
    altered = variants(sample, way.name, [(text, {}) for _, text in chosen])
    measured = [0.0, *(measure for measure, _ in chosen)]
    return Levels(
        [replace(each, distance=far) for each, far in zip(altered, measured, strict=True)],
        dict(sorted(rejected.items())),
    )


def _counts(
    sample: Sample, texts: Sequence[str], levels: int, way: Way, intensity: str
) -> list[int]:
    """Return which of the texts, by rising distance, each level above 0 is: the n-th."""
    aims = way.edit_shares[:levels]
    if not aims:
        return steps(len(texts), levels, intensity)
    return matched(aims, len(texts), lambda n: edit_share(sample, texts[n - 1]))


def said(text: str) -> tuple[str, ...]:
    """Return what makes two texts the same to a reader: no case, layout or punctuation."""
    return tuple(word for word in words(text.casefold()) if word not in _PUNCTUATION)


_PUNCTUATION = frozenset(".,;:!?\"'`()-\u2019\u201c\u201d")


def _passed(
    sample: Sample, source: Source, rng: random.Random, rejected: Counter[str]
) -> list[str]:
    """Return the distinct candidates of one draw that lost nothing; count the others."""
    identifiers = task_identifiers(sample)
    known = facts(sample.text, identifiers)
    passed = {said(sample.text): sample.text}
    for candidate in source(sample.text, identifiers, rng):
        if isinstance(candidate, Rejected):
            reason: str | None = candidate.reason
        else:
            same = said(candidate) in passed
            reason = "equal" if same else loss(sample.text, known, candidate)
        if reason:
            rejected[reason] += 1
        elif isinstance(candidate, str):
            passed[said(candidate)] = candidate
    return list(passed.values())[1:]
