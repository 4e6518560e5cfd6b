"""Turn the scores of an item into its curve and its sensitivities (METHOD 1 and 3).

A sensitivity is positive where performance falls as the perturbation grows, by every
definition: ``slope`` too is a fall, per unit of edit share. ``recall``, ``exact`` and
``recall_last`` are no falls; they say how much of the reference is there.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memoprobe.records import Curve, Sensitivity
from memoprobe.stats.correction import benjamini_hochberg
from memoprobe.stats.resample import TOLERANCE, mean_largest_steps, permute, shuffles, upper_p

MIN_LEVELS = 2
"""Fewest levels above 0 that an item needs (K_i in METHOD 1)."""

AGAINST_CONTROLS = ("calibrated", "recall")
"""The definitions that get a ``control_p``: the fall and the recall of METHOD 3."""

_DECIMALS = 12  # equal falls must tie in rank tests, whatever the rounding of their sums


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Hold the scored answers of one sample in one cell: model, benchmark, perturbation, metric."""

    model: str
    benchmark: str
    sample_id: str
    perturbation: str
    metric: str
    control: bool
    has_reference: bool  # False where answers are scored against each other
    edit_shares: Mapping[int, float]  # each level there is -> realised edit share, in [0, 1]
    values: Mapping[int, Sequence[tuple[int, float]]]  # level -> (repeat, performance) per answer


class Measured(NamedTuple):
    """Hold the sensitivities of a cell, and how many items had too few levels for one."""

    sensitivities: list[Sensitivity]
    excluded: int


class _Answers(NamedTuple):
    """Hold an item's answers level by level, in an order that no storage can change."""

    item: Item
    levels: list[int]
    scored: list[list[tuple[int, float]]]  # per level, sorted (repeat, performance)
    means: list[float]  # per level
    repeats: list[list[float]]  # per repeat with level 0 and another, mean per level it has
    edit_shares: list[float]  # per level


class _Draw(NamedTuple):
    seed: int
    permutations: int


def max_drop(performance: Sequence[float]) -> float:
    """Return the largest fall between neighbouring levels (Eq. 3, Algorithm 1): ``paper``.

    The fall is signed, so a curve that only rises gives a negative number. Eq. 3
    is written on distances, where the same fall has the opposite sign.

    Args:
        performance: Mean performance per level, shape (n_levels + 1,), index 0
            being the unperturbed sample; each value in [0, 1].

    Returns:
        max over k of ``performance[k] - performance[k + 1]``, in [-1, 1].

    Raises:
        ValueError: Fewer than two levels leave no fall to measure.
    """
    _check(performance)
    return max(here - following for here, following in pairwise(performance))


def max_jump(performance: Sequence[float]) -> float:
    """Return the largest absolute change between neighbouring levels, in [0, 1]: ``artifact``.

    It is what the study's published code computes in place of Algorithm 1's signed fall.

    Raises:
        ValueError: Fewer than two levels.
    """
    _check(performance)
    return max(abs(here - following) for here, following in pairwise(performance))


def area(performance: Sequence[float]) -> float:
    """Return the area under the falloff curve (METHOD 1), in [-1, 1]: ``calibrated``.

    It is ``performance[0]`` minus the mean over all further levels.

    Raises:
        ValueError: Fewer than two levels.
    """
    _check(performance)
    return performance[0] - fmean(performance[1:])


def total_drop(performance: Sequence[float]) -> float:
    """Return the fall from the unperturbed sample to the last level (METHOD 1), in [-1, 1].

    Raises:
        ValueError: Fewer than two levels.
    """
    _check(performance)
    return performance[0] - performance[-1]


def slope(performance: Sequence[float], edit_shares: Sequence[float]) -> float:
    """Return the fall in performance per unit of edit share, by least squares (METHOD 1).

    It is the regression coefficient with its sign turned, so that a fall is positive
    as in every other definition. Its range is unbounded.

    Args:
        performance: Mean performance per level, shape (n_levels + 1,).
        edit_shares: Realised edit share per level, the same shape.

    Raises:
        ValueError: Fewer than two levels, shapes that differ, or edit shares all equal.
    """
    _check(performance)
    if len(performance) != len(edit_shares):
        msg = f"{len(performance)} levels have {len(edit_shares)} edit shares"
        raise ValueError(msg)
    return sum(w * m for w, m in zip(_slope_weights(edit_shares), performance, strict=True))


def _check(performance: Sequence[float]) -> None:
    if len(performance) < 2:
        msg = f"need at least 2 levels, got {len(performance)}"
        raise ValueError(msg)


def _slope_weights(edit_shares: Sequence[float]) -> list[float]:
    """Return the weights of the level means in the slope; they sum to 0."""
    centre = fmean(edit_shares)
    spread = sum((share - centre) ** 2 for share in edit_shares)
    if spread < TOLERANCE**2:
        msg = f"edit shares that are all equal have no slope: {list(edit_shares)}"
        raise ValueError(msg)
    return [(centre - share) / spread for share in edit_shares]


def curve(item: Item) -> Curve:
    """Return the mean performance over all answers of each level that has any (m_k)."""
    answers = _answers(item)
    return Curve(
        model=item.model,
        benchmark=item.benchmark,
        sample_id=item.sample_id,
        perturbation=item.perturbation,
        metric=item.metric,
        means=dict(zip(answers.levels, answers.means, strict=True)),
    )


def measure(items: Sequence[Item], *, seed: int, permutations: int = 1000) -> Measured:
    """Return the sensitivities of the items of one cell, by every definition of METHOD 1.

    ``paper`` and ``artifact`` are taken per repeat and averaged, a repeat using the levels
    it has, level 0 among them; the others pool all answers. Values are rounded to 12
    decimals. A definition is left out where it means nothing: ``recall``, ``exact`` and
    ``recall_last`` without a reference, ``total_drop`` and ``recall_last`` where the item's
    last level has no answers, ``slope`` where all levels have one edit share.

    ``noise_floor`` is the mean over all orders of whole levels. ``answer_noise_p`` permutes
    single answers over levels and repeats, one-sided; it depends on the item and the seed
    alone, so other items of the cell change no one's. ``control_p`` is None: the controls
    may lie in other cells, see ``against_controls``.

    Raises:
        ValueError: The items are of more than one cell.
    """
    if len({(i.model, i.benchmark, i.perturbation, i.metric) for i in items}) > 1:
        msg = "measure takes the items of one model, benchmark, perturbation and metric"
        raise ValueError(msg)
    kept = [answers for answers in map(_answers, items) if _is_measurable(answers)]
    values = [_values(answers) for answers in kept]
    rows: list[Sensitivity] = []
    for answers, value, floor in zip(kept, values, _noise_floors(kept), strict=True):
        noise_p = _answer_noise_p(answers, value, _Draw(seed, permutations))
        rows += _records(answers, value, floor, noise_p)
    return Measured(rows, len(items) - len(kept))


def against_controls(
    rows: Iterable[Sensitivity], controls: Collection[tuple[str, str]]
) -> list[Sensitivity]:
    """Return ``rows`` with their ``control_p``: the rank among the controls (METHOD 3).

    The controls of one benchmark serve the items of every other, so a benchmark of nothing
    but controls does too. A control is ranked among the others; its p is None where there is
    no (other) control. ``control_q`` is an item's p after Benjamini and Hochberg's correction
    over the items of its cell.

    Args:
        rows: All of one model, task, perturbation and metric, of any number of benchmarks.
        controls: Benchmark and sample id of each control.
    """
    ranked = list(rows)
    for definition in AGAINST_CONTROLS:
        places = [k for k, row in enumerate(ranked) if row.definition == definition]
        own = [k for k in places if (ranked[k].benchmark, ranked[k].sample_id) in controls]
        index = {k: place for place, k in enumerate(own)}
        values = np.array([ranked[k].value for k in own])
        for k in places:
            others = np.delete(values, index[k]) if k in index else values
            if len(others):
                ranked[k] = replace(ranked[k], control_p=upper_p(ranked[k].value, others))
    cells: dict[tuple[str, str], list[int]] = defaultdict(list)
    for k, row in enumerate(ranked):
        if row.control_p is not None and (row.benchmark, row.sample_id) not in controls:
            cells[row.benchmark, row.definition].append(k)
    for own in cells.values():
        adjusted = benjamini_hochberg([ranked[k].control_p or 0.0 for k in own])
        for k, q in zip(own, adjusted, strict=True):
            ranked[k] = replace(ranked[k], control_q=q)
    return ranked


def _records(
    answers: _Answers,
    values: Mapping[str, float],
    floor: Mapping[str, float],
    noise_p: Mapping[str, float],
) -> Iterator[Sensitivity]:
    item = answers.item
    for definition, value in values.items():
        known = floor.get(definition)
        yield Sensitivity(
            model=item.model,
            benchmark=item.benchmark,
            sample_id=item.sample_id,
            perturbation=item.perturbation,
            metric=item.metric,
            definition=definition,
            value=value,
            n_levels=len(answers.levels) - 1,
            noise_floor=known,
            excess=None if known is None else _rounded(value - known),
            answer_noise_p=noise_p.get(definition),
            control_p=None,
        )


def _answers(item: Item) -> _Answers:
    levels = sorted(level for level, answers in item.values.items() if answers)
    scored = [sorted(item.values[level]) for level in levels]
    repeats: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for level, answers in zip(levels, scored, strict=True):
        for repeat, performance in answers:
            repeats[repeat][level].append(performance)
    return _Answers(
        item=item,
        levels=levels,
        scored=scored,
        means=[fmean([performance for _, performance in answers]) for answers in scored],
        repeats=[
            [fmean(answers) for answers in by_level.values()]
            for _, by_level in sorted(repeats.items())
            if 0 in by_level and len(by_level) > 1
        ],
        edit_shares=[item.edit_shares[level] for level in levels],
    )


def _is_measurable(answers: _Answers) -> bool:
    return len(answers.levels) > MIN_LEVELS and answers.levels[0] == 0


def _has_slope(answers: _Answers) -> bool:
    return max(answers.edit_shares) - min(answers.edit_shares) > TOLERANCE


def _has_last(answers: _Answers) -> bool:
    """Tell whether the item's last level, K_i, has answers."""
    return answers.levels[-1] == max(answers.item.edit_shares)


def _rounded(value: float) -> float:
    return round(value, _DECIMALS) + 0.0  # turns -0.0 into 0.0


def _values(answers: _Answers) -> dict[str, float]:
    means = answers.means
    values = {"calibrated": area(means)}
    if _has_last(answers):
        values["total_drop"] = total_drop(means)
    if answers.repeats:
        values["paper"] = fmean([max_drop(repeat) for repeat in answers.repeats])
        values["artifact"] = fmean([max_jump(repeat) for repeat in answers.repeats])
    if _has_slope(answers):
        values["slope"] = slope(means, answers.edit_shares)
    if answers.item.has_reference:
        originals = answers.scored[0]
        values["recall"] = means[0]
        values["exact"] = fmean([performance >= 1 - TOLERANCE for _, performance in originals])
        if _has_last(answers):
            values["recall_last"] = means[-1]
    return {definition: _rounded(value) for definition, value in sorted(values.items())}


def _noise_floors(cell: Sequence[_Answers]) -> list[dict[str, float]]:
    """Return each item's mean over all orders of whole levels, by definition.

    A definition per repeat is a mean over repeats, and an order of whole levels orders each
    repeat's own levels evenly; so the floor is the mean of the repeats' floors. Linear
    definitions have weights that sum to 0 over the levels, hence a floor of 0.
    """
    by_length: dict[int, list[tuple[int, list[float]]]] = defaultdict(list)
    for index, answers in enumerate(cell):
        for repeat in answers.repeats:
            by_length[len(repeat)].append((index, repeat))
    largest: list[list[tuple[float, float]]] = [[] for _ in cell]
    for curves in by_length.values():
        steps = mean_largest_steps(np.array([repeat for _, repeat in curves]))
        for (index, _), fall, change in zip(curves, *steps, strict=True):
            largest[index].append((float(fall), float(change)))
    floors: list[dict[str, float]] = []
    for means in largest:
        floor = {"calibrated": 0.0, "total_drop": 0.0, "slope": 0.0}
        if means:
            floor["paper"] = _rounded(fmean([fall for fall, _ in means]))
            floor["artifact"] = _rounded(fmean([change for _, change in means]))
        floors.append(floor)
    return floors


def _answer_noise_p(
    answers: _Answers, values: Mapping[str, float], draw: _Draw
) -> dict[str, float]:
    """Return by definition the p-value of METHOD 3's permutation of single answers."""
    performance = np.array([value for level in answers.scored for _, value in level])
    repeats = tuple(tuple(repeat for repeat, _ in level) for level in answers.scored)
    item = answers.item
    # One table of shuffles serves all items. An item's own shuffle goes before it, so that
    # items err independently and drawing costs next to nothing.
    names = (item.model, item.benchmark, item.sample_id, item.perturbation, item.metric)
    _generator(draw.seed, *names).shuffle(performance)
    means, falls = permute(performance, repeats, _table(draw, len(performance)))
    null = {"calibrated": means[0] - means[1:].mean(axis=0), "total_drop": means[0] - means[-1]}
    if falls:
        null["paper"] = np.mean([steps.max(axis=0) for steps in falls], axis=0)
        null["artifact"] = np.mean([np.abs(steps).max(axis=0) for steps in falls], axis=0)
    if _has_slope(answers):
        null["slope"] = np.array(_slope_weights(answers.edit_shares)) @ means
    return {
        definition: upper_p(values[definition], drawn)
        for definition, drawn in null.items()
        if definition in values
    }


@lru_cache(maxsize=16)
def _table(draw: _Draw, n_answers: int) -> NDArray[np.intp]:
    return shuffles(n_answers, draw.permutations, _generator(draw.seed, str(n_answers)))


def _generator(seed: int, *names: str) -> np.random.Generator:
    # Hashed, so that an item's draws depend on nothing but its own name and the seed.
    digest = hashlib.sha256(json.dumps([seed, *names]).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))
