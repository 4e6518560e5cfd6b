"""Set items against controls, models' falls against each other's, and versions in a row.

METHOD 4: "memorized" needs three things, each with an interval that excludes 0: the items fall,
they fall more than controls do, and they keep less of what they had above the floor.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from math import log, sqrt
from operator import attrgetter
from statistics import fmean, variance
from typing import NamedTuple

from memoprobe.comparison.groups import (
    Group,
    Place,
    Point,
    Sizes,
    clustered,
    generator,
    row,
    tested,
    values,
)
from memoprobe.records import Comparison
from memoprobe.stats.cluster import clustered_contrast, clustered_difference
from memoprobe.stats.paired import wilcoxon

COMPARABLE = 0.5
"""Largest standardized difference between items and controls in what they are matched by."""

_place = attrgetter("model", "task", "perturbation", "n_references")


def memorization(pool: Sequence[Group], recalls: Sequence[Group]) -> Iterator[Comparison]:
    """Contrast the items of each group with the controls of its model, task and perturbation.

    The controls may stand in other benchmarks, and have as many references. Rows by
    definition: ``own_fall`` (the mean fall of the items), ``calibrated`` (the difference in
    differences), ``retention`` (what the controls keep minus what the items keep, so that a
    positive one speaks for memory) and, of ``recalls``, ``recall``. Between two models of a
    benchmark, subject ``A - B``: the difference of their falls on the items minus that on the
    controls.

    Args:
        pool: The groups of ``calibrated`` of one pool and metric.
        recalls: Those of ``recall``.
    """
    known = {_cell(group): group for group in recalls}
    for group in pool:
        others = [other for other in pool if _place(other) == _place(group) and other.controls]
        if not group.items or not others:
            continue
        note = _balance(group, others, known)
        controls = [point for other in others for point in other.controls]
        yield from _against(group, controls, note)
        recall = known.get(_cell(group))
        if recall is not None and recall.items:
            rest = [p for other in others if (r := known.get(_cell(other))) for p in r.controls]
            if rest:
                yield _difference(recall, rest, note)
            yield from _retained(group, others, known, note)
    yield from _between_models(pool)


def version_difference(pool: Sequence[Group]) -> Iterator[Comparison]:
    """Compare every version of a family with the one before on each benchmark, paired by sample.

    ``wilcoxon`` of the samples' differences and their mean, later minus earlier.
    """
    families: dict[tuple[str, str], list[tuple[int, Group]]] = {}
    for group in pool:
        if group.version_of is not None and group.items:
            family, number = group.version_of
            families.setdefault((family, group.benchmark), []).append((number, group))
    for (family, benchmark), members in sorted(families.items()):
        ordered = [group for _, group in sorted(members, key=lambda pair: pair[0])]
        for earlier, later in pairwise(ordered):
            differences = _paired(later.items, earlier.items)
            if not differences:
                continue
            subject = f"{later.model} - {earlier.model}"
            sizes = Sizes(len(differences), len(differences))
            place = Place("version_difference", "wilcoxon", subject, f"{family}/{benchmark}")
            yield row(later, place, sizes, wilcoxon(values(differences)))
            rng = generator(*place, later.metric, later.definition, later.perturbation)
            mean = clustered_contrast([clustered(differences)], [1.0], rng)
            yield row(later, place._replace(test="paired_mean"), sizes, tested(mean))


def _cell(group: Group) -> tuple[str, str, str]:
    return group.model, group.benchmark, group.perturbation


def _subject(group: Group) -> Place:
    return Place("memorization", "mean", group.model, group.benchmark)


def _against(group: Group, controls: Sequence[Point], note: str) -> Iterator[Comparison]:
    place = _subject(group)
    rng = generator(*place, "own_fall", group.metric, group.perturbation)
    own = clustered_contrast([clustered(group.items)], [1.0], rng)
    named = replace(group, definition="own_fall")
    yield row(named, place, Sizes(len(group.items), 0), tested(own))
    yield _difference(group, controls, note)


def _difference(group: Group, controls: Sequence[Point], note: str) -> Comparison:
    place = _subject(group)
    rng = generator(*place, group.definition, group.metric, group.perturbation)
    found = clustered_difference(clustered(group.items), clustered(controls), rng)
    return row(group, place, Sizes(len(group.items), len(controls)), tested(found), note)


class _Kept(NamedTuple):
    """Hold one group's retention, linearized: its mean is the retention, its spread its error."""

    points: list[Point]


def _retained(
    group: Group, others: Sequence[Group], known: Mapping[tuple[str, str, str], Group], note: str
) -> Iterator[Comparison]:
    """Yield the difference of retention, controls minus items, where floors leave room."""
    own = _above_floor(group.items, group, known)
    rest = [pair for other in others for pair in _above_floor(other.controls, other, known)]
    kept = _linearized(own), _linearized(rest)
    if kept[0] is None or kept[1] is None:
        return
    place = _subject(group)
    rng = generator(*place, "retention", group.metric, group.perturbation)
    found = clustered_difference(clustered(kept[1].points), clustered(kept[0].points), rng)
    named = replace(group, definition="retention")
    yield row(named, place, Sizes(len(own), len(rest)), tested(found), note)


def _above_floor(
    points: Sequence[Point], group: Group, known: Mapping[tuple[str, str, str], Group]
) -> list[tuple[Point, float]]:
    """Return each sample with its level-0 performance above the floor, and its fall as value."""
    recall = known.get(_cell(group))
    if recall is None or group.floor is None:
        return []
    first = {p.sample_id: p.value for p in (*recall.items, *recall.controls)}
    return [(p, first[p.sample_id] - group.floor) for p in points if p.sample_id in first]


def _linearized(pairs: Sequence[tuple[Point, float]]) -> _Kept | None:
    """Return retention's linearization; None where the mean at level 0 is at the floor.

    Retention is a ratio of means, sum(m_0 - floor - fall) / sum(m_0 - floor); to first
    order a sample adds ((m_0 - floor - fall) - retention (m_0 - floor)) / mean(m_0 - floor).
    """
    if len(pairs) < 2:
        return None
    room = fmean(above for _, above in pairs)
    if room <= 2 * sqrt(variance(above for _, above in pairs) / len(pairs)):
        return None
    retention = 1 - fmean(point.value for point, _ in pairs) / room
    return _Kept(
        [
            p._replace(value=retention + ((above - p.value) - retention * above) / room)
            for p, above in pairs
        ]
    )


def _balance(
    group: Group, others: Sequence[Group], known: Mapping[tuple[str, str, str], Group]
) -> str:
    """Return why the controls are not comparable, nothing where they are.

    They are where level-0 performance, length and edit share differ by at most half a
    standard deviation.
    """
    controls = [point for other in others for point in other.controls]
    recall = known.get(_cell(group))
    pairs = {
        "length": [[log(1 + p.length) for p in side] for side in (group.items, controls)],
        "edit share": [[p.edit_share for p in side] for side in (group.items, controls)],
    }
    if recall is not None:
        rest = [p.value for o in others if (r := known.get(_cell(o))) for p in r.controls]
        pairs["recall"] = [recall.values, rest]
    unlike = [name for name, (a, b) in sorted(pairs.items()) if not _alike(a, b)]
    return f"controls not comparable: {', '.join(unlike)}" if unlike else ""


def _alike(a: Sequence[float], b: Sequence[float]) -> bool:
    if min(len(a), len(b)) < 2:
        return True  # nothing is known
    spread = sqrt((variance(a) + variance(b)) / 2)
    return abs(fmean(a) - fmean(b)) <= COMPARABLE * spread + 1e-9


def _between_models(pool: Sequence[Group]) -> Iterator[Comparison]:
    """Yield for two models of a benchmark how much more the one's items fall, above controls."""
    named: dict[tuple[str, ...], list[Point]] = defaultdict(list)
    for group in pool:
        named[_place(group)] += _named(group)
    for one, other in combinations(pool, 2):
        place = attrgetter("benchmark", "perturbation")
        if place(one) != place(other) or one.model == other.model:
            continue
        items = _paired(one.items, other.items)
        controls = _paired(named[_place(one)], named[_place(other)])
        if not items or not controls:
            continue
        where = Place("memorization", "paired", f"{one.model} - {other.model}", one.benchmark)
        rng = generator(*where, one.definition, one.metric, one.perturbation)
        found = clustered_difference(clustered(items), clustered(controls), rng)
        yield row(one, where, Sizes(len(items), len(controls)), tested(found))


def _named(group: Group) -> list[Point]:
    """Return a group's controls under ids that are unique across benchmarks."""
    return [p._replace(sample_id=f"{group.benchmark}/{p.sample_id}") for p in group.controls]


def _paired(these: Sequence[Point], those: Sequence[Point]) -> list[Point]:
    """Return the difference of each sample that both sides have."""
    there = {point.sample_id: point.value for point in those}
    return [
        point._replace(value=point.value - there[point.sample_id])
        for point in these
        if point.sample_id in there
    ]
