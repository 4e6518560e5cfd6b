"""Estimate a group's mean with an interval that knows which samples belong together."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from memoprobe.records import Sensitivity
from memoprobe.report.data import PRIMARY_DEFINITION, GroupKey, ReportData
from memoprobe.stats.cluster import Group, clustered_contrast
from memoprobe.stats.interval import Difference

OwnFall = tuple[str, str, str, str]
"""Model, benchmark, perturbation and metric of the items whose fall was tested already."""


def own_falls(data: ReportData) -> dict[OwnFall, Difference]:
    """Return the falls of items that the comparisons hold.

    The page takes them from there, so that no number of it has two intervals: those of
    clusters are drawn by chance.
    """
    return {
        (row.subject, row.context, row.perturbation, row.metric): Difference(
            row.effect, row.effect_low, row.effect_high, row.statistic, row.p_value, None
        )
        for row in data.comparisons
        if row.question == "memorization" and row.definition == "own_fall" and row.test == "mean"
        if row.effect is not None
    }


def fall(
    data: ReportData,
    key: GroupKey,
    members: Sequence[Sensitivity],
    known: Mapping[OwnFall, Difference],
) -> Difference | None:
    """Return the mean of a group's values with its 95 % interval, None without values."""
    if key.group == "items" and (found := known.get((*key.cell, key.metric))) is not None:
        return found
    return mean(data, members, (*key.cell, key.metric, key.group))


def mean(
    data: ReportData, members: Iterable[Sensitivity], names: Iterable[str]
) -> Difference | None:
    """Return the mean of some values with its interval and the test that it is 0.

    Samples without a cluster are clusters of their own; then it is the t interval.

    Args:
        data: Knows the samples' clusters.
        members: Of one cell, metric and definition.
        names: Seed the resampling of clusters.
    """
    there = [each for each in members if np.isfinite(each.value)]
    if not there:
        return None
    clusters = [
        data.clusters.get(place, place)
        for place in ((each.benchmark, each.sample_id) for each in there)
    ]
    # Hashed, so that an interval depends on nothing but its own values and names.
    digest = hashlib.sha256(json.dumps(list(names)).encode()).digest()
    rng = np.random.default_rng(int.from_bytes(digest[:16], "big"))
    group = Group([each.value for each in there], clusters)
    return clustered_contrast([group], [1.0], rng)


def calibrated(members: Iterable[Sensitivity]) -> list[Sensitivity]:
    """Return those of some sensitivities that are by the primary definition."""
    return [each for each in members if each.definition == PRIMARY_DEFINITION]
