"""Measure a text against level 0 and lay the texts of a sample out as levels."""

import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple, Protocol

from rapidfuzz.distance import Levenshtein

from memoprobe.errors import ConfigError
from memoprobe.languages import tokens, words
from memoprobe.records import InputKind, Sample, Variant

INTENSITIES = ("share", "count")


class Levels(NamedTuple):
    """Hold the variants of one sample, level 0 first, and why candidates were turned down."""

    variants: list[Variant]
    rejected: dict[str, int]  # reason -> number of candidates


class Perturbation(Protocol):
    """Give a sample at up to ``levels`` strengths, the weakest first."""

    def __call__(
        self, sample: Sample, levels: int, rng: random.Random, *, intensity: str = "share"
    ) -> Levels:
        """Return level 0 and K_i <= ``levels`` distinct variants."""


def check(sample: Sample, perturbation: str, kind: InputKind, intensity: str) -> None:
    """Raise ConfigError where the sample is of another kind or the intensity unknown."""
    if sample.input_kind != kind:
        msg = (
            f"perturbation {perturbation} alters {kind}, but the text of {sample.benchmark} "
            f"sample {sample.sample_id} is {sample.input_kind}"
        )
        raise ConfigError(msg)
    check_intensity(intensity)


def check_intensity(intensity: str) -> None:
    """Raise ConfigError where the intensity is not one of INTENSITIES."""
    if intensity not in INTENSITIES:
        msg = f"unknown intensity {intensity!r}: choose one of {', '.join(INTENSITIES)}"
        raise ConfigError(msg)


def steps(n_edits: int, levels: int, intensity: str) -> list[int]:
    """Return how many of ``n_edits`` edits each level above 0 applies (METHOD 2.3).

    The counts rise; there are fewer than ``levels`` of them where the edits run out.
    ``share`` spreads all edits over the levels, ``count`` applies k of them at level k.
    """
    counts: list[int] = []
    for level in range(1, levels + 1):
        wanted = level if intensity == "count" else round(level / levels * n_edits)
        last = counts[-1] if counts else 0
        if last == n_edits:
            break
        counts.append(min(max(wanted, last + 1), n_edits))
    return counts


def distance(text: str, other: str) -> float:
    """Return the cosine distance of two texts' word unigram and bigram counts, in [0, 1]."""
    here, there = _terms(text), _terms(other)
    if here == there:
        return 0.0
    shared = sum(count * there[term] for term, count in here.items())
    norms = sum(n * n for n in here.values()) * sum(n * n for n in there.values())
    return max(0.0, 1 - shared / math.sqrt(norms)) if norms else 1.0


def _terms(text: str) -> Counter[tuple[str, ...]]:
    unigrams = words(text.casefold())
    return Counter([*((word,) for word in unigrams), *pairwise(unigrams)])


def edit_share(sample: Sample, text: str) -> float:
    """Return the token Levenshtein of ``text`` to level 0 over the longer of the two, in [0, 1]."""
    here, there = (
        words(item) if sample.input_kind == "prose" else tokens(item, sample.language)
        for item in (sample.text, text)
    )
    return Levenshtein.normalized_distance(here, there)


def variants(
    sample: Sample, perturbation: str, altered: Iterable[tuple[str, Mapping[str, str]]]
) -> list[Variant]:
    """Return level 0 and the altered texts, each with its rename map, numbered from 1."""
    texts = [(sample.text, {}), *altered]
    return [
        Variant(
            benchmark=sample.benchmark,
            sample_id=sample.sample_id,
            perturbation=perturbation,
            level=level,
            text=text,
            distance=distance(sample.text, text),
            edit_share=edit_share(sample, text),
            rename_map=rename_map,
        )
        for level, (text, rename_map) in enumerate(texts)
    ]
