"""Hold the values that are compared, and one test of them."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from memoprobe.records import Comparison
from memoprobe.stats import cluster
from memoprobe.stats.interval import Difference, Interval
from memoprobe.stats.paired import Tested

STUDY_DEFINITIONS = ("artifact", "calibrated", "ma", "paper", "recall", "total_drop")
"""The definitions whose groups are compared with one another."""


class Point(NamedTuple):
    """Hold one sample's value, and what it is matched by."""

    sample_id: str
    value: float
    cluster: str | None = None  # samples of one project or repository are not independent
    length: int = 0  # of the sample's text, characters
    edit_share: float = 0.0  # of its last level, in [0, 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Hold the values of one model on one benchmark by one definition."""

    model: str
    benchmark: str
    task: str
    perturbation: str
    pool: str  # groups of one pool may be compared with each other
    metric: str
    definition: str
    items: Sequence[Point]  # the samples that are no controls
    controls: Sequence[Point]
    n_references: int = 1  # the nearest of them counted; only controls with as many compare
    floor: float | None = None  # performance against another item's reference
    version_of: tuple[str, int] | None = None  # model family, and the place in it

    @property
    def values(self) -> list[float]:
        """Return the values of the items."""
        return [point.value for point in self.items]


class Place(NamedTuple):
    """Say what a test is of."""

    question: str
    test: str
    subject: str
    context: str


class Sizes(NamedTuple):
    """Count the values on both sides of a test."""

    subject: int
    rest: int


def values(points: Sequence[Point]) -> list[float]:
    """Return the values of points."""
    return [point.value for point in points]


def clustered(points: Sequence[Point]) -> cluster.Group:
    """Return points as a group in clusters; a sample without one is a cluster of its own."""
    own = [
        ("cluster", p.cluster) if p.cluster is not None else ("sample", p.sample_id) for p in points
    ]
    return cluster.Group(values(points), own)


def generator(*names: str) -> np.random.Generator:
    """Return a generator for one test; other tests and their order change nothing."""
    digest = hashlib.sha256(json.dumps(names).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))


def row(group: Group, place: Place, sizes: Sizes, tested: Tested, note: str = "") -> Comparison:
    """Return one test as a row; it is corrected with its family later."""
    return Comparison(
        question=place.question,
        test=place.test,
        subject=place.subject,
        context=place.context,
        perturbation=group.perturbation,
        pool=group.pool,
        metric=group.metric,
        definition=group.definition,
        n_subject=sizes.subject,
        n_rest=sizes.rest,
        statistic=tested.statistic,
        p_value=tested.p_value,
        p_adjusted=None,
        p_holm=None,
        p_bh=None,
        effect=tested.effect.estimate,
        effect_low=tested.effect.low,
        effect_high=tested.effect.high,
        note=note,
    )


def tested(difference: Difference) -> Tested:
    """Return a contrast of means as a test whose effect is the contrast."""
    effect = Interval(difference.estimate, difference.low, difference.high)
    return Tested(difference.statistic, difference.p_value, effect)
